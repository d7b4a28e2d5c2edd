#include "places.hpp"

#include <algorithm>
#include <cmath>

namespace ulp {

bool is_lost(const step_survey& s) {
  return s.lost > 0 || s.found_inf.value_or(false) || (s.known && !std::isfinite(s.max_abs));
}

std::vector<lost_place> lost_places_of(const std::vector<step_survey>& steps) {
  std::vector<lost_place> all;
  bool inside = false;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const step_survey& s = steps[i];
    const bool now = is_lost(s);
    if (now && !inside) all.push_back({.first = i});
    inside = now;
    if (!now) continue;
    lost_place& place = all.back();
    place.last = i;
    place.losses += s.loss_is_lost ? 1 : 0;
    place.has_infinities = place.has_infinities || s.with_infinities > 0 || std::isinf(s.max_abs);
    place.has_values = place.has_values || s.tensors > 0;
  }
  return all;
}

std::optional<lost_end> lost_end_of(const std::vector<step_survey>& steps, const std::vector<lost_place>& places) {
  // No search for a scale is that long (longest_search); with NaN alone, or down to a scale below one, it is none.
  constexpr std::size_t too_long = 30;
  constexpr std::size_t few = 5;
  if (places.empty() || places.back().last + 1 != steps.size()) return std::nullopt;
  lost_end end{.first = steps.size()};
  for (auto place = places.rbegin(); place != places.rend(); ++place) {
    const std::size_t finite = end.first - 1 - place->last;
    if (end.lost > 0 && finite > end.lost) break;
    // Single overflows long before are not the end.
    if (end.lost > 0 && finite > 10 * place->length()) break;
    end.first = place->first;
    end.lost += place->length();
    end.losses += place->losses;
    end.has_infinities = end.has_infinities || place->has_infinities;
  }
  const bool is_nan = places.back().has_values && !places.back().has_infinities && places.back().length() >= few;
  const double scale = steps.back().loss_scale;
  const bool is_unscaled = places.back().length() >= few && scale <= 1;
  const bool loses_losses = 2 * end.losses >= end.lost;
  if (end.losses == 0 && !is_nan && !is_unscaled && places.back().length() < too_long) return std::nullopt;
  if (end.losses > 0 && !loses_losses && end.lost < too_long) return std::nullopt;
  return end;
}

}  // namespace ulp
