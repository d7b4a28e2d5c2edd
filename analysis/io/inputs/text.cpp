#include "text.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include <ulp/io/amax/amax_rows.hpp>
#include <ulp/io/amax/amax_table.hpp>
#include <ulp/io/bytes/error.hpp>

#include "bytes/text.hpp"
#include "csv/csv.hpp"
#include "csv/histogram_csv.hpp"
#include "csv/step_log.hpp"
#include "table/cell_value.hpp"
#include "table/read_table.hpp"
#include "table/table_source.hpp"
#include "training_log/scale_log.hpp"

namespace ulp::io {
namespace {

// Whether a line can be names of columns: what stands in most lines of logs is not in them.
bool names_columns(std::string_view line) {
  return line.find(',') != std::string_view::npos && line.find_first_of("=|:<>[]{}") == std::string_view::npos;
}

// Whether a line has a name that the user gave to a column.
bool has_told_name(std::string_view line, char separator, const told_columns& told) {
  if (separator == 0) return false;
  if (line.starts_with("\xEF\xBB\xBF")) line.remove_prefix(3);
  const std::vector<std::string> names = names_in(line, separator);
  return std::ranges::any_of(
      told, [&](const auto& t) { return !t.second.empty() && std::ranges::find(names, t.second) != names.end(); });
}

// A file is read twice: mistakes show before anything is written, and all tensors are known from the first step on.
std::unique_ptr<source> open_histograms(csv_reader rows, const read_limits& limits) {
  const std::string path = rows.path();
  auto once = open_histogram_csv(std::move(rows), {}, limits);
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return once;
  step skipped;
  while (once->next(skipped)) {
  }
  return open_histogram_csv(csv_reader(path, limits), once->tensors(), limits);
}

// The first that has its columns counts.
struct csv_kind {
  bool (*has_columns)(const csv_reader& rows, bool is_run);
  std::unique_ptr<source> (*open)(csv_reader rows, const read_limits& limits);
};
constexpr std::array csv_kinds{
    csv_kind{[](const csv_reader& rows, bool) { return is_histogram_csv(rows); }, open_histograms},
    csv_kind{is_step_log, open_step_log},
};

// A text that is read again as something else, where it is a file.
bool can_read_twice(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored);
}

// The columns of a table whose names are not known: a first line without numbers, above lines with as many fields, of which most are
// numbers. Empty where there is none.
std::vector<std::string> columns_of_table(const std::string& path, const read_limits& limits) {
  constexpr int least = 2;  // rows
  constexpr int most = 5;
  if (!can_read_twice(path)) return {};
  line_reader lines = first_text_of(path, limits);
  const char separator = separator_of(lines.peek());
  const auto fields_in = [&](std::string_view text) {
    return separator == 0 ? std::vector{std::string{trimmed(text)}} : names_in(text, separator);
  };
  std::string line;
  if (!lines.next(line, "table")) return {};
  const auto is_number = [](const std::string& field) {
    return value_of(field, true).what == cell_value::kind::number;
  };
  const std::vector<std::string> names = fields_in(line);
  const bool is_name = names.size() > 1 || names.front().find(' ') == std::string::npos;
  if (!is_name || std::ranges::any_of(names, is_number)) return {};
  int rows = 0;
  while (rows < most && lines.next(line, "table")) {
    const std::vector<std::string> fields = fields_in(line);
    const bool is_row =
        fields.size() == names.size() && 2 * std::ranges::count_if(fields, is_number) > std::ssize(fields);
    if (!is_row) return {};
    ++rows;
  }
  return rows < least ? std::vector<std::string>{} : names;
}

std::string in_quotes_each(const std::vector<std::string>& names) {
  std::vector<std::string> all;
  for (const std::string& name : names) all.push_back(in_quotes(name));
  return joined(all);
}

// What may stand above the names of columns: Excel's "sep=;", comments, the upper edge of a box.
bool stands_above_names(std::string_view line) {
  if (line.starts_with("\xEF\xBB\xBF")) line.remove_prefix(3);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line.starts_with('#') || (line.starts_with('+') && is_rule(line)) ||
         (line.starts_with("sep=") && line.size() == std::string_view{"sep=;"}.size());
}

// Amaxes answer one question alone, which opens them itself.
void refuse_amaxes(const std::string& path, const source_options& options) {
  if (!can_read_twice(path)) return;
  if (is_statistics_log(path, options.limits) || amax_table::open(path, options.limits, options.columns) != nullptr)
    throw input_error(path, "",
                      "holds largest magnitudes alone: ulp replay and ulp sweep take these, with --recipe NAME, or "
                      "--scaler NAME --format F (see ulp scalers te_delayed_bulk)");
}

// From the names of the columns of a run on; nullopt where they do not stand below such lines.
std::optional<line_reader> below_comments(const std::string& path, const read_limits& limits) {
  constexpr int most = 50;
  if (!can_read_twice(path)) return std::nullopt;
  line_reader lines = first_text_of(path, limits);
  std::string above;
  const auto is_header = [&] { return is_header_of_run(lines.peek(), separator_of(lines.peek())); };
  int passed = 0;
  while (passed < most && stands_above_names(lines.peek()) && !is_header() && lines.next(above, "CSV file")) ++passed;
  if (passed == 0 || !is_header()) return std::nullopt;
  return lines;
}

// JSON is a table of a run, unless it is a log whose lines are JSON.
std::unique_ptr<source> open_json(line_reader lines, const source_options& options) {
  const std::string path = lines.path();
  // Of fairseq and ms-swift, whose steps are not plain numbers of a column.
  const bool is_of_log = lines.peek().find("\"num_updates\"") != std::string_view::npos ||
                         lines.peek().find("\"global_step/max_steps\"") != std::string_view::npos;
  if (is_of_log)
    if (auto log = open_scale_log(std::move(lines), "")) return log;
  if (is_of_log) lines = first_text_of(path, options.limits);
  const told_columns told = told_by(options);
  try {
    return open_run_table(read_json_table(std::move(lines), told, options.limits), told);
  } catch (const input_error&) {
    if (!can_read_twice(path) || !told.empty()) throw;
    std::unique_ptr<source> log;
    try {
      log = open_scale_log(line_reader(path, options.limits), "");
    } catch (const input_error&) {  // no log either: what is wrong with the table says more
    }
    if (!log) throw;
    return log;
  }
}

// Columns of text, if every line is one of them: words of a first line may be the beginning of anything.
std::unique_ptr<source> open_columns(const std::string& path, const source_options& options) {
  const told_columns told = told_by(options);
  try {
    csv_reader rows(first_text_of(path, options.limits), ' ');
    return open_run_table(read_csv_table(std::move(rows), ' ', told, options.limits), told);
  } catch (const input_error&) {
    return nullptr;
  }
}

// The words in a script's strings would be taken for those of a log.
void refuse_scripts(const std::string& path) {
  constexpr std::array<std::string_view, 2> scripts{".py", ".sh"};
  if (std::ranges::any_of(scripts, [&](std::string_view end) { return path.ends_with(end); }))
    throw input_error(path, "", "is a script, and no run: it is given by --config, beside a recording or a log");
}

}  // namespace

