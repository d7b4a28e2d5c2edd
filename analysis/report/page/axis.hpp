// Where the labels of an axis stand, and what they say.
#ifndef ULP_REPORT_PAGE_AXIS_HPP
#define ULP_REPORT_PAGE_AXIS_HPP

#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include <ulp/ask/columns/run_columns.hpp>

namespace ulp {

// The extremes of values; those that are not finite do not count.
struct extent {
  double low = not_known;
  double high = not_known;
  void see(double value) {
    if (!std::isfinite(value)) return;
    low = std::fmin(low, value);
    high = std::fmax(high, value);
  }
  [[nodiscard]] bool any() const { return !std::isnan(low); }
};

struct tick {
  double at = 0;  // in the unit of the axis
  std::string label;
};

// Round values from low to high, at most `most`, or at least `least_step` apart.
[[nodiscard]] std::vector<double> round_values(double low, double high, std::size_t most, double least_step = 0);

// Of an axis of columns, at x in columns: round steps; each column's own step where there are few of them.
[[nodiscard]] std::vector<tick> step_ticks(const std::vector<column_span>& spans);

// Of an axis of exponents of two, all whole.
[[nodiscard]] std::vector<tick> power_ticks(double low, double high, std::size_t most);

// An axis of values that is logarithmic or not.
struct value_axis {
  double low = 0;
  double high = 1;
  bool is_log = false;  // then low, high and ticks are log10
  std::vector<tick> ticks;

  [[nodiscard]] double place(double value) const;
};
// From the least to the greatest value, with some room around them, and at most so many labels. A logarithmic one takes
// positive values only.
[[nodiscard]] value_axis axis_of(double least, double greatest, bool is_log, std::size_t most = 6);
// Of counts up to the greatest, logarithmic, from a half on, so that a single value is seen.
inline constexpr double least_count = 0.5;
[[nodiscard]] value_axis count_axis(double greatest);

}  // namespace ulp

#endif
