#include <ulp/report/tables/table.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ulp/io/bytes/printable.hpp>

#include "table_json.hpp"
#include "tables/overloaded.hpp"

namespace ulp {
namespace {

// In a few digits, whole ones with separators.
std::string short_text(double x) {
  constexpr double many = 1000;
  constexpr double most = 1e15;
  return x >= many && x < most ? grouped(static_cast<std::uint64_t>(std::llround(x))) : fmt::format("{:.4g}", x);
}

// Of sums that are not known.
bool is_nothing(const value_range& r) { return std::isnan(r.low) && std::isnan(r.high); }

std::string short_text(const value_range& r) {
  if (is_nothing(r)) return "-";
  return ends_text(short_text(r.low), short_text(r.high));
}

bool is_number(const table_value& v) { return v.index() != 0 && !std::holds_alternative<std::string>(v); }

std::string text_of(const table_value& value) {
  return std::visit(
      overloaded{[](std::monostate) { return std::string{"-"}; }, [](bool b) { return std::string{b ? "yes" : "no"}; },
                 [](std::int64_t n) { return std::to_string(n); },
                 [](double x) { return std::isnan(x) ? std::string{"-"} : fmt::format("{:.6g}", x); },
                 [](const std::string& s) { return printable(s); },
                 [](const count_range& c) { return ends_text(grouped(c.low), grouped(c.high)); },
                 [](const value_range& r) { return short_text(r); },
                 [](const expected_count& c) {
                   return short_text(c.mean) + (c.variance.high == 0 ? "" : " ± " + short_text(c.deviation()));
                 },
                 [](const named_values& named) { return to_json(named); }},
      value);
}

std::string quoted(const std::string& s) {
  if (s.find_first_of(",\"\n\r") == std::string::npos) return s;
  std::string result = "\"";
  for (const char c : s) result += c == '"' ? "\"\"" : std::string(1, c);
  return result + "\"";
}

std::string csv_of(const table_value& value) {
  return std::visit(overloaded{[](std::monostate) { return std::string{}; },
                               [](bool b) { return std::string{b ? "1" : "0"}; },
                               [](std::int64_t n) { return std::to_string(n); },
                               [](double x) { return std::isnan(x) ? std::string{} : shortest(x); },
                               [](const std::string& s) { return quoted(s); },
                               [](const count_range& c) { return std::to_string(c.low); },
                               [](const value_range& r) { return is_nothing(r) ? "" : shortest(r.low); },
                               [](const expected_count& c) { return shortest(c.mean.low); },
                               [](const named_values& named) { return quoted(to_json(named)); }},
                    value);
}

// The upper end.
std::string high_of(const table_value& value) {
  if (const auto* const c = std::get_if<count_range>(&value)) return std::to_string(c->high);
  if (const auto* const r = std::get_if<value_range>(&value)) return is_nothing(*r) ? "" : shortest(r->high);
  if (const auto* const e = std::get_if<expected_count>(&value)) return shortest(e->mean.high);
  return csv_of(value);
}

// Whether both ends are one.
bool is_decided(const table_value& value) {
  if (const auto* const c = std::get_if<count_range>(&value)) return c->exact();
  if (const auto* const r = std::get_if<value_range>(&value)) return is_nothing(*r) || r->exact();
  if (const auto* const e = std::get_if<expected_count>(&value)) return e->mean.exact();
  return true;
}

bool has_two_columns(const table& t, std::size_t i) {
  const range_keys range = t.columns[i].range;
  return range == range_keys::both ||
         (range == range_keys::where_open &&
          !std::ranges::all_of(t.rows, [&](const auto& row) { return is_decided(row[i]); }));
}

}  // namespace

std::string ends_text(const std::string& low, const std::string& high) {
  return low == high ? low : "[" + low + ", " + high + "]";
}

std::string percent_number(double share) {
  std::string text = fmt::format("{:.3g}", 100 * share);
  for (int digits = 4; share < 1 && text == "100"; ++digits) text = fmt::format("{:.{}g}", 100 * share, digits);
  return text;
}

std::string percent_text(const value_range& share) {
  return ends_text(percent_number(share.low), percent_number(share.high)) + " %";
}

table table_of_one(const std::vector<named_value>& values) {
  table t;
  std::vector<table_value>& row = t.rows.emplace_back();
  for (const named_value& v : values) {
    t.columns.push_back({.key = v.name, .title = {}});
    row.push_back(v.value);
  }
  return t;
}

table_value value_if(bool known, table_value value) { return known ? std::move(value) : table_value{}; }

table_value integer(std::uint64_t n) { return static_cast<std::int64_t>(n); }

count_range exactly(std::uint64_t n) { return {n, n}; }

// Of UTF-8 text, each character taken for one column.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

std::string to_text(const table& t) {
  std::vector<std::size_t> shown;
  const auto holds_something = [&](std::size_t i) {
    return t.rows.empty() ||
           std::any_of(t.rows.begin(), t.rows.end(), [&](const auto& row) { return text_of(row[i]) != "-"; });
  };
  for (std::size_t i = 0; i < t.columns.size(); ++i)
    if (!t.columns[i].title.empty() && holds_something(i)) shown.push_back(i);
  std::vector<std::vector<std::string>> cells;
  std::vector<std::size_t> widths;
  std::vector<bool> right;
  for (const std::size_t i : shown) {
    widths.push_back(width_of(printable(t.columns[i].title)));
    right.push_back(t.columns[i].align == alignment::right ||
                    (std::any_of(t.rows.begin(), t.rows.end(), [&](const auto& row) { return is_number(row[i]); }) &&
                     std::none_of(t.rows.begin(), t.rows.end(),
                                  [&](const auto& row) { return std::holds_alternative<std::string>(row[i]); })));
  }
  for (const auto& row : t.rows) {
    std::vector<std::string> line;
    for (std::size_t j = 0; j < shown.size(); ++j) {
      line.push_back(text_of(row[shown[j]]));
      widths[j] = std::max(widths[j], width_of(line.back()));
    }
    cells.push_back(std::move(line));
  }
  std::string out;
  const auto write = [&](auto&& cell_at) {
    std::string line;
    for (std::size_t j = 0; j < shown.size(); ++j) {
      if (j > 0) line += "  ";
      line += right[j] ? fmt::format("{:>{}}", cell_at(j), widths[j]) : fmt::format("{:<{}}", cell_at(j), widths[j]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  };
  write([&](std::size_t j) { return printable(t.columns[shown[j]].title); });
  for (const auto& line : cells) write([&](std::size_t j) { return line[j]; });
  return out;
}

std::string to_cell(const table_value& value) { return text_of(value); }

std::string to_csv(const table& t) {
  std::vector<std::size_t> written;
  std::vector<bool> ranges(t.columns.size());
  std::string out;
  for (std::size_t i = 0; i < t.columns.size(); ++i) {
    const std::string& key = t.columns[i].key;
    if (key.empty()) continue;
    ranges[i] = has_two_columns(t, i);
    out +=
        (written.empty() ? "" : ",") + (ranges[i] ? quoted(key + "_low") + "," + quoted(key + "_high") : quoted(key));
    written.push_back(i);
  }
  out += "\n";
  for (const auto& row : t.rows) {
    for (const std::size_t i : written) {
      if (i != written.front()) out += ",";
      out += csv_of(row[i]);
      if (!ranges[i]) continue;
      out += "," + high_of(row[i]);
    }
    out += "\n";
  }
  return out;
}

std::string as_power(double x) {
  int exponent = 0;
  if (std::isfinite(x) && x > 0 && std::frexp(x, &exponent) == 0.5 && std::abs(exponent - 1) > 3)
    return "2^" + std::to_string(exponent - 1);
  return shortest(x);
}

std::string log2_text(double scale) {
  if (!(scale > 0) || !std::isfinite(scale)) return shortest(scale);
  return fmt::format("2^{:.2f}", std::floor(100 * std::log2(scale)) / 100);
}

std::string power_text(double log2) {
  return std::isfinite(log2) ? fmt::format("2^{:.2f}", log2) : std::isnan(log2) ? "-" : log2 < 0 ? "0" : "inf";
}

}  // namespace ulp
