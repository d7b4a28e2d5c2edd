#include <algorithm>
#include <functional>

#include <ulp/io/bytes/error.hpp>

#include "bytes/text.hpp"
#include "column_choice.hpp"
#include "json_values.hpp"
#include "read_table.hpp"

namespace ulp::io {
namespace {

using kind = json_value::kind;

constexpr std::size_t longest_document = std::size_t{64} << 20;
constexpr std::size_t most_values = 4'000'000;
constexpr std::size_t most_in_line = 100'000;

bool are_all(const json_value& list, kind what) {
  return list.is(kind::array) && !list.items.empty() &&
         std::ranges::all_of(list.items, [&](const json_value& v) { return v.is(what); });
}

bool is_plain(const json_value& v) { return !v.is(kind::array) && !v.is(kind::object); }

// Rows from whatever shape a document has.
class document {
 public:
  explicit document(table_builder& into) : into_(into) {}

  void add_row(const json_value& object, std::uint64_t line) {
    into_.begin(line);
    put_fields(object, "");
    into_.end();
    ++rows_;
  }

  // False where it has no shape that is known.
  [[nodiscard]] bool add(const json_value& root, const std::string& path) {
    if (add_times(root, path)) return true;
    const json_value* best = nullptr;
    visit(root, 0, [&](const json_value& v) {
      if (are_all(v, kind::object) && (best == nullptr || v.items.size() > best->items.size())) best = &v;
    });
    if (best != nullptr) {
      if (root.find("log_history") == best) into_.is_of("Hugging Face Trainer");
      for (const json_value& row : best->items) add_row(row, row.line);
      return true;
    }
    visit(root, 0, [&](const json_value& v) {
      if (rows_ == 0 && v.is(kind::object)) static_cast<void>(add_split(v) || add_series(v) || add_columns(v));
    });
    // One row alone may be the configuration of a run, unless it counts steps.
    if (rows_ == 0 && root.is(kind::object) && are_of_run(root.keys)) add_row(root, root.line);
    return rows_ > 0;
  }

 private:
  static void visit(const json_value& v, int depth, const std::function<void(const json_value&)>& act) {
    constexpr int deepest_table = 4;
    act(v);
    if (depth == deepest_table) return;
    for (const json_value& item : v.items)
      if (!is_plain(item)) visit(item, depth + 1, act);
  }

  void put(const std::string& name, const json_value& v) {
    if (name.empty() || v.is(kind::null)) return;
    const std::uint32_t column = into_.column(name);
    if (v.is(kind::text))
      into_.put(column, v.text);
    else
      into_.put(column, v.number);
  }

  // Remarks: ["grad overflow", "step skipped"].
  void put_words(const std::string& name, const json_value& list) {
    std::vector<std::string> all;
    for (const json_value& v : list.items) all.push_back(v.text);
    if (!name.empty()) into_.put(into_.column(name), joined(all));
  }

  // Objects within one another are paths, as in W&B; of a list of numbers, such as rates of groups, the first counts.
  void put_fields(const json_value& object, const std::string& path) {
    if (object.find("_type") != nullptr) return;  // a picture or a histogram of W&B
    for (std::size_t i = 0; i < object.keys.size(); ++i) {
      const std::string name = path.empty() ? object.keys[i] : path + "/" + object.keys[i];
      const json_value& v = object.items[i];
      if (v.is(kind::object))
        put_fields(v, name);
      else if (are_all(v, kind::number))
        put(name, v.items.front());
      else if (are_all(v, kind::text))
        put_words(name, v);
      else if (is_plain(v))
        put(name, v);
    }
  }

  // TensorBoard: [[time, step, value], ...] of one metric.
  bool add_times(const json_value& root, const std::string& path) {
    const auto is_entry = [](const json_value& v) {
      return v.is(kind::array) && v.items.size() == 3 && std::ranges::all_of(v.items, is_plain);
    };
    if (!root.is(kind::array) || root.items.empty() || !std::ranges::all_of(root.items, is_entry)) return false;
    for (const json_value& entry : root.items) {
      into_.begin(entry.line);
      put("step", entry.items[1]);
      put(metric_of_path(path), entry.items[2]);
      into_.end();
    }
    return true;
  }

  // pandas to_json(orient="split") and W&B's tables: names in "columns", rows in "data".
  bool add_split(const json_value& v) {
    const json_value* const names = v.find("columns");
    const json_value* const data = v.find("data");
    if (names == nullptr || data == nullptr || !are_all(*names, kind::text) || !are_all(*data, kind::array))
      return false;
    for (const json_value& row : data->items) {
      into_.begin(row.line);
      for (std::size_t i = 0; i < std::min(row.items.size(), names->items.size()); ++i)
        if (is_plain(row.items[i])) put(names->items[i].text, row.items[i]);
      into_.end();
      ++rows_;
    }
    return true;
  }

  // Sacred: {"loss": {"steps": [...], "values": [...]}}.
  bool add_series(const json_value& v) {
    bool any = false;
    for (std::size_t i = 0; i < v.keys.size(); ++i) {
      const json_value* const steps = v.items[i].find("steps");
      const json_value* const values = v.items[i].find("values");
      if (steps == nullptr || values == nullptr || steps->items.size() != values->items.size()) continue;
      for (std::size_t k = 0; k < steps->items.size(); ++k) {
        if (!is_plain(steps->items[k]) || !is_plain(values->items[k])) continue;
        into_.begin(values->line);
        put("step", steps->items[k]);
        put(v.keys[i], values->items[k]);
        into_.end();
        ++rows_;
        any = true;
      }
    }
    return any;
  }

