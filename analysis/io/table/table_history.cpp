// A table as records of a log: each row is one of a step.
#include "table_history.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <span>
#include <utility>

#include "training_log/falls.hpp"

namespace ulp::io {
namespace {

// "table" makes them records of a framework; see the table source for what it is called.
constexpr log_dialect table_dialect{.name = "table", .scale_is_open = true};
constexpr log_dialect trainer_table_dialect{.name = "table", .replaces_loss = true, .scale_is_open = true};

// Of how many steps the first row tells: of one, unless it counts skipped ones.
std::int64_t steps_of_first(const std::vector<run_row>& rows) {
  const std::int64_t skipped = rows.front().skipped.value_or(0);
  if (skipped == 0) return 1;
  const std::int64_t usual = std::max<std::int64_t>(std::min(distance_of_first(rows), rows.front().step), 1);
  return std::max(usual, std::min(skipped, most_at_first(rows)));
}

std::vector<scale_record> records_of(const run_rows& table, const log_dialect& dialect) {
  const std::vector<run_row>& rows = table.rows;
  std::vector<scale_record> all;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const run_row& row = rows[i];
    scale_record r{.what = scale_record::kind::reached, .from = &dialect, .line = row.line, .step = row.step};
    r.after = row.scale_is_infinite ? std::numeric_limits<double>::infinity() : row.logged.loss_scale;
    r.scale_is_rounded = row.scale_is_rounded;
    r.loss = row.logged.loss;
    r.loss_is_nan = row.logged.loss_is_nan;
    r.mean_of = table.loss_is_running ? scale_record::since_the_start : 0;
    r.grad_norm = row.logged.grad_norm;
    r.grad_norm_is_nan = row.logged.grad_norm_is_nan;
    r.learning_rate = row.logged.learning_rate;
    const bool is_first = i == 0 || rows[i - 1].step >= row.step;
    const std::int64_t gap = i == 0 ? steps_of_first(rows) : is_first ? 1 : row.step - rows[i - 1].step;
    if (row.skipped) {
      r.skipped = std::min(*row.skipped, gap);
      r.steps = gap;
    } else if (row.logged.found_inf) {
      r.overflow = *row.logged.found_inf ? 1 : 0;
    }
    if (table.numbers == counted_by::order) r.steps = 1;
    all.push_back(r);
  }
  return all;
}

// Each row is an epoch: its loss is told, and nothing of its steps.
void add_epochs(std::span<const run_row> rows, scale_history& into) {
  std::vector<scale_run>& all = into.runs;
  for (const run_row& row : rows) {
    keep_replaced(into.replaced, all, row.step - 1);  // an epoch that was run again counts
    while (!all.empty() && all.back().step >= row.step) all.pop_back();
    all.push_back({.step = row.step,
                   .after_gap = true,
                   .decided = false,
                   .used = row.logged.loss_scale,
                   .loss = row.logged.loss,
                   .grad_norm = row.logged.grad_norm,
                   .learning_rate = row.logged.learning_rate,
                   .loss_is_nan = row.logged.loss_is_nan,
                   .grad_norm_is_nan = row.logged.grad_norm_is_nan});
  }
}

void note_epochs(std::span<const run_row> rows, scale_history& into) {
  std::int64_t halvings = 0;
  std::int64_t first = -1;
  for (std::size_t i = 1; i < rows.size(); ++i) {
    const std::int64_t fell = falls(rows[i - 1].logged.loss_scale, rows[i].logged.loss_scale);
    halvings += fell;
    if (fell > 0 && first < 0) first = rows[i].step;
  }
  if (halvings > 0)
    into.notes.push_back("the loss scale falls from epoch " + std::to_string(first) + " on: that proves " +
                         std::to_string(halvings) + (halvings == 1 ? " skipped step" : " skipped steps") +
                         " at least, in epochs that are not told apart");
}

std::string lost_validations_text(std::uint64_t rows) {
  return "the loss of validation is not finite in " + std::to_string(rows) + (rows == 1 ? " row" : " rows");
}

}  // namespace

scale_history history_of(const run_rows& told, const std::string& path, bool is_of_trainer) {
  scale_history all;
  run_rows table = told;
  if (told.of_validation > 0) all.lost_elsewhere.push_back(lost_validations_text(told.of_validation));
  if (table.numbers == counted_by::epoch) {
    add_epochs(table.rows, all);
    note_epochs(table.rows, all);
    return all;
  }
  const log_dialect& dialect = is_of_trainer ? trainer_table_dialect : table_dialect;
  all = history_of(records_of(table, dialect), path);
  all.frameworks.clear();
  if (told.of_validation > 0) all.lost_elsewhere.push_back(lost_validations_text(told.of_validation));
  if (table.numbers == counted_by::order)
    for (scale_run& run : all.runs) run.numbered = false;
  return all;
}

}  // namespace ulp::io
