#include "initial_scale.hpp"

#include <algorithm>
#include <cmath>

#include "evidence.hpp"

namespace ulp {

namespace {

// The first that is known of the finite steps from one on.
double later_scale(const std::vector<step_survey>& steps, std::size_t from) {
  for (std::size_t i = from; i < steps.size() && !is_lost(steps[i]); ++i)
    if (!std::isnan(steps[i].loss_scale)) return steps[i].loss_scale;
  return not_known;
}

std::size_t lost_within(const std::vector<step_survey>& steps, std::size_t first, std::size_t last) {
  const auto at = [&](std::size_t i) { return steps.begin() + static_cast<std::ptrdiff_t>(i); };
  return static_cast<std::size_t>(std::count_if(at(first), at(last + 1), is_lost));
}

}  // namespace

lost_place with_assumed_after(const std::vector<step_survey>& steps, const std::vector<lost_place>& places,
                              std::size_t index) {
  lost_place all = places[index];
  for (std::size_t i = index + 1; i < places.size(); ++i) {
    const lost_place& next = places[i];
    const std::size_t finite = next.first - all.last - 1;
    const bool is_assumed = !steps[next.first].bound_is_certain;
    const bool falls_on = scale_of(steps[next.first]) < scale_of(steps[all.last]);
    const bool ends = next.last + 1 < steps.size();
    const bool is_near = finite <= lost_within(steps, all.first, all.last);
    if (!is_assumed || !falls_on || !ends || !is_near || next.losses > 0) break;
    all.last = next.last;
    all.has_infinities = all.has_infinities || next.has_infinities;
  }
  return all;
}

std::optional<initial_scale> search_of(const std::vector<step_survey>& steps, const lost_place& place) {
  constexpr double many_falls = 0x1p5;
  constexpr std::size_t long_search = 5;
  constexpr std::int64_t early = 100;
  constexpr double usual_start = 0x1p17;
  const step_survey& begin = steps[place.first];
  const double first = scale_of(begin);
  const double then = scale_of(steps[place.last + 1]);
  const double last = scale_of(steps[place.last]);
  const std::size_t lost = lost_within(steps, place.first, place.last);
  initial_scale found{.skipped = {begin.key.step, steps[place.last].key.step, lost},
                      .first_scale = first,
                      .is_at_most = std::isnan(begin.loss_scale),
                      .last_scale = last,
                      .fitting_scale = then};
  if (const double later = later_scale(steps, place.last + 1); std::isnan(then) && later < last) {
    found.fitting_scale = later;
    found.fits_later = true;
  }
  for (std::size_t i = place.first; i <= place.last; ++i)
    found.skipped.is_assumed = found.skipped.is_assumed || !steps[i].bound_is_certain;
  const bool falls = then < first || (std::isnan(then) && last < first);
  if (place.losses > 0) return std::nullopt;
  // Below one, and only assumed to end, it is no search.
  if (last < 1 && !steps[place.last].bound_is_certain) return std::nullopt;
  if (place.first == 0) {
    // A recording of every n-th step has few of a search.
    const bool is_long = lost >= long_search || first >= many_falls * then;
    const bool is_start = begin.key.step <= early || first > usual_start;
    const bool is_unlogged = std::isnan(first) && std::isnan(then) && begin.found_inf;
    return is_long && is_start && (falls || is_unlogged) ? std::optional{found} : std::nullopt;
  }
  // No scaler grows the scale so much in so few steps: it was made anew.
  constexpr double far_above = 0x1p3;
  const step_survey& before = steps[place.first - 1];
  const double held = scale_of(before);
  const auto gap = static_cast<double>(begin.key.step - before.key.step);
  // Of a step that had a scale of at most so much, the next one had half of it at most.
  const double least = found.is_at_most && place.length() > 1 ? scale_of(steps[place.first + 1]) : first;
  const bool is_jump = place.length() > 1 && held > 0 && least >= far_above * held && std::log2(least / held) > gap;
  if (!is_jump || !falls) return std::nullopt;
  initial_scale jump = found;
  jump.scale_before = held;
  return jump;
}

void examine_initial_scale(const evidence& e, std::vector<cause>& found) {
  if (e.initial) found.emplace_back(*e.initial);
  if (e.jump) found.emplace_back(*e.jump);
}

}  // namespace ulp
