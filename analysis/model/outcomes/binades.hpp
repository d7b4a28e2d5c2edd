// A cell table binade by binade: its cells, and what is known of the sum of its values.
#ifndef ULP_MODEL_OUTCOMES_BINADES_HPP
#define ULP_MODEL_OUTCOMES_BINADES_HPP

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include <ulp/model/cells/cell_table.hpp>
#include <ulp/model/outcomes/expectation.hpp>

namespace ulp {

// The cells of one sign and exponent.
struct binade {
  int exponent = 0;
  cell_sign sign = cell_sign::positive;
  std::span<const cell> cells;
  const binade_sums* sums = nullptr;  // where the table has exact ones
  double count = 0;
};

template <typename F>
void for_each_binade(const cell_table& table, F&& f) {
  auto sums = table.sums.begin();
  for (auto first = table.cells.begin(); first != table.cells.end();) {
    binade o{.exponent = first->exponent, .sign = first->sign};
    auto last = first;
    for (; last != table.cells.end() && last->sign == o.sign && last->exponent == o.exponent; ++last)
      o.count += static_cast<double>(last->count);
    o.cells = {first, last};
    if (table.has_sums) o.sums = &*sums++;
    f(o);
    first = last;
  }
}

// The magnitudes that a cell of the table may hold, from low to high; its extremes narrow them.
inline value_range magnitudes_of(const cell& c, const cell_table& table) {
  const cell_range range = range_of(c);
  const double low = std::max(double_from(range.low), table.min_abs > 0 ? table.min_abs : 0);
  const double high =
      std::min(double_from(range.high), table.max_abs > 0 ? table.max_abs : std::numeric_limits<double>::infinity());
  return {low, std::max(low, high)};
}

// Sums of magnitudes and of squares, in units of the values: exact up to the cut of significands.
struct binade_total {
  value_range sum;
  value_range squares;
};
inline binade_total total_of(const binade& o, bool cut_significands) {
  const auto sum = static_cast<double>(o.sums->significands);
  const auto squares = static_cast<double>(o.sums->squares);
  const double sum_high = cut_significands ? sum + o.count : sum;
  const double squares_high = cut_significands ? squares + 2 * sum + o.count : squares;
  const int unit = o.exponent - 23;
  return {{std::ldexp(sum, unit), std::ldexp(sum_high, unit)},
          {std::ldexp(squares, 2 * unit), std::ldexp(squares_high, 2 * unit)}};
}

// What both say.
inline value_range both(const value_range& a, const value_range& b) {
  const double low = std::max(a.low, b.low);
  return {low, std::max(low, std::min(a.high, b.high))};
}

}  // namespace ulp

#endif
