// The rows of a run's table, by step: what several of them say of one step is put together.
#ifndef ULP_IO_TABLE_RUN_ROWS_HPP
#define ULP_IO_TABLE_RUN_ROWS_HPP

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <ulp/model/cells/step.hpp>

#include "column_choice.hpp"
#include "run_table.hpp"

namespace ulp::io {

struct run_row {
  std::uint64_t line = 0;
  std::size_t index = 0;  // of the table
  std::int64_t step = 0;
  step_scalars logged{};                  // found_inf: also of a step that was skipped
  std::optional<std::int64_t> skipped{};  // steps, since the row before
  bool scale_is_rounded = false;          // as logarithms are
  bool scale_is_infinite = false;         // it grew without an end: logged.loss_scale is not known

  // What was logged says that gradients were not finite.
  [[nodiscard]] bool is_nonfinite() const noexcept;
};

enum class counted_by : std::uint8_t { step, epoch, order };

struct run_rows {
  std::vector<run_row> rows;  // in the order of the run; one that went on from an earlier step goes back
  counted_by numbers = counted_by::step;
  bool loss_is_running = false;     // a mean, perhaps of all rows so far
  std::uint64_t contradicted = 0;   // fields of which rows of one step have several values
  std::uint64_t not_used = 0;       // rows with a flag or a number of skipped steps that finite norms contradict
  std::uint64_t of_validation = 0;  // rows whose loss is one of validation, and not finite
  std::vector<std::string> notes;
};

// From the first row to the second, 1 where that is not known.
[[nodiscard]] std::int64_t distance_of_first(const std::vector<run_row>& rows) noexcept;
// How many steps there are up to the first row, if the run begins within that distance before it; else 0. They may count from 0.
[[nodiscard]] std::int64_t most_at_first(const std::vector<run_row>& rows) noexcept;

// Throws input_error where no row has a metric.
[[nodiscard]] run_rows rows_of(const run_table& table, const chosen_columns& chosen);

}  // namespace ulp::io

#endif
