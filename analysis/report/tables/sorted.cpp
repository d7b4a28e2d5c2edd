#include <ulp/report/tables/sorted.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string_view>
#include <type_traits>
#include <ulp/ask/questions/typed_values.hpp>
#include <utility>
#include <variant>
#include <vector>

namespace ulp {
namespace {

constexpr double no_rank = -std::numeric_limits<double>::infinity();

// Keys of which less is worse.
constexpr std::array<std::string_view, 3> qualities{"sqnr_db", "sqnr_db_low", "cosine"};

// What rows are compared by; NaN for what is no number.
double sort_rank(const table_value& value) {
  const double rank = std::visit(
      [](const auto& v) {
        using type = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<type, std::monostate>)
          return no_rank;
        else if constexpr (std::is_same_v<type, std::int64_t>)
          return static_cast<double>(v);
        else if constexpr (std::is_same_v<type, double>)
          return std::isnan(v) ? no_rank : v;
        else if constexpr (std::is_same_v<type, count_range>)
          return static_cast<double>(v.high);
        else if constexpr (std::is_same_v<type, value_range>)
          return std::isnan(v.high) ? no_rank : v.high;
        else if constexpr (std::is_same_v<type, expected_count>)
          return std::isnan(v.mean.high) ? no_rank : v.mean.high;
        else
          return not_known;
      },
      value);
  return rank;
}

// Where all rows have a number or nothing, and not all nothing.
bool holds_numbers(const table& of, std::size_t column) {
  const auto rank = [&](const auto& row) { return sort_rank(row[column]); };
  return std::ranges::none_of(
             of.rows, [](double r) { return std::isnan(r); }, rank) &&
         std::ranges::any_of(
             of.rows, [](double r) { return r > no_rank; }, rank);
}

void check_key(const table& of, const std::string& key) {
  std::vector<std::string> keys;
  for (const table_column& c : of.columns)
    if (!c.key.empty()) keys.push_back(c.key);
  if (std::ranges::find(keys, key) == keys.end())
    throw std::invalid_argument(fmt::format("--sort: no column has the key '{}'{} (of {})", key,
                                            did_you_mean(key, keys), fmt::join(keys, ", ")));
}

void sort_rows(table& of, const std::string& key) {
  check_key(of, key);
  const auto found = std::ranges::find(of.columns, key, &table_column::key);
  const auto column = static_cast<std::size_t>(found - of.columns.begin());
  if (!holds_numbers(of, column))
    throw std::invalid_argument(fmt::format("--sort: '{}' has no numbers here; sort by another key", key));
  const bool is_quality = std::ranges::find(qualities, key) != qualities.end();
  std::ranges::stable_sort(of.rows, std::ranges::greater{}, [&](const auto& row) {
    const double rank = sort_rank(row[column]);
    const bool is_number = rank != no_rank;
    return std::pair{is_number, is_quality && is_number ? -rank : rank};
  });
}

}  // namespace

void check_order(const table& of, const row_order& order) {
  if (!order.sort.empty()) check_key(of, order.sort);
}

void arrange(table& of, const row_order& order, listener& to) {
  if (!order.sort.empty()) sort_rows(of, order.sort);
  if (order.top == 0 || of.rows.size() <= order.top) return;
  const std::uint64_t left_out = of.rows.size() - order.top;
  of.rows.resize(order.top);
  to.note(fmt::format("--top {}: {} of {} {} left out", order.top, grouped(left_out),
                      count_text(left_out + order.top, "row"), left_out == 1 ? "is" : "are"));
}

}  // namespace ulp