std::unique_ptr<source> open_text(const std::string& path, const source_options& options) {
  refuse_scripts(path);
  const read_limits& limits = options.limits;
  line_reader lines = first_text_of(path, limits);
  if (lines.at_end()) throw input_error(path, "", "is empty");
  // As all other kinds of input have one not far from their start.
  if (!can_read_twice(path) && lines.peek().find('\0') != std::string_view::npos)
    throw input_error(
        path, "",
        "is a pipe, through which only text in UTF-8 is read, and holds something else: name the file itself");
  if (begins_json(lines.peek())) return open_json(std::move(lines), options);
  const told_columns told = told_by(options);
  if (begins_mlflow_metric(lines.peek()))
    return open_run_table(read_mlflow_metric(std::move(lines), told, limits), told);
  if (stands_above_names(lines.peek()))
    if (std::optional<line_reader> below = below_comments(path, limits)) lines = *std::move(below);
  const char separator = separator_of(lines.peek());
  const bool has_more = names_in(lines.peek(), separator).size() > 2;  // than a step and one thing told of it
  const bool is_run = is_header_of_run(lines.peek(), separator) || (!told.empty() && names_columns(lines.peek())) ||
                      has_told_name(lines.peek(), separator, told);
  const auto open_table = [&](csv_reader rows) {
    return open_run_table(read_csv_table(std::move(rows), separator, told, limits), told);
  };
  if (is_run && separator != ',') return open_table(csv_reader(std::move(lines), separator));
  if (separator == 0 && is_header_of_run(lines.peek(), ' ') && can_read_twice(path))
    if (auto table = open_columns(path, options)) return table;
  if (!names_columns(lines.peek()) && !is_run) {
    if (auto log = open_scale_log(std::move(lines), "")) return log;
    refuse_amaxes(path, options);
    const std::vector<std::string> names = columns_of_table(path, limits);
    if (names.size() == 1)
      throw input_error(path, "line 1",
                        "names one column, " + in_quotes(names.front()) +
                            ": a run needs the numbers of its steps and what is told of each, such as the loss, in "
                            "columns of their own");
    if (!names.empty())
      throw input_error(path, "line 1",
                        "names columns of a table that are not known as those of a run: " + in_quotes_each(names) +
                            "; say which they are with --columns, such as step=NAME,loss=NAME");
    throw input_error(
        path, "",
        "is neither a table, whose line 1 names its columns, nor a training log with lines of a layout that is known: "
        "docs/inputs.md lists them");
  }
  csv_reader rows(std::move(lines));
  // A run that went on from an earlier step, two in one file: tables of runs know such.
  if (told.empty() && is_run && is_step_log(rows, has_more) && can_read_twice(path) &&
      has_other_rows(csv_reader(path, limits)))
    return open_table(std::move(rows));
  for (const csv_kind& kind : csv_kinds)
    if (told.empty() && kind.has_columns(rows, is_run && has_more)) return kind.open(std::move(rows), limits);
  if (is_run) return open_table(std::move(rows));
  auto [rest, first_line] = std::move(rows).release();
  if (auto log = open_scale_log(std::move(rest), first_line)) return log;
  refuse_amaxes(path, options);
  const std::vector<std::string> names = columns_of_table(path, limits);
  throw input_error(
      path, "line 1",
      std::string{
          "names the columns of neither a histogram CSV (step, tensor, n, zero, nan, inf, max_abs, e_min, "
          "counts), a step log (step and found_inf or maxabs), a table of a run (a step or epoch, and a "
          "loss, norm or scale), nor one of amaxes (step, tensor, amax): --columns says which columns these are, such as step=NAME,loss=NAME"} +
          (names.empty() ? "" : "; they are " + in_quotes_each(names)));
}

std::unique_ptr<source> open_tables(const std::vector<std::string>& paths, const source_options& options) {
  const told_columns told = told_by(options);
  const auto read = [&](const std::string& path) {
    line_reader lines = first_text_of(path, options.limits);
    if (lines.at_end()) throw input_error(path, "", "is empty");
    if (begins_json(lines.peek())) return read_json_table(std::move(lines), told, options.limits);
    if (begins_mlflow_metric(lines.peek())) return read_mlflow_metric(std::move(lines), told, options.limits);
    if (stands_above_names(lines.peek()))
      if (std::optional<line_reader> below = below_comments(path, options.limits)) lines = *std::move(below);
    const char separator = separator_of(lines.peek());
    if (!is_header_of_run(lines.peek(), separator))
      throw input_error(
          path, "",
          "is no table of a run; only dumps, event files and such tables can be given several at once; ulp "
          "merge combines recordings");
    return read_csv_table(csv_reader(std::move(lines), separator), separator, told, options.limits);
  };
  run_table all = read(paths.front());
  for (std::size_t i = 1; i < paths.size(); ++i) append_table(all, read(paths[i]));
  return open_run_table(all, told);
}

}  // namespace ulp::io
