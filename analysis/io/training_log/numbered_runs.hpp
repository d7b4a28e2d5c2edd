// From intervals to runs: in which order steps were applied and skipped, as far as it is known.
#ifndef ULP_IO_TRAINING_LOG_NUMBERED_RUNS_HPP
#define ULP_IO_TRAINING_LOG_NUMBERED_RUNS_HPP

#include <string>
#include <vector>

#include "history.hpp"

namespace ulp::io {

// Of chosen records (choice.hpp) that have step numbers; what was assumed is added to the notes. Throws input_error where they
// cannot be of one run.
void add_numbered_runs(const std::vector<scale_record>& records, const std::string& path, scale_history& into);

}  // namespace ulp::io

#endif
