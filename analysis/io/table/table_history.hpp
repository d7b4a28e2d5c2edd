// From the rows of a table to the steps of a run, as from the records of a log.
#ifndef ULP_IO_TABLE_TABLE_HISTORY_HPP
#define ULP_IO_TABLE_TABLE_HISTORY_HPP

#include <string>

#include "run_rows.hpp"
#include "training_log/history.hpp"

namespace ulp::io {

// `path` is for errors. is_of_trainer: a loss of 0 may stand for one that is not finite, as in the Hugging Face Trainer. Throws input_error where the rows cannot be of one run.
[[nodiscard]] scale_history history_of(const run_rows& table, const std::string& path, bool is_of_trainer);

}  // namespace ulp::io

#endif
