#include "format_matrix.hpp"

#include <array>
#include <cmath>
#include <cstdio>

#include <ulp/formats/catalog.hpp>

namespace ulp::gui {
namespace {

constexpr std::array formats{"float16",   "cbfloat16",   "bfloat16",      "tf32",
                             "dlfloat16", "float8_e5m2", "float8_e4m3fn", "float8_e4m3fnuz"};
constexpr int lowest = -60;
constexpr int highest = 127;

std::string percent(const outcome_counts& c, const count_range& of) {
  const auto nonzero = static_cast<double>(c.numel - c.zero - c.nonfinite);
  if (!(nonzero > 0)) return "-";
  const auto text = [&](std::uint64_t n) {
    std::array<char, 32> digits{};
    std::snprintf(digits.data(), digits.size(), "%.3g", 100 * static_cast<double>(n) / nonzero);
    return std::string{digits.data()};
  };
  return of.exact() ? text(of.low) + " %" : text(of.low) + " to " + text(of.high) + " %";
}

}  // namespace

table format_matrix(const loaded_run& run, const tensor_mask& shown, double scale, double epsilon,
                    const background::report& told) {
  tensor_tables all;
  for (const tensor_tables& column : run.picture.columns().columns()) {
    told(0);
    all.merge(column);
  }
  table t;
  t.columns = {{"format", "format"},
               {"underflow_at_1", "underflow at 1", false, true},
               {"overflow_at_1", "overflow at 1", false, true},
               {"underflow_at_scale", "underflow at 2^" + shortest(std::log2(scale)), false, true},
               {"overflow_at_scale", "overflow", false, true},
               {"lowest_scale_log2", "least scale, log2"},
               {"highest_scale_log2", "greatest, log2"},
               {"verdict", "verdict"}};
  for (std::size_t i = 0; i < formats.size(); ++i) {
    told(static_cast<double>(i) / formats.size());
    const format to = *find_format(formats.at(i));
    rounding mode;
    mode.direction = own_direction(to);
    const auto at = [&](double s) { return all.outcomes(shown, to, mode, s); };
    const outcome_counts one = at(1);
    const outcome_counts scaled = at(scale);
    const auto nonzero = static_cast<double>(one.numel - one.zero - one.nonfinite);
    // Underflow falls and overflow rises with the scale: both are found by halving.
    const auto least = [&](auto&& holds) {
      int low = lowest;
      int high = highest + 1;
      while (low < high) {
        const int middle = low + (high - low) / 2;
        (holds(at(std::ldexp(1.0, middle))) ? high : low) = holds(at(std::ldexp(1.0, middle))) ? middle : middle + 1;
      }
      return low;
    };
    const int from =
        least([&](const outcome_counts& c) { return static_cast<double>(c.underflow.high) <= epsilon * nonzero; });
    const int until = least([&](const outcome_counts& c) { return c.overflow.high > 0; }) - 1;
    const std::string verdict = nonzero == 0              ? ""
                                : from <= 0 && until >= 0 ? "no loss scale needed"
                                : from <= until           ? "a static scale does"
                                                          : "no static scale does";
    const auto power = [](int k) { return k > highest || k < lowest ? table_value{} : table_value{std::int64_t{k}}; };
    t.rows.push_back({std::string{formats.at(i)}, percent(one, one.underflow), percent(one, one.overflow),
                      percent(scaled, scaled.underflow), percent(scaled, scaled.overflow), power(from), power(until),
                      verdict});
  }
  return t;
}

}  // namespace ulp::gui
