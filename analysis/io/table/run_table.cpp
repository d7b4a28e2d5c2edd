#include "run_table.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <ulp/io/bytes/error.hpp>
#include <ulp/io/bytes/printable.hpp>

#include "bytes/ascii.hpp"
#include "bytes/text.hpp"
#include "bytes/within.hpp"
#include "row_order.hpp"

namespace ulp::io {
namespace {

constexpr std::uint64_t most_cells = 100'000'000;

bool is_validation(std::string_view part) {
  const std::string word = in_small_letters(part);
  return std::ranges::any_of(
      std::array{"val", "valid", "validate", "validation", "eval", "evaluation", "test", "dev", "sanity_check"},
      [&](std::string_view name) { return word == name; });
}

}  // namespace

std::span<const run_table::cell> run_table::cells_of(std::size_t row_index) const {
  const std::size_t end = row_index + 1 < rows.size() ? rows[row_index + 1].begin : cells.size();
  return std::span(cells).subspan(rows[row_index].begin, end - rows[row_index].begin);
}

const std::string& run_table::path_of(std::size_t row_index) const {
  const auto behind = std::ranges::upper_bound(more_files, row_index, {}, [](const auto& file) { return file.first; });
  return behind == more_files.begin() ? path : (behind - 1)->second;
}

void append_table(run_table& to, const run_table& more) {
  to.more_files.emplace_back(to.rows.size(), more.path);
  std::vector<std::uint32_t> indices;
  for (const run_table::column& c : more.columns) {
    const auto same = std::ranges::find(to.columns, c.name, &run_table::column::name);
    indices.push_back(static_cast<std::uint32_t>(same - to.columns.begin()));
    if (same == to.columns.end()) {
      to.columns.push_back(c);
      to.columns.back().wrong_path = more.path;
      to.columns.back().words = {};
      to.columns.back().words.append(c.words, more.path, to.rows.size());
      if (!c.filled.empty()) to.columns.back().filled.insert(to.columns.back().filled.begin(), to.rows.size(), false);
      continue;
    }
    if (!c.filled.empty()) {
      same->filled.resize(to.rows.size());
      same->filled.insert(same->filled.end(), c.filled.begin(), c.filled.end());
    }
    same->values += c.values;
    same->lost += c.lost;
    same->words.append(c.words, more.path, to.rows.size());
    if (same->wrong_line > 0 || c.wrong_line == 0) continue;
    same->wrong_line = c.wrong_line;
    same->wrong_text = c.wrong_text;
    same->wrong_path = more.path;
    same->is_ambiguous = c.is_ambiguous;
  }
  const std::size_t begin = to.cells.size();
  for (const run_table::row& row : more.rows) to.rows.push_back({row.line, begin + row.begin});
  to.of_other_runs += more.of_other_runs;
  to.lost_of_ranks += more.lost_of_ranks;
  for (const run_table::cell& cell : more.cells) to.cells.push_back({indices[cell.column], cell.value});
  for (const std::string& note : more.notes) to.notes.push_back(printable(more.path) + ": " + note);
}

void lost_numbers::see(double value, std::uint64_t line) {
  ++numbers;
  const bool is_lost = !std::isfinite(value);
  was_finite = was_finite || !is_lost;
  if (!was_finite) return;
  places += is_lost && !was_lost ? 1 : 0;
  was_lost = is_lost;
  if (!is_lost) return;
  ++lost;
  if (first_line == 0) first_line = line;
}

lost_numbers& lost_numbers::operator+=(const lost_numbers& of_more) {
  numbers += of_more.numbers;
  lost += of_more.lost;
  places += of_more.places;
  if (first_line == 0) first_line = of_more.first_line;
  return *this;
}

table_builder::table_builder(std::string path, std::string form, told_columns told, const read_limits& limits)
    : told_(std::move(told)), limits_(limits) {
  table_.path = std::move(path);
  table_.form = std::move(form);
}

std::uint32_t table_builder::column(std::string_view name) {
  if (const auto known = indices_.find(name); known != indices_.end()) return known->second;
  const auto index = static_cast<std::uint32_t>(table_.columns.size());
  check_count(index + 1, limits_, table_.path, line_ == 0 ? "" : table_.place(line_), "columns");
  run_table::column made{.name = std::string(name), .reading = reading_of(name), .wrong_text = {}};
  for (const auto& [means, told] : told_)
    if (told == name) made.reading = column_reading{.means = means, .is_log2 = made.reading && made.reading->is_log2};
  table_.columns.push_back(std::move(made));
  indices_.emplace(std::string(name), index);
  return index;
}

std::optional<column_meaning> table_builder::meaning_of(std::uint32_t column) const {
  const auto& reading = table_.columns[column].reading;
  return reading ? std::optional(reading->means) : std::nullopt;
}

void table_builder::begin(std::uint64_t line) {
  line_ = line;
  begin_ = table_.cells.size();
  is_left_out_ = is_of_rank_ = is_lost_ = false;
  filled_.clear();
  saying_.clear();
  key_.clear();
  value_.reset();
}

// Whether the row is of a rank or a run that does not count, or of validation.
bool table_builder::is_of_other(column_meaning means, std::string_view text) {
  if (means == column_meaning::part) return is_validation(text);
  return !text.empty() && first_.try_emplace(means, text).first->second != text;
}

void table_builder::put(std::uint32_t column, std::string_view text, bool decimal_comma) {
  run_table::column& of = table_.columns[column];
  const auto means = meaning_of(column);
  const cell_value value = value_of(text, decimal_comma);
  const bool is_number = value.what == cell_value::kind::number;
  if (is_number) see(column, value.number);
  if (means && *means != column_meaning::key && is_left_out_) return;
  if (!means || *means == column_meaning::key)
    label(column, text, is_number && value.number != std::floor(value.number));
  if (!means && is_number && std::isfinite(value.number)) filled_.push_back(column);
  if (!means && !is_left_out_ && of.words.see(of.name, text, value)) saying_.push_back(column);
  if (!means || is_left_out_) return;
  if (value.what == cell_value::kind::nothing) return;
  ++of.values;
  switch (*means) {
    case column_meaning::part:
    case column_meaning::rank:
    case column_meaning::run:
      if (!is_of_other(*means, text)) return;
      ++left_out_[*means];
      is_left_out_ = true;
      is_of_rank_ = *means == column_meaning::rank;
      return;
    case column_meaning::key: key_ = text; return;
    case column_meaning::value:
      value_ = value;
      value_text_ = text;
      return;
    default: break;
  }
  const bool counts =
      *means == column_meaning::step || *means == column_meaning::epoch || *means == column_meaning::loss_scale;
  if (is_number || (value.what == cell_value::kind::ambiguous && counts)) {
    table_.cells.push_back({column, value.number});
  } else if (of.wrong_line == 0) {
    of.wrong_line = line_;
    of.wrong_text = text;
    of.is_ambiguous = value.what == cell_value::kind::ambiguous;
  }
}

void table_builder::see(std::uint32_t column, double value) {
  const auto means = meaning_of(column);
  if (means == column_meaning::loss || means == column_meaning::grad_norm) is_lost_ = is_lost_ || !std::isfinite(value);
  if (!is_left_out_) table_.columns[column].lost.see(value, line_);
}

void table_builder::put(std::uint32_t column, double value) {
  see(column, value);
  const auto means = meaning_of(column);
  if (!means && std::isfinite(value)) {
    label(column, decimal_text(value), value != std::floor(value));
    filled_.push_back(column);
  }
  if (!means || is_left_out_) return;
  if (*means >= column_meaning::rank) {
    put(column, decimal_text(value));
    return;
  }
  ++table_.columns[column].values;
  table_.cells.push_back({column, value});
}

void table_builder::end() {
  if (!key_.empty() && value_ && !is_left_out_) {
    const std::string text = std::exchange(value_text_, {});
    value_.reset();
    put(this->column(key_), text);
  }
  if (is_left_out_) table_.cells.resize(begin_);
  table_.lost_of_ranks += is_of_rank_ && is_lost_ ? 1 : 0;
  if (!is_left_out_)
    for (const std::uint32_t column : saying_) table_.columns[column].words.keep(line_, table_.rows.size());
  if (table_.cells.size() == begin_) return;
  if (table_.cells.size() > most_cells)
    throw input_error(table_.path, table_.place(line_),
                      "more than " + std::to_string(most_cells) + " numbers up to here; cut the table into parts");
  for (const std::uint32_t column : filled_) {
    constexpr std::size_t most = 64;  // columns, so that a row takes some bytes at most
    std::vector<bool>& filled = table_.columns[column].filled;
    if (filled.empty() && fillers_++ >= most) continue;
    filled.resize(table_.rows.size());
    filled.push_back(true);
  }
  table_.rows.push_back({line_, begin_});
}

void table_builder::label(std::uint32_t column, std::string_view text, bool is_fraction) {
  constexpr std::size_t most = 64;
  constexpr std::size_t longest = 200;
  row_labels& of = labels_[column];
  if (of.too_many || is_left_out_) return;
  of.has_fractions = of.has_fractions || is_fraction;
  if (const auto known = of.texts.find(text); known != of.texts.end()) {
    of.rows.emplace_back(table_.rows.size(), known->second);
    return;
  }
  of.too_many = of.texts.size() == most || text.size() > longest;
  if (of.too_many) {
    of.rows = {};
    return;
  }
  const auto index = static_cast<std::uint32_t>(of.texts.size());
  of.texts.emplace(std::string(text), index);
  of.rows.emplace_back(table_.rows.size(), index);
}

// Of each row with a metric, by the column that counts them; NaN of others, as of those of an evaluation.
std::vector<double> table_builder::steps() const {
  const run_table::column* best = nullptr;
  for (const run_table::column& c : table_.columns) {
    const bool counts = c.reading && c.reading->means == column_meaning::step && c.values > 0;
    if (counts && (best == nullptr || *c.reading < *best->reading)) best = &c;
  }
  std::vector<double> all(best == nullptr ? 0 : table_.rows.size(), not_known);
  const auto is_metric = [&](const run_table::cell& c) {
    const auto& reading = table_.columns[c.column].reading;
    return reading && reading->means >= column_meaning::loss && reading->means <= column_meaning::applied &&
           reading->means != column_meaning::learning_rate && !reading->of_validation;
  };
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto cells = table_.cells_of(i);
    if (std::ranges::none_of(cells, is_metric)) continue;
    for (const run_table::cell& c : cells)
      if (&table_.columns[c.column] == best) all[i] = c.value;
  }
  return all;
}

