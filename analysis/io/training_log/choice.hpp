// Which of a log's records tell of the run: several ranks, scalers, progress bars and scripts may print the same.
#ifndef ULP_IO_TRAINING_LOG_CHOICE_HPP
#define ULP_IO_TRAINING_LOG_CHOICE_HPP

#include <cstdint>
#include <vector>

#include "dialects/record.hpp"

namespace ulp::io {

// Leaves records of one rank, one scaler and one way of counting steps, with scales that are numbers or not known; none is
// `fatal`, and `metrics` only where nothing tells their steps.
// Returns how many lines of other ranks or scalers were left out.
std::uint64_t choose_records(std::vector<scale_record>& records);

}  // namespace ulp::io

#endif
