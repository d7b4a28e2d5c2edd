// A log says whether the scale that it prints is that before or after its step. A table does not, but a norm that is not
// finite tells: beside the higher scale it was printed before the scaler halved it, beside the lower one after that. Where nothing
// tells, each fall proves a skipped step, and its number may be one too high.
#include "table_history.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <span>
#include <utility>

#include "training_log/falls.hpp"

namespace ulp::io {
namespace {

// "table" makes them records of a framework; see the table source for what it is called.
constexpr log_dialect table_dialect{.name = "table"};
constexpr log_dialect trainer_table_dialect{.name = "table", .replaces_loss = true};

enum class scale_place : std::uint8_t { before, after, open };

struct votes {
  std::uint64_t before = 0;
  std::uint64_t after = 0;
};

bool falls_to(const run_row& from, const run_row& to) {
  return falls(from.logged.loss_scale, to.logged.loss_scale) > 0;
}

scale_place scale_place_of(std::span<const run_row> rows) {
  votes next;        // of rows whose steps follow one another
  votes apart;       // of others
  bool any = false;  // whether it ever changes
  for (std::size_t i = 1; i < rows.size(); ++i) {
    any = any || rows[i].logged.loss_scale != rows[i - 1].logged.loss_scale;
    if (!falls_to(rows[i - 1], rows[i])) continue;
    votes& of = rows[i].step == rows[i - 1].step + 1 ? next : apart;
    of.before += rows[i - 1].is_nonfinite() && !rows[i].is_nonfinite() ? 1 : 0;
    of.after += !rows[i - 1].is_nonfinite() && rows[i].is_nonfinite() ? 1 : 0;
  }
  if (!any) return scale_place::after;
  const votes& decide = next.before + next.after > 0 ? next : apart;
  if (decide.before > 0 && decide.after == 0) return scale_place::before;
  if (decide.after > 0 && decide.before == 0) return scale_place::after;
  return scale_place::open;
}

// A scaler lowers its scale behind a step whose norm is not finite: not where each step has a row, all with finite norms.
bool is_contradicted(std::span<const run_row> rows) {
  bool falls = false;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].is_nonfinite() || !std::isfinite(rows[i].logged.grad_norm)) return false;
    if (i == 0) continue;
    if (rows[i].step != rows[i - 1].step + 1) return false;
    falls = falls || falls_to(rows[i - 1], rows[i]);
  }
  return falls;
}

// The scale after a row's step, where the table has that before it.
double scale_behind(std::span<const run_row> rows, std::size_t i) {
  const double used = rows[i].logged.loss_scale;
  const bool is_last = i + 1 == rows.size() || rows[i + 1].step <= rows[i].step;
  const double next = is_last ? not_known : rows[i + 1].logged.loss_scale;
  if (!is_last && rows[i + 1].step == rows[i].step + 1 && !std::isnan(next)) return next;
  if (!rows[i].is_nonfinite()) return used;
  return next <= used / 2 ? used / 2 : not_known;
}

std::vector<scale_record> records_of(std::span<const run_row> rows, scale_place place, counted_by numbers,
                                     const log_dialect& dialect) {
  std::vector<scale_record> all;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const run_row& row = rows[i];
    scale_record r{.what = scale_record::kind::reached, .from = &dialect, .line = row.line, .step = row.step};
    r.after = place == scale_place::before ? scale_behind(rows, i) : row.logged.loss_scale;
    r.loss = row.logged.loss;
    r.loss_is_nan = row.logged.loss_is_nan;
    r.grad_norm = row.logged.grad_norm;
    r.grad_norm_is_nan = row.logged.grad_norm_is_nan;
    r.learning_rate = row.logged.learning_rate;
    const bool is_first = i == 0 || rows[i - 1].step >= row.step;
    const std::int64_t gap = is_first ? 1 : row.step - rows[i - 1].step;
    const bool falls_behind = place == scale_place::before && falls(row.logged.loss_scale, r.after) > 0;
    if (row.skipped) {
      r.skipped = std::min(*row.skipped, gap);
      r.steps = gap;
    } else if (falls_behind && gap == 1) {
      r.skipped = r.steps = 1;
    } else if (row.logged.found_inf && (gap == 1 || std::isnan(r.after))) {
      r.skipped = *row.logged.found_inf ? 1 : 0;
      r.steps = 1;
    } else if (row.logged.found_inf) {
      r.is_overflow = *row.logged.found_inf;
      r.is_applied = !*row.logged.found_inf;
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

// Where nothing tells whether a scale is that before or after its step, it may be the step before that overflowed, and a step
// at which the scale rises may have had the higher one.
void leave_open(std::vector<scale_run>& runs) {
  std::vector<scale_run> all;
  double scale = not_known;
  for (scale_run run : runs) {
    if (run.skipped || run.after > scale) run.placed = false;
    if (run.skipped && !all.empty() && !all.back().skipped && !run.after_gap) {
      split_last(all);
      scale_run& before = all.back();
      before.decided = before.decided && (before.nonfinite || std::isfinite(before.grad_norm));
    }
    scale = run.after;
    all.push_back(run);
  }
  runs = std::move(all);
}

// What the table says of the scale, beyond what the records do.
void set_scales(std::span<const run_row> rows, scale_place place, scale_history& into) {
  std::map<std::int64_t, double> used;
  for (const run_row& row : rows) used[row.step] = row.logged.loss_scale;
  for (scale_run& run : into.runs) {
    if (place == scale_place::before)
      if (const auto at = used.find(run.step); at != used.end() && !std::isnan(at->second)) run.used = at->second;
  }
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
  const bool is_scaler = !is_contradicted(table.rows);
  if (!is_scaler)
    for (run_row& row : table.rows) row.logged.loss_scale = not_known;
  const scale_place place = scale_place_of(table.rows);
  const log_dialect& dialect = is_of_trainer ? trainer_table_dialect : table_dialect;
  all = history_of(records_of(table.rows, place, table.numbers, dialect), path);
  all.frameworks.clear();
  all.unread += told.of_validation;
  if (!is_scaler)
    all.notes.push_back(
        "the loss scale falls, and every row has a norm that is finite: no step overflowed, and the scale is not used");
  set_scales(table.rows, place, all);
  if (place == scale_place::open) leave_open(all.runs);
  if (place == scale_place::before)
    all.notes.push_back(
        "the loss scale of a row is that before its step is over: it falls behind norms that are not finite");
  if (place == scale_place::open)
    all.notes.push_back(
        "nothing tells whether the loss scale of a row is that before or after its step: a step that a fall proves to be "
        "skipped may be the one before, and is marked ~");
  if (table.numbers == counted_by::order)
    for (scale_run& run : all.runs) run.numbered = false;
  return all;
}

}  // namespace ulp::io
