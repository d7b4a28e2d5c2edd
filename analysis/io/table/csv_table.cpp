#include <algorithm>
#include <array>
#include <filesystem>

#include <ulp/io/bytes/error.hpp>

#include "bytes/ascii.hpp"
#include "bytes/text.hpp"
#include "column_choice.hpp"
#include "read_table.hpp"

namespace ulp::io {
namespace {

constexpr std::array separators{',', ';', '\t', '|', ' '};

bool has(const std::vector<std::string>& names, column_meaning means) {
  return std::ranges::any_of(names, [&](const std::string& name) {
    const auto reading = reading_of(name);
    return reading && reading->means == means;
  });
}

// A table of one metric, whose name is not in it.
bool lacks_name(const std::vector<std::string>& names) {
  constexpr std::array metrics{column_meaning::loss, column_meaning::grad_norm, column_meaning::loss_scale,
                               column_meaning::found_inf, column_meaning::key};
  return has(names, column_meaning::value) &&
         std::ranges::none_of(metrics, [&](column_meaning means) { return has(names, means); });
}

// Whether the last field of a last row without a line break may have lost characters: a number that the one above begins with or
// has more digits behind the point than, or the beginning of a word that stands for one.
bool may_be_cut(std::string_view last, std::string_view above) {
  if (last.empty()) return false;
  constexpr std::string_view of_numbers = "0123456789.+-eE";
  if (last.find_first_not_of(of_numbers) != std::string_view::npos) {
    const std::string word = in_small_letters(last.substr(last.front() == '-' || last.front() == '+' ? 1 : 0));
    constexpr std::array<std::string_view, 6> words{"nan", "inf", "infinity", "true", "false", "none"};
    return std::ranges::find(words, word) == words.end() &&
           std::ranges::any_of(words, [&](std::string_view of) { return of.starts_with(word); });
  }
  if (above.find_first_not_of(of_numbers) != std::string_view::npos || last.size() >= above.size()) return false;
  const auto decimals = [](std::string_view text) {
    const std::size_t point = text.find('.');
    return point == std::string_view::npos ? 0 : text.size() - point;
  };
  return above.starts_with(last) || decimals(last) < decimals(above);
}

}  // namespace

char separator_of(std::string_view header) noexcept {
  char best = 0;
  std::ptrdiff_t most = 0;
  for (const char c : separators)
    if (const auto n = std::ranges::count(header, c); c != ' ' && n > most) {
      most = n;
      best = c;
    }
  return best;
}

std::vector<std::string> names_in(std::string_view header, char separator) {
  std::vector<std::string> all;
  if (separator == ' ') header = trimmed(header);
  for (std::size_t at = 0;;) {
    const std::size_t end = std::min(header.find(separator, at), header.size());
    if (separator == ' ' && end == at && end < header.size()) {  // several blanks are one
      ++at;
      continue;
    }
    std::string_view name = trimmed(header.substr(at, end - at));
    if (name.size() >= 2 && name.front() == '"' && name.back() == '"') name = name.substr(1, name.size() - 2);
    all.emplace_back(trimmed(name));
    if (end == header.size()) return all;
    at = end + 1;
  }
}

bool is_header_of_run(std::string_view header, char separator) {
  if (separator == 0) return false;
  if (header.starts_with("\xEF\xBB\xBF")) header.remove_prefix(3);
  if (header.starts_with('#')) header.remove_prefix(1);
  const std::vector<std::string> names = names_in(header, separator);
  const auto is_known = [](const std::string& name) { return reading_of(name).has_value() || names_remarks(name); };
  return are_of_run(names) && (separator != ' ' || std::ranges::all_of(names, is_known));
}

std::string metric_of_path(const std::string& path) {
  std::string name = std::filesystem::path(path).stem().string();
  if (name.ends_with(".csv") || name.ends_with(".json")) name = std::filesystem::path(name).stem().string();
  constexpr std::string_view folder = "/metrics/";
  if (const std::size_t at = path.rfind(folder); at != std::string::npos) return path.substr(at + folder.size());
  // TensorBoard: run-NAME-tag-TAG.
  constexpr std::string_view tag = "tag-";
  if (const std::size_t at = name.rfind(tag); at != std::string::npos) return name.substr(at + tag.size());
  return name;
}

run_table read_csv_table(csv_reader rows, char separator, const told_columns& told, const read_limits& limits) {
  constexpr std::array forms{"CSV", "CSV with semicolons", "TSV", "Markdown", "columns of text"};
  const auto form = static_cast<std::size_t>(std::ranges::find(separators, separator) - separators.begin());
  table_builder table(rows.path(), forms[form], told, limits);
  if (separator == ' ' && names_remarks(rows.header().back())) rows.last_takes_rest();
  const bool is_of_one = lacks_name(rows.header());
  struct field {
    csv_reader::column at;
    std::uint32_t into = 0;
  };
  std::vector<field> fields;
  for (std::size_t i = 0; i < rows.header().size(); ++i) {
    std::string name = rows.header()[i];
    if (name.empty()) name = "column " + std::to_string(i + 1);
    const auto reading = reading_of(name);
    const bool is_told = std::ranges::any_of(told, [&](const auto& t) { return t.second == name; });
    if (is_of_one && !is_told && reading && reading->means == column_meaning::value) name = metric_of_path(rows.path());
    if (reading && std::ranges::find(fields, name, [](const field& f) { return f.at.name; }) != fields.end())
      throw input_error(rows.path(), "line " + std::to_string(rows.line()),
                        "the column " + in_quotes(name) + " appears twice");
    fields.push_back({{i, name}, table.column(name)});
  }
  std::uint64_t headers = 0;
  std::string above;  // the last field of the row before
  bool any = false;
  while (rows.next()) {
    any = true;
    if (rows.repeats_header()) {
      ++headers;
      continue;
    }
    if (rows.field_count() < fields.size()) {
      if (!rows.is_cut())
        rows.fail("has " + std::to_string(rows.field_count()) + " fields, but the header names " +
                  std::to_string(fields.size()));
      table.add_note("the last row was cut short: left out");
      break;
    }
    const std::string& last = rows.text(fields.back().at);
    const bool is_cut = rows.is_cut() && may_be_cut(last, above);
    above = last;
    if (is_cut) {
      table.add_note(
          "the last row has no line break and may be cut, as its last field is shorter than the one above: " +
          in_quotes(last) + "; left out");
      break;
    }
    table.begin(rows.line());
    for (const field& f : fields) table.put(f.into, rows.text(f.at), separator == ';');
    table.end();
  }
  if (!any) throw input_error(rows.path(), "", "holds no rows below its header");
  if (headers > 0)
    table.add_note("the names of the columns are repeated " + std::to_string(headers) +
                   (headers == 1 ? " time" : " times") + ", as where a run went on");
  return table.take();
}

}  // namespace ulp::io
