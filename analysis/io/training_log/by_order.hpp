// Logs without step numbers: what their lines tell of is numbered in the order of the lines.
#ifndef ULP_IO_TRAINING_LOG_BY_ORDER_HPP
#define ULP_IO_TRAINING_LOG_BY_ORDER_HPP

#include <vector>

#include "history.hpp"

namespace ulp::io {

// Of chosen records (choice.hpp). The skipped steps where overflows are told, with those that a fall of the scale between two
// lines proves; else the logged ones, where epochs that go back are those of a run that was started again. Adds what was assumed to
// the notes.
void add_runs_by_order(const std::vector<scale_record>& records, scale_history& to);

}  // namespace ulp::io

#endif
