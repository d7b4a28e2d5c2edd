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

std::vector<scale_record> records_of(std::span<const run_row> rows, counted_by numbers, const log_dialect& dialect) {
  std::vector<scale_record> all;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const run_row& row = rows[i];
    scale_record r{.what = scale_record::kind::reached, .from = &dialect, .line = row.line, .step = row.step};
    r.after = row.scale_is_infinite ? std::numeric_limits<double>::infinity() : row.logged.loss_scale;
    r.scale_is_rounded = row.scale_is_rounded;
    r.loss = row.logged.loss;
    r.loss_is_nan = row.logged.loss_is_nan;
    r.grad_norm = row.logged.grad_norm;
    r.grad_norm_is_nan = row.logged.grad_norm_is_nan;
    r.learning_rate = row.logged.learning_rate;
    const bool is_first = i == 0 || rows[i - 1].step >= row.step;
    const std::int64_t gap = is_first ? 1 : row.step - rows[i - 1].step;
    if (row.skipped) {
      r.skipped = std::min(*row.skipped, gap);
      r.steps = gap;
    } else if (row.logged.found_inf) {
      r.overflow = *row.logged.found_inf ? 1 : 0;
    }
    if (numbers == counted_by::order) r.steps = 1;
    all.push_back(r);
  }
  return all;
}

// Each row is an epoch: its loss is told, and nothing of its steps.
std::vector<scale_run> epochs_of(std::span<const run_row> rows) {
  std::map<std::int64_t, scale_run> all;  // an epoch that was run again counts
  for (const run_row& row : rows) {
    if (!all.empty()) all.erase(all.lower_bound(row.step), all.end());
    all[row.step] = {.step = row.step,
                     .after_gap = true,
                     .decided = false,
                     .used = row.logged.loss_scale,
                     .loss = row.logged.loss,
                     .grad_norm = row.logged.grad_norm,
                     .learning_rate = row.logged.learning_rate,
                     .loss_is_nan = row.logged.loss_is_nan,
                     .grad_norm_is_nan = row.logged.grad_norm_is_nan};
  }
  std::vector<scale_run> runs;
  for (const auto& [epoch, run] : all) runs.push_back(run);
  return runs;
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

}  // namespace

scale_history history_of(const run_rows& told, const std::string& path, bool is_of_trainer) {
  scale_history all;
  run_rows table = told;
  all.unread = told.of_validation;
  if (table.numbers == counted_by::epoch) {
    all.runs = epochs_of(table.rows);
    note_epochs(table.rows, all);
    return all;
  }
  const log_dialect& dialect = is_of_trainer ? trainer_table_dialect : table_dialect;
  all = history_of(records_of(table.rows, table.numbers, dialect), path);
  all.frameworks.clear();
  all.unread += told.of_validation;
  if (table.numbers == counted_by::order)
    for (scale_run& run : all.runs) run.numbered = false;
  return all;
}

}  // namespace ulp::io
