#include "axis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "typeset.hpp"

namespace ulp {
namespace {

constexpr std::size_t few_columns = 10;

// In columns: the middle of a column that is one step, so that its label stands below it.
double place_of(double step, const std::vector<column_span>& spans) {
  const auto after =
      std::ranges::find_if(spans, [&](const column_span& s) { return static_cast<double>(s.first_step) > step; });
  const auto i = static_cast<std::size_t>(after - spans.begin()) - 1;
  const auto first = static_cast<double>(spans[i].first_step);
  if (spans[i].first_step == spans[i].last_step && step == first) return static_cast<double>(i) + 0.5;
  const double next =
      after != spans.end() ? static_cast<double>(after->first_step) : static_cast<double>(spans[i].last_step) + 1;
  return static_cast<double>(i) + (step - first) / (next - first);
}

// 1, 2 and 5 times powers of ten, where a logarithmic axis is short.
std::vector<tick> fine_log_ticks(double low, double high) {
  std::vector<tick> ticks;
  for (double decade = std::floor(low); decade <= high; ++decade)
    for (const double digit : {1.0, 2.0, 5.0}) {
      const double at = decade + std::log10(digit);
      if (at >= low && at <= high) ticks.push_back({at, fmt::format("{:g}", digit * std::pow(10, decade))});
    }
  return ticks;
}

std::vector<tick> log_ticks(double low, double high, std::size_t most) {
  constexpr double short_axis = 0.7;  // decades
  if (high - low < short_axis) {
    std::vector<tick> ticks;
    for (const double value : round_values(std::pow(10, low), std::pow(10, high), most))
      if (value > 0) ticks.push_back({std::log10(value), fmt::format("{:g}", value)});
    return ticks;
  }
  if (std::vector<tick> fine = fine_log_ticks(low, high); fine.size() <= most) return fine;
  constexpr double plain = 3;  // up to 1000 and down to 0.001 they are written out
  const std::vector<double> decades = round_values(low, high, most, 1);
  const bool written_out = std::ranges::all_of(decades, [](double d) { return std::fabs(d) <= plain; });
  std::vector<tick> ticks;
  for (const double d : decades)
    ticks.push_back({d, written_out ? fmt::format("{:g}", std::pow(10, d)) : power_of_ten(d)});
  return ticks;
}

}  // namespace

std::vector<double> round_values(double low, double high, std::size_t most, double least_step) {
  std::vector<double> values;
  if (!(high > low) || most == 0) return values;
  const double rough = std::max((high - low) / static_cast<double>(most), least_step);
  const double magnitude = std::pow(10, std::floor(std::log10(rough)));
  double step = 10 * magnitude;
  constexpr double tiny = 1e-9;
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * magnitude * (1 + tiny) >= rough) {
      step = factor * magnitude;
      break;
    }
  // Each from its number: sums of steps would drift.
  for (double n = std::ceil(low / step - tiny); n * step <= high; ++n) values.push_back(n * step + 0.0);
  return values;
}

std::vector<tick> step_ticks(const std::vector<column_span>& spans) {
  std::vector<tick> ticks;
  if (spans.empty()) return ticks;
  if (spans.size() <= few_columns) {
    for (std::size_t i = 0; i < spans.size(); ++i)
      ticks.push_back({static_cast<double>(i) + 0.5, std::to_string(spans[i].first_step)});
    return ticks;
  }
  constexpr std::size_t most = 10;
  const double nearest = static_cast<double>(spans.size()) / 14;  // that labels do not touch, in columns
  const auto low = static_cast<double>(spans.front().first_step);
  for (const double step : round_values(low, static_cast<double>(spans.back().last_step), most, 1)) {
    if (step < low) continue;  // of steps beyond 10^9, by rounding
    const double at = place_of(step, spans);
    if (ticks.empty() || at - ticks.back().at >= nearest) ticks.push_back({at, fmt::format("{:.0f}", step)});
  }
  return ticks;
}

std::vector<tick> power_ticks(double low, double high, std::size_t most) {
  std::vector<tick> ticks;
  for (const double exponent : round_values(low, high, most, 1)) ticks.push_back({exponent, power_of_two(exponent)});
  return ticks;
}

double value_axis::place(double value) const { return is_log ? std::log10(value) : value; }

value_axis axis_of(double least, double greatest, bool is_log, std::size_t most) {
  value_axis axis{.is_log = is_log};
  const double low = axis.place(least);
  const double high = axis.place(greatest);
  constexpr double room = 0.06;
  const double around = high > low ? room * (high - low) : is_log ? 0.5 : std::max(std::fabs(high) / 2, 1e-300);
  axis.low = low - around;
  axis.high = high + around;
  if (!is_log && least >= 0 && axis.low < 0) axis.low = 0;
  if (is_log)
    axis.ticks = log_ticks(axis.low, axis.high, most);
  else
    for (const double value : round_values(axis.low, axis.high, most))
      axis.ticks.push_back({value, fmt::format("{:g}", value)});
  return axis;
}

value_axis count_axis(double greatest) {
  value_axis axis = axis_of(least_count, greatest, true);
  axis.low = std::log10(least_count);
  std::erase_if(axis.ticks, [](const tick& t) { return t.at < 0; });
  return axis;
}

}  // namespace ulp
