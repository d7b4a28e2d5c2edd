// From the rows of a table to the steps of a run, as from the records of a log.
#ifndef ULP_IO_TABLE_TABLE_HISTORY_HPP
#define ULP_IO_TABLE_TABLE_HISTORY_HPP

#include <string>

#include "run_rows.hpp"
#include "training_log/history.hpp"

namespace ulp::io {

// `path` is for errors. Throws input_error where the rows cannot be of one run.
[[nodiscard]] scale_history history_of(const run_rows& table, const std::string& path);

}  // namespace ulp::io

#endif
