#include "loss_scales.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ulp {
namespace {

// So many steps at its least make a floor.
constexpr std::uint64_t few = 20;

// How the scale came down to its least, and what the steps there hold.
struct descent {
  scale_at_floor found;
  double last = not_known;
  std::uint64_t falls = 0;  // to ever lower scales
};

descent descent_of(const std::vector<step_survey>& steps, std::size_t begin) {
  descent d{.found = {.floor = std::numeric_limits<double>::infinity()}};
  scale_at_floor& f = d.found;
  double greatest = 0;
  for (std::size_t i = begin; i < steps.size(); ++i) {
    const step_survey& s = steps[i];
    if (!(s.loss_scale > 0) || !std::isfinite(s.loss_scale)) continue;
    d.last = s.loss_scale;
    greatest = std::max(greatest, s.loss_scale);
    if (s.loss_scale < f.floor) {
      f = {.at_floor = {s.key.step, s.key.step, 0}, .floor = s.loss_scale, .greatest = greatest};
      ++d.falls;
    }
    if (s.loss_scale > f.floor) continue;
    f.at_floor.last = s.key.step;
    ++f.at_floor.steps;
    f.lost += is_lost(s) ? 1 : 0;
  }
  return d;
}

}  // namespace

std::optional<high_initial_scale> search_of(const std::vector<step_survey>& steps, const lost_place& place) {
  constexpr double many_falls = 0x1p5;
  constexpr std::size_t long_search = 5;
  constexpr std::int64_t early = 100;
  constexpr double usual_start = 0x1p17;
  const step_survey& begin = steps[place.first];
  const double first = scale_of(begin);
  const double then = scale_of(steps[place.last + 1]);
  const double last = scale_of(steps[place.last]);
  const high_initial_scale found{.skipped = {begin.key.step, steps[place.last].key.step, place.length()},
                                 .first_scale = first,
                                 .is_at_most = std::isnan(begin.loss_scale),
                                 .last_scale = last,
                                 .fitting_scale = then};
  const bool falls = then < first || (std::isnan(then) && last < first);
  if (place.losses > 0) return std::nullopt;
  if (place.first == 0) {
    // A recording of every n-th step has few of a search.
    const bool is_long = place.length() >= long_search || first >= many_falls * then;
    const bool is_start = begin.key.step <= early || first > usual_start;
    const bool is_unlogged = std::isnan(first) && std::isnan(then) && begin.found_inf;
    return is_long && is_start && (falls || is_unlogged) ? std::optional{found} : std::nullopt;
  }
  // No scaler grows the scale so much in so few steps: it was made anew.
  constexpr double far_above = 0x1p3;
  const step_survey& before = steps[place.first - 1];
  const double held = scale_of(before);
  const auto gap = static_cast<double>(begin.key.step - before.key.step);
  const bool is_jump = place.length() > 1 && held > 0 && first >= far_above * held && std::log2(first / held) > gap;
  if (!is_jump || !falls) return std::nullopt;
  high_initial_scale jump = found;
  jump.scale_before = held;
  return jump;
}

std::optional<scale_at_floor> floor_of(const std::vector<step_survey>& steps, std::size_t begin) {
  constexpr double deep = 0x1p10;
  constexpr double near = 4;  // it may try to rise
  const auto [f, last, falls] = descent_of(steps, begin);
  const bool stays = f.at_floor.steps >= few && 10 * f.at_floor.steps >= steps.size() && last <= near * f.floor;
  if (!(f.greatest >= deep * f.floor) || !stays || 2 * f.lost >= f.at_floor.steps) return std::nullopt;
  return f;
}

std::optional<scale_at_floor> high_floor_of(const std::vector<step_survey>& steps) {
  // The first scale counts as one; a scale that somebody lowered by hand falls once.
  constexpr std::uint64_t several = 3;
  auto [f, last, falls] = descent_of(steps, 0);
  const bool stays = f.at_floor.steps >= few && 2 * f.at_floor.steps >= steps.size() && last == f.floor;
  if (!std::isfinite(f.floor) || falls < several || !stays || 2 * f.lost < f.at_floor.steps) return std::nullopt;
  f.is_too_high = true;
  return f;
}

}  // namespace ulp
