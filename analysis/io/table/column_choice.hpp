// Which columns of a table tell of the run: one for each meaning.
#ifndef ULP_IO_TABLE_COLUMN_CHOICE_HPP
#define ULP_IO_TABLE_COLUMN_CHOICE_HPP

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "run_table.hpp"

namespace ulp::io {

struct chosen_columns {
  std::map<column_meaning, std::uint32_t> by_meaning;
  // Losses that are added up to one that has no column; the first is by_meaning[loss].
  std::vector<std::uint32_t> parts_of_loss;
  std::string text;                 // "step from 'step', loss from 'train/loss'; not used: 'val/loss' (validation)"
  std::uint64_t of_other_runs = 0;  // rows with a metric of a run that is not read
  std::uint64_t of_no_scale = 0;    // numbers of a column that is a scale by its name only
  std::uint64_t of_no_count = 0;    // rows with a number that is one of skipped steps by its name only
  std::vector<std::string> lost;    // as source::lost_elsewhere: what columns hold that are not used
  std::vector<std::string> notes;   // why, where it is not plain

  [[nodiscard]] std::optional<std::uint32_t> of(column_meaning meaning) const;
  [[nodiscard]] bool uses(std::uint32_t column) const;
  [[nodiscard]] bool any_metric() const;  // besides step, epoch and learning rate
};

// Of several columns with one meaning the least column_reading counts, then the first. Those that `told` names count before, and the
// meanings it empties have none. Throws input_error where `told` names a column that is not there, or one has no numbers.
[[nodiscard]] chosen_columns choose_columns(const run_table& table, const told_columns& told);

// Whether names of columns are those of a run: a step or an epoch, and a metric.
[[nodiscard]] bool are_of_run(const std::vector<std::string>& names);

}  // namespace ulp::io

#endif
