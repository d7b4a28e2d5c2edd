#include "excerpt.hpp"

#include <algorithm>
#include <span>

#include "places.hpp"
#include "series.hpp"

namespace ulp {
namespace {

constexpr std::uint64_t enough = 20;

// From the least value to the last one, where that is clearly above it, and the last third above the first.
std::optional<short_course> rise_of(const std::vector<step_survey>& steps, std::span<const point> points,
                                    double noticeable) {
  if (points.size() < 2) return std::nullopt;
  const std::size_t third = std::max<std::size_t>(1, points.size() / 3);
  const auto least = std::ranges::min_element(points, {}, &point::value);
  const auto largest = std::ranges::max_element(points, {}, &point::value);
  const double after = points.back().value;
  if (!(least->value > 0) || after < noticeable * least->value ||
      median_of(points.last(third)) <= median_of(points.first(third)))
    return std::nullopt;
  return short_course{least->value, steps[least->step].key.step, after, largest->value, steps[largest->step].key.step};
}

}  // namespace

std::optional<excerpt> excerpt_of(const std::vector<step_survey>& steps, std::uint64_t told) {
  constexpr double noticeable_loss = 1.2;
  constexpr double noticeable_norm = 2;
  const std::vector<point> losses = losses_of(steps, steps.size());
  const std::vector<point> norms = sizes_of(steps, steps.size(), size_kept(steps));
  const std::uint64_t points = std::max(losses.size(), norms.size());
  // Where only falls of a scale tell of overflow, they are the only steps that tell.
  const bool tells_of_lost_alone = told == static_cast<std::uint64_t>(std::ranges::count_if(steps, is_lost));
  excerpt found{.steps = points == 0 ? told : told == 0 || tells_of_lost_alone ? points : std::min(told, points)};
  if (found.steps >= enough) return std::nullopt;
  found.loss = rise_of(steps, losses, noticeable_loss);
  found.norm = rise_of(steps, norms, noticeable_norm);
  return found;
}

}  // namespace ulp
