#include "series.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ulp {
namespace {

// So many steps before one give its level.
constexpr std::size_t level_steps = 20;
constexpr std::size_t least_level_steps = 3;
constexpr double above_level = 3;

// What is finite before `end`.
template <typename Value>
std::vector<point> points_of(const std::vector<step_survey>& steps, std::size_t end, Value value) {
  std::vector<point> all;
  for (std::size_t i = 0; i < end; ++i)
    if (const double v = value(steps[i]); std::isfinite(v)) all.push_back({i, v});
  return all;
}

}  // namespace

double median(std::vector<double> values) {
  if (values.empty()) return not_known;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

double median_of(std::span<const point> points) {
  std::vector<double> values;
  for (const point& p : points) values.push_back(p.value);
  return median(std::move(values));
}

double level_before(std::span<const point> points, std::size_t i) {
  const std::size_t n = std::min(i, level_steps);
  return median_of(points.subspan(i - n, n));
}

std::optional<std::size_t> onset_of_growth(std::span<const point> points) {
  constexpr double above_few = 5;
  std::optional<std::size_t> onset;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = points.size(); i-- > 1;) {
    least = std::min(least, points[i].value);
    const double level = level_before(points, i);
    if (level > 0 && least > (i < least_level_steps ? above_few : above_level) * level) onset = i;
  }
  return onset;
}

point largest_from(std::span<const point> points, std::size_t i) {
  return std::ranges::max(points.subspan(i), {}, &point::value);
}

std::size_t index_from(std::span<const point> points, std::size_t step) {
  return static_cast<std::size_t>(std::ranges::lower_bound(points, step, {}, &point::step) - points.begin());
}

std::vector<point> sizes_of(const std::vector<step_survey>& steps, std::size_t end, gradient_size of) {
  return points_of(steps, end, [&](const step_survey& s) {
    const double size = size_of(s, of);
    return size > 0 && !is_lost(s) ? size : not_known;
  });
}

std::vector<point> losses_of(const std::vector<step_survey>& steps, std::size_t end) {
  return points_of(steps, end, [](const step_survey& s) { return s.loss; });
}

std::optional<loss_course> loss_rise_of(std::span<const point> all) {
  constexpr std::size_t least_losses = 20;
  constexpr std::size_t most_window = 25;
  constexpr double noise = 6;
  if (all.size() < least_losses) return std::nullopt;
  const std::size_t window = std::clamp<std::size_t>(all.size() / 20, 3, most_window);
  const double initial = median_of(all.first(window));
  const double final = median_of(all.last(2 * window));
  double best = initial;
  std::size_t best_end = window;
  for (std::size_t end = window; end <= all.size(); ++end) {
    const double level = median_of(all.subspan(end - window, window));
    if (level < best) {
      best = level;
      best_end = end;
    }
  }
  std::vector<double> steps_of_loss;
  for (std::size_t i = best_end - window + 1; i < best_end; ++i)
    steps_of_loss.push_back(std::abs(all[i].value - all[i - 1].value));
  const double rise = final - best;
  const double usual = noise * median(std::move(steps_of_loss));
  if (!(initial > best) || !(rise >= (initial - best) / 2) || !(rise > usual)) return std::nullopt;
  const double noticed = std::min(rise / 4, std::max((initial - best) / 4, usual));
  std::size_t onset = all.size();
  while (onset > best_end - window && all[onset - 1].value > best + noticed) --onset;
  if (onset == all.size()) return std::nullopt;
  constexpr double nearly = 0.9;
  constexpr double much_lower = 0.7;
  const bool is_back = initial > 0 && best <= much_lower * initial && final >= nearly * initial;
  return loss_course{all[onset].step, best, final, is_back};
}

std::optional<loss_course> never_falls(std::span<const point> losses) {
  constexpr std::size_t least_losses = 20;
  constexpr double clearly = 1.5;
  if (losses.size() < least_losses || !(losses.front().value > 0)) return std::nullopt;
  const std::span<const point> rest = losses.subspan(1);
  const bool is_above = std::ranges::all_of(rest, [&](const point& p) { return p.value > losses.front().value; });
  const double level = median_of(rest.last(rest.size() / 2));
  if (!is_above || level < clearly * losses.front().value) return std::nullopt;
  return loss_course{rest.front().step, losses.front().value, level, true};
}

}  // namespace ulp