// Whether the rows of each text have steps that ascend, and another one begins where the first does or before it. One that begins
// later may go on with it.
bool table_builder::divides(const row_labels& by, const std::vector<double>& steps) {
  if (by.too_many || by.texts.size() < 2) return false;
  struct series {
    std::size_t rows = 0;
    double first = not_known;
    double last = not_known;
  };
  std::vector<series> all(by.texts.size());
  std::size_t changes = 0;
  std::uint32_t before = 0;
  for (const auto& [row, text] : by.rows) {
    if (row >= steps.size() || std::isnan(steps[row])) continue;
    series& of = all[text];
    changes += text != std::exchange(before, text) ? 1 : 0;
    if (of.rows++ == 0) of.first = steps[row];
    if (of.rows > 1 && !(steps[row] > of.last)) return false;
    of.last = steps[row];
  }
  if (by.has_fractions && changes >= by.texts.size()) return false;  // measured in each row
  const auto begins_anew = [&](const series& s) { return s.first <= all.front().first; };
  return all.front().rows > 0 && std::ranges::all_of(all, [](const series& s) { return s.rows != 1; }) &&
         std::any_of(all.begin() + 1, all.end(), begins_anew);
}

void table_builder::keep_first_run() {
  const bool has_values = std::ranges::any_of(
      table_.columns, [](const auto& c) { return c.reading && c.reading->means == column_meaning::value; });
  const std::vector<double> numbers = has_values ? std::vector<double>{} : steps();
  const auto by = std::ranges::find_if(labels_, [&](const auto& of) { return divides(of.second, numbers); });
  if (by == labels_.end()) return;
  std::vector<bool> is_other(table_.rows.size());
  std::vector<std::size_t> to(table_.rows.size(), left_out_row);
  for (const auto& [row, text] : by->second.rows)
    if (row < is_other.size()) is_other[row] = text != 0;
  std::vector<run_table::row> rows;
  std::vector<run_table::cell> cells;
  for (std::size_t i = 0; i < table_.rows.size(); ++i) {
    if (is_other[i]) continue;
    to[i] = rows.size();
    rows.push_back({table_.rows[i].line, cells.size()});
    const auto of = table_.cells_of(i);
    cells.insert(cells.end(), of.begin(), of.end());
  }
  table_.of_other_runs = table_.rows.size() - rows.size();
  for (run_table::column& c : table_.columns) {
    std::vector<bool> filled;
    for (std::size_t i = 0; i < c.filled.size(); ++i)
      if (!is_other[i]) filled.push_back(c.filled[i]);
    c.filled = std::move(filled);
    c.words.renumber(to, rows.size());
  }
  table_.rows = std::move(rows);
  table_.cells = std::move(cells);
  const auto first = std::ranges::find(by->second.texts, 0U, [](const auto& t) { return t.second; });
  table_.notes.push_back("steps repeat, and the column " + in_quotes(table_.columns[by->first].name) +
                         " parts them into " + std::to_string(by->second.texts.size()) + " runs, of which only " +
                         in_quotes(first->first) + " is read: " + count_text(table_.of_other_runs, "row") +
                         " of others are not; give a table of each");
}

// W&B's and MLflow's tables of runs, with the last values of each: wandb.ai, "Export as CSV" of a project; mlflow.search_runs.
void table_builder::expect_steps() const {
  const auto has = [&](std::string_view name) { return indices_.contains(name); };
  const bool is_of_runs = (has("Name") && has("State") && (has("Runtime") || has("Created"))) ||
                          (has("Run ID") && has("Status") && has("Duration"));
  if (is_of_runs)
    throw input_error(table_.path, "",
                      "has a row for each run, with its last values, and no steps: export the history of one run");
}

run_table table_builder::take() {
  expect_steps();
  keep_first_run();
  sort_shuffled(table_);
  for (const auto& [means, n] : left_out_) {
    if (means == column_meaning::part) table_.notes.push_back(count_text(n, "row") + " of validation: left out");
    if (means == column_meaning::rank)
      table_.notes.push_back(count_text(n, "row") + " of other ranks than " + first_[means] + ": left out");
    if (means == column_meaning::run)
      table_.notes.push_back(count_text(n, "row") + " of other runs than " + in_quotes(first_[means]) +
                             ", the first: left out; cut the table to read another one");
  }
  return std::move(table_);
}

}  // namespace ulp::io