  // Columns: {"loss": [...]} as of Keras' History, or {"loss": {"0": ...}} as pandas writes by default.
  bool add_columns(const json_value& v) {
    std::size_t rows = 0;
    const bool has_counter = std::ranges::any_of(v.keys, [](const std::string& key) {
      const auto reading = reading_of(key);
      return reading && (reading->means == column_meaning::step || reading->means == column_meaning::epoch);
    });
    const auto is_column = [](const json_value& c) {
      return !c.items.empty() && std::ranges::all_of(c.items, is_plain) &&
             (c.is(kind::array) || (c.is(kind::object) && std::ranges::all_of(c.keys, [](const std::string& key) {
                                      return !key.empty() && key.find_first_not_of("0123456789") == std::string::npos;
                                    })));
    };
    std::size_t validated = 0;  // as many, where validation has as many: of epochs
    for (std::size_t i = 0; i < v.items.size(); ++i) {
      if (!is_column(v.items[i])) continue;
      rows = std::max(rows, v.items[i].items.size());
      const auto reading = reading_of(v.keys[i]);
      if (reading && reading->of_validation) validated = std::max(validated, v.items[i].items.size());
    }
    const bool are_epochs = !has_counter && rows > 0 && validated == rows;
    if (are_epochs) into_.add_note("losses of validation are as many: each row is taken for an epoch, from 0 on");
    for (std::size_t r = 0; r < rows; ++r) {
      into_.begin(v.line);
      if (are_epochs) into_.put(into_.column("epoch"), static_cast<double>(r));
      for (std::size_t i = 0; i < v.items.size(); ++i)
        if (is_column(v.items[i]) && r < v.items[i].items.size()) put(v.keys[i], v.items[i].items[r]);
      into_.end();
      ++rows_;
    }
    return rows > 0;
  }

  table_builder& into_;
  std::uint64_t rows_ = 0;
};

[[noreturn]] void fail(const std::string& path, std::uint64_t line, const std::string& reason) {
  throw input_error(path, "line " + std::to_string(line), reason);
}

bool is_blank(std::string_view line) { return line.find_first_not_of(" \t\r") == std::string_view::npos; }

// The first line is read already.
run_table read_lines(line_reader& lines, const json_value& first, const told_columns& told, const read_limits& limits) {
  table_builder table(lines.path(), "JSON lines", told, limits);
  document rows(table);
  rows.add_row(first, lines.number());
  std::uint64_t others = 0;
  for (std::string line; lines.next(line, "table in JSON lines");) {
    if (is_blank(line)) continue;
    try {
      const json_value row = parse_json(line, most_in_line);
      if (row.is(kind::object))
        rows.add_row(row, lines.number());
      else
        ++others;
    } catch (const json_error& problem) {
      if (!lines.ended()) {
        table.add_note("the last row was cut short: left out");
        break;
      }
      lines.fail(std::string("is no object of JSON, as the lines before are: it ") + problem.what());
    }
  }
  if (others > 0) table.add_note(std::to_string(others) + " lines that are no objects: not read");
  return table.take();
}

}  // namespace

namespace {

// "[1, 2.5", "[1], [2", "[NaN]"; not "[1, 2000] loss: 2.2" or "[0/25]", lines of logs.
bool begins_numbers(std::string_view behind_bracket) noexcept {
  const std::size_t end = behind_bracket.find_first_not_of("0123456789+-.eE, \tNaInfity");
  if (end == std::string_view::npos) return true;
  if (behind_bracket[end] != ']') return false;
  const std::size_t next = behind_bracket.find_first_not_of(" \t\r", end + 1);
  return next == std::string_view::npos || behind_bracket[next] == ',' || behind_bracket[next] == ']';
}

}  // namespace

bool begins_json(std::string_view line) noexcept {
  if (line.starts_with("\xEF\xBB\xBF")) line.remove_prefix(3);
  const std::size_t first = line.find_first_not_of(" \t");
  if (first == std::string_view::npos || (line[first] != '{' && line[first] != '[')) return false;
  const std::size_t second = line.find_first_not_of(" \t", first + 1);
  if (second == std::string_view::npos) return true;
  if (line[first] == '{') return line[second] == '"' || line[second] == '}';
  if (line[second] == '{' || line[second] == '[' || line[second] == ']') return true;
  constexpr std::string_view of_number = "-0123456789N";
  return of_number.find(line[second]) != std::string_view::npos && begins_numbers(line.substr(second));
}

run_table read_json_table(line_reader lines, const told_columns& told, const read_limits& limits) {
  const std::string path = lines.path();
  std::string text;
  static_cast<void>(lines.next(text, "table in JSON"));
  if (text.starts_with("\xEF\xBB\xBF")) text.erase(0, 3);
  text.insert(0, lines.number() - 1, '\n');  // for the places of values
  try {
    const json_value first = parse_json(text, most_values);
    if (first.is(kind::object) && !lines.at_end()) return read_lines(lines, first, told, limits);
  } catch (const json_error&) {  // a document of several lines, then
  }
  for (std::string line; lines.next(line, "table in JSON");) {
    text += '\n';
    text += line;
    if (text.size() > longest_document)
      fail(path, lines.number(),
           "is a document of JSON of more than 64 MiB: save it as CSV, or as an object in each line");
  }
  table_builder table(path, "JSON", told, limits);
  try {
    const json_value root = parse_json(text, most_values);
    if (!document(table).add(root, path))
      throw input_error(
          path, "",
          "is JSON, but has no rows: objects, or lists by the names of columns, are read (a program's configuration is given by "
          "--config, beside a run)");
  } catch (const json_error& problem) {
    fail(path, problem.line, std::string("is not JSON: ") + problem.what());
  }
  return table.take();
}

}  // namespace ulp::io
