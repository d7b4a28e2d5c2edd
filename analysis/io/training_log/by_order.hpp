// Logs without step numbers: what their lines tell of is numbered in the order of the lines.
#ifndef ULP_IO_TRAINING_LOG_BY_ORDER_HPP
#define ULP_IO_TRAINING_LOG_BY_ORDER_HPP

#include <string>
#include <vector>

#include "history.hpp"

namespace ulp::io {

// Of chosen records (choice.hpp). The skipped steps where overflows are told, with those that a fall of the scale between two
// lines proves; else the logged ones. Adds what was assumed to the notes.
[[nodiscard]] std::vector<scale_run> runs_by_order(const std::vector<scale_record>& records,
                                                   std::vector<std::string>& notes);

}  // namespace ulp::io

#endif
