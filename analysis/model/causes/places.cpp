#include "places.hpp"

#include <algorithm>
#include <cmath>

namespace ulp {

bool is_lost(const step_survey& s) {
  if (s.lost > 0 || s.found_inf.value_or(false) || (s.known && !std::isfinite(s.max_abs))) return true;
  return s.tensors == 0 && (s.loss_is_lost || std::isinf(s.logged_norm));
}

bool has_lost_loss(const step_survey& s) { return s.loss_is_lost || (s.tensors == 0 && s.loss == 0 && is_lost(s)); }

bool has_finite_norm(const step_survey& s) {
  return s.tensors == 0 && s.loss_is_lost && !s.found_inf.value_or(false) && std::isfinite(s.logged_norm);
}

bool tells_of_overflow(const step_survey& s) {
  // A norm beside bounds that leave the step open is one that the log contradicts.
  const bool tells_norm = std::isfinite(s.logged_norm) && (!s.bounds() || s.bound_is_certain);
  return is_lost(s) || s.known || s.found_inf || tells_norm || s.loss_is_lost;
}

bool tells(const step_survey& s) {
  // Where a scaler is at work a finite loss says nothing of its overflows.
  return tells_of_overflow(s) || (std::isfinite(s.loss) && std::isnan(scale_of(s)));
}

double scale_of(const step_survey& s) {
  const double scale = std::isnan(s.loss_scale) && s.bounds() ? s.bounds()->scale_at_most() : s.loss_scale;
  return scale > 0 && std::isfinite(scale) ? scale : not_known;
}

std::vector<lost_place> lost_places_of(const std::vector<step_survey>& steps) {
  std::vector<lost_place> all;
  bool inside = false;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const step_survey& s = steps[i];
    const bool now = is_lost(s);
    // No scaler raises its scale after an overflow: between such steps others lie that the input does not hold.
    const bool is_higher = inside && s.loss_scale > steps[i - 1].loss_scale;
    if (now && (!inside || is_higher)) all.push_back({.first = i});
    inside = now;
    if (!now) continue;
    lost_place& place = all.back();
    place.last = i;
    place.losses += has_lost_loss(s) ? 1 : 0;
    place.has_infinities = place.has_infinities || s.with_infinities > 0 || std::isinf(s.max_abs);
    place.has_values = place.has_values || s.tensors > 0;
  }
  return all;
}

namespace {

// Far below what finite steps not long before were scaled with; 0 where none was.
double held_before(const std::vector<step_survey>& steps, std::size_t end) {
  constexpr std::size_t before = 50;
  constexpr double far_below = 0x1p-10;
  double held = 0;
  for (std::size_t i = end - std::min(end, before); i < end; ++i)
    if (!is_lost(steps[i]) && scale_of(steps[i]) > held) held = scale_of(steps[i]);
  return far_below * held;
}

}  // namespace

std::optional<lost_end> lost_end_of(const std::vector<step_survey>& steps, const std::vector<lost_place>& places) {
  // No search for a scale is that long (longest_search); with NaN alone, or down to a scale below one, it is none.
  constexpr std::size_t too_long = 30;
  constexpr std::size_t few = 5;
  if (places.empty() || places.back().last + 1 != steps.size()) return std::nullopt;
  const lost_place& last = places.back();
  lost_end end{last.first, last.length(), last.losses, last.has_infinities};
  if (last.losses == 0) {
    const bool is_nan = last.has_values && !last.has_infinities && last.length() >= few;
    const double scale = scale_of(steps.back());
    const bool has_scale = std::ranges::any_of(steps, [](const step_survey& s) { return !std::isnan(scale_of(s)); });
    // A single one at the scale 1 may be a batch at the floor of the policy, and so may more, where half as many went by before.
    const bool went_by = std::ranges::any_of(places.begin(), std::prev(places.end()), [&](const lost_place& p) {
      return scale_of(steps[p.first]) <= 1 && 2 * p.length() >= last.length() && !is_lost(steps[p.last + 1]);
    });
    const bool is_unscaled = scale < 1 || (scale == 1 && last.length() > 1 && !went_by);
    // Norms of a run that had gone well, with no scaler at work.
    const bool is_unscaled_log =
        !last.has_values && steps.back().known && !has_scale && last.length() >= few && last.first >= 2 * few;
    const bool is_long = last.length() >= too_long && (std::isnan(scale) || scale <= held_before(steps, last.first));
    if (!is_nan && !is_unscaled && !is_unscaled_log && !is_long) return std::nullopt;
    return end;
  }
  for (auto place = std::next(places.rbegin()); place != places.rend(); ++place) {
    if (end.first - 1 - place->last > end.lost) break;
    if (place->losses == 0) continue;
    end.first = place->first;
    end.lost += place->length();
    end.losses += place->losses;
    end.has_infinities = end.has_infinities || place->has_infinities;
  }
  // An overflow of the gradients may come just before; a norm that is NaN, with no loss of its own beside it, is none.
  const auto may_be_skipped = [](const step_survey& s) {
    return !has_lost_loss(s) && (s.tensors > 0 || !s.known || !std::isnan(s.max_abs) || std::isfinite(s.loss));
  };
  while (end.first + 1 < steps.size() && may_be_skipped(steps[end.first])) {
    ++end.first;
    --end.lost;
  }
  return end;
}

}  // namespace ulp
