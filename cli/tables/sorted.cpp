#include "sorted.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <variant>
#include <vector>

#include "command.hpp"
#include "suggestions.hpp"

namespace ulp::cli {
namespace {

constexpr double nothing = -std::numeric_limits<double>::infinity();

// What rows are compared by; NaN for what is no number.
double rank_of(const table_value& value) {
  const double rank = std::visit(
      [](const auto& v) {
        using type = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<type, std::monostate>)
          return nothing;
        else if constexpr (std::is_same_v<type, std::int64_t>)
          return static_cast<double>(v);
        else if constexpr (std::is_same_v<type, double>)
          return std::isnan(v) ? nothing : v;
        else if constexpr (std::is_same_v<type, count_range>)
          return static_cast<double>(v.high);
        else if constexpr (std::is_same_v<type, value_range>)
          return std::isnan(v.high) ? nothing : v.high;
        else if constexpr (std::is_same_v<type, expected_count>)
          return std::isnan(v.mean.high) ? nothing : v.mean.high;
        else
          return not_known;
      },
      value);
  return rank;
}

// Where all rows have a number or nothing, and not all nothing.
bool is_number(const table& of, std::size_t column) {
  const auto rank = [&](const auto& row) { return rank_of(row[column]); };
  return std::ranges::none_of(
             of.rows, [](double r) { return std::isnan(r); }, rank) &&
         std::ranges::any_of(
             of.rows, [](double r) { return r > nothing; }, rank);
}

}  // namespace

void check_key(const table& of, const std::string& key) {
  std::vector<std::string> keys;
  for (const table_column& c : of.columns)
    if (!c.key.empty()) keys.push_back(c.key);
  if (std::ranges::find(keys, key) == keys.end())
    throw usage_error(fmt::format("--sort: no column has the key '{}'{} (of {})", key, did_you_mean(key, keys),
                                  fmt::join(keys, ", ")));
}

void sort_rows(table& of, const std::string& key) {
  check_key(of, key);
  const auto found = std::ranges::find(of.columns, key, &table_column::key);
  const auto column = static_cast<std::size_t>(found - of.columns.begin());
  if (!is_number(of, column))
    throw usage_error(fmt::format("--sort: '{}' has no numbers here; sort by another key", key));
  std::ranges::stable_sort(of.rows, std::ranges::greater{}, [&](const auto& row) { return rank_of(row[column]); });
}

std::uint64_t cut_rows(table& of, std::uint64_t most) {
  if (most == 0 || of.rows.size() <= most) return 0;
  const std::uint64_t gone = of.rows.size() - most;
  of.rows.resize(most);
  return gone;
}

}  // namespace ulp::cli
