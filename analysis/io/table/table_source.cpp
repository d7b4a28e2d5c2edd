#include "table_source.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <utility>

#include <ulp/io/bytes/error.hpp>
#include <ulp/io/bytes/printable.hpp>

#include "bytes/text.hpp"
#include "column_choice.hpp"
#include "table_history.hpp"
#include "training_log/scale_log.hpp"

namespace ulp::io {
namespace {

class table_source final : public forwarding_source {
 public:
  table_source(std::unique_ptr<source> inner, std::string form, std::string framework, std::string columns,
               std::string unit, std::vector<std::string> notes)
      : forwarding_source(std::move(inner)),
        form_(std::move(form)),
        framework_(std::move(framework)),
        columns_(std::move(columns)),
        unit_(std::move(unit)),
        notes_(std::move(notes)) {}

  [[nodiscard]] std::string description() const override {
    return "table of a run (" + form_ + (framework_.empty() ? "" : ", " + framework_) + ")";
  }
  [[nodiscard]] std::string framework() const override { return framework_; }
  [[nodiscard]] std::string columns() const override { return columns_; }
  [[nodiscard]] std::string row_unit() const override { return unit_; }
  [[nodiscard]] std::vector<std::string> notes() const override { return notes_; }

 private:
  std::string form_;
  std::string framework_;
  std::string columns_;
  std::string unit_;
  std::vector<std::string> notes_;
};

std::string names_of(const run_table& table) {
  std::vector<std::string> names;
  for (const run_table::column& c : table.columns) names.push_back(in_quotes(c.name));
  return names.empty() ? "it has none" : "its columns are " + joined(names);
}

// Whose the columns are by their names: transformers integrations/integration_utils.py, rewrite_logs; trainer_log.jsonl of
// hiyouga/LLaMA-Factory train/callbacks.py, which holds what transformers logs; the table in a notebook of transformers utils/notebook.py.
std::string framework_of(const run_table& table) {
  const auto has = [&](std::string_view name) {
    return std::ranges::find(table.columns, name, &run_table::column::name) != table.columns.end();
  };
  const bool is_of_trainer = has("train/global_step") && has("train/loss") && has("train/epoch");
  const bool is_by_trainer = has("current_steps") && has("total_steps") && has("loss") && has("percentage");
  const bool is_in_notebook = (has("Step") || has("Epoch")) && has("Training Loss");
  return !table.framework.empty() || !(is_of_trainer || is_by_trainer || is_in_notebook) ? table.framework
                                                                                         : "Hugging Face Trainer";
}

chosen_columns chosen_of(const run_table& table, const told_columns& told, bool takes_rate) {
  chosen_columns chosen = choose_columns(table, told);
  if (!chosen.any_metric() && !(takes_rate && chosen.of(column_meaning::learning_rate)))
    throw input_error(table.path, "",
                      "has no column that is a loss, a gradient norm, a loss scale or found_inf by its name: " +
                          names_of(table) + "; say which with --columns, such as loss=NAME,step=NAME");
  return chosen;
}

// Whether the steps of a row, of the one before it or of the one behind it are known to have been lost. `at` may be the end.
bool is_told(const scale_history& history, const std::vector<run_row>& rows, std::size_t at) {
  const auto step_of = [&](std::size_t i) { return rows[std::min(i, rows.size() - 1)].step; };
  const auto [first, last] = std::minmax({step_of(at > 0 ? at - 1 : 0), step_of(at), step_of(at + 1)});
  auto run = std::ranges::upper_bound(history.runs, first, {}, &scale_run::step);
  if (run != history.runs.begin()) --run;
  for (; run != history.runs.end() && run->step <= last; ++run) {
    const bool is_lost = run->skipped || run->nonfinite || run->loss_is_nan || run->grad_norm_is_nan ||
                         std::isinf(run->loss) || std::isinf(run->grad_norm);
    if (is_lost && run->step + std::int64_t{run->count} > first) return true;
  }
  return false;
}

// What columns that are not read say of an overflow, where the steps do not: "line 7 says ...".
std::string untold_words(const run_table& table, const std::vector<run_row>& rows, const scale_history& history) {
  std::vector<std::pair<std::size_t, std::size_t>> by_index;
  for (std::size_t i = 0; i < rows.size(); ++i) by_index.emplace_back(rows[i].index, i);
  std::ranges::sort(by_index);
  std::set<std::size_t> told;
  std::string text;
  for (const run_table::column& c : table.columns)
    for (const said_in_field& said : c.words.said(c.name)) {
      const auto row = std::ranges::lower_bound(by_index, said.row, {}, [](const auto& r) { return r.first; });
      if (is_told(history, rows, row == by_index.end() ? rows.size() : row->second)) continue;
      if (told.empty() || said.row < *told.begin())
        text = (said.path.empty() ? "" : printable(said.path) + ": ") + table.place(said.line) +
               " says that something was not finite, or skipped, " + in_quotes(said.text) + " in the column " +
               in_quotes(c.name) + ", and no step that is read tells of it";
      told.insert(said.row);
    }
  if (told.size() > 1)
    text += std::string{"; so "} + (told.size() == 2 ? "does " : "do ") + std::to_string(told.size() - 1) + " more";
  return text;
}

void append(std::vector<std::string>& to, const std::vector<std::string>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

}  // namespace

told_columns told_by(const source_options& options) {
  told_columns told;
  for (const auto& [meaning, name] : options.columns)
    if (const auto means = column_meaning_named(meaning)) told.emplace_back(*means, name);
  return told;
}

std::unique_ptr<source> open_run_table(const run_table& table, const told_columns& told) {
  const chosen_columns chosen = chosen_of(table, told, false);
  const run_rows rows = rows_of(table, chosen);
  const std::string framework = framework_of(table);
  const std::string unit = rows.numbers == counted_by::epoch ? "epoch" : "step";
  scale_history history = history_of(rows, table.path, framework == "Hugging Face Trainer");
  history.unread += chosen.of_other_runs + table.of_other_runs + chosen.of_no_scale + chosen.of_no_count +
                    rows.contradicted + rows.not_used;
  std::vector<std::string> lost = chosen.lost;
  if (std::string words = untold_words(table, rows.rows, history); !words.empty()) lost.push_back(std::move(words));
  append(history.lost_elsewhere, lost);
  auto inner = open_history(std::move(history));
  std::vector<std::string> notes{"columns: " + chosen.text};
  for (const auto& more : {chosen.notes, lost, table.notes, rows.notes, inner->notes()}) append(notes, more);
  return std::make_unique<table_source>(std::move(inner), table.form, framework, chosen.text, unit, std::move(notes));
}

scalar_table scalars_of(const run_table& table, const told_columns& told, std::vector<std::string>& notes) {
  const chosen_columns chosen = chosen_of(table, told, true);
  if (!chosen.of(column_meaning::step))
    throw input_error(table.path, "",
                      "has no column of steps: " + names_of(table) + "; say which with --columns step=NAME");
  const run_rows rows = rows_of(table, chosen);
  scalar_table all;
  for (const run_row& row : rows.rows) {
    if (!all.empty() && row.step <= all.back().first)
      throw input_error(table.path, table.place(row.line),
                        "step " + std::to_string(row.step) + " follows step " + std::to_string(all.back().first) +
                            "; steps must ascend");
    all.emplace_back(row.step, row.logged);
  }
  notes.push_back(printable(table.path) + ": columns: " + chosen.text);
  for (const auto& more : {chosen.notes, table.notes, rows.notes}) append(notes, more);
  return all;
}

}  // namespace ulp::io
