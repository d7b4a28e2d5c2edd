// A CSV with rows of each step that say whether it overflowed, or how large its gradients were.
#ifndef ULP_IO_CSV_STEP_LOG_HPP
#define ULP_IO_CSV_STEP_LOG_HPP

#include <memory>

#include <ulp/io/source/source.hpp>

#include "csv.hpp"

namespace ulp::io {

// By its columns. `is_run`: they are also those of a table of a run, which tells more where `found_inf` is all that is of a step log.
[[nodiscard]] bool is_step_log(const csv_reader& rows, bool is_run = false);
// Whether steps go back, or the names of the columns, as where a run went on, or its last row is cut, or the scale falls in the rows that overflow, as
// one does that is logged once the scaler has changed it: no step log is so.
[[nodiscard]] bool has_other_rows(csv_reader rows);
[[nodiscard]] std::unique_ptr<source> open_step_log(csv_reader rows, const read_limits& limits = {});

}  // namespace ulp::io

#endif
