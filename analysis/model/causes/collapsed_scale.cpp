// Overflow at scales below one: what is not finite there is not finite without a scale.
#include <algorithm>
#include <cmath>
#include <vector>

#include <ulp/model/causes/moving_loss.hpp>

#include "evidence.hpp"
#include "places.hpp"

namespace ulp {

std::optional<collapsed_scale> collapse_of(const std::vector<step_survey>& steps) {
  constexpr double far_below_one = 0x1p-4;
  constexpr std::uint64_t several = 5;
  constexpr double large = 2;
  constexpr double least_printed = 0x1p-24;
  constexpr double greatest_rounded = 0x1p-2;  // a scale above that is halved some times before one digit is 0
  collapsed_scale c;
  double before_dead = not_known;
  std::size_t steps_before = 0;
  std::vector<double> losses_at_dead;
  std::uint64_t finite = 0;  // after the last lost one, below one, as far as that is known
  for (const step_survey& s : steps) {
    if (s.loss_scale == 0 || std::isinf(s.loss_scale)) {
      if (c.dead++ == 0) c.dead_from = s.key.step;
      c.dead_scale = s.loss_scale;
      c.dead_to = s.key.step;
      c.is_alive = c.is_alive || (std::isfinite(s.logged_norm) && s.logged_norm > 0);
      c.dead_lost += is_lost(s) ? 1 : 0;
      losses_at_dead.push_back(s.loss);
    }
    steps_before += c.dead == 0 ? 1 : 0;
    const double scale = scale_of(s);
    if (std::isnan(scale)) continue;
    if (c.dead == 0) before_dead = scale;
    c.comes_back = c.comes_back || (c.dead_scale == 0 && scale >= 1);
    if (!is_lost(s)) {
      finite += scale < 1 && (s.known || s.found_inf) ? 1 : 0;
      continue;
    }
    // What was finite before went on; what follows the last of these fitted.
    finite = 0;
    c.greatest = std::isnan(c.greatest) ? scale : std::max(c.greatest, scale);
    if (!(scale < 1)) continue;
    if (c.lost.steps++ == 0) c.lost.first = s.key.step;
    c.lost.last = s.key.step;
    c.lost.is_assumed = c.lost.is_assumed || !s.bound_is_certain;
    c.least = std::isnan(c.least) ? scale : std::min(c.least, scale);
    if (std::isfinite(s.loss)) c.loss = s.loss;
  }
  c.loss_moves = c.dead_scale == 0 && goes_on_moving(losses_at_dead);
  c.was_never_other = std::isnan(before_dead);
  // It may be any that six digits or fewer round to 0; and beside living gradients one that was not in use, but where it was far from 0
  // just before.
  const bool may_be_rounded = c.dead_scale == 0 && before_dead >= least_printed && before_dead <= greatest_rounded;
  const bool was_large = before_dead >= large || (std::isnan(before_dead) && steps_before >= several);
  const bool is_dead = (!c.is_alive && !c.loss_moves) || c.comes_back || (c.dead_scale == 0 && was_large);
  if (c.dead > 0 && is_dead && !may_be_rounded) return c;
  c.dead = 0;
  // Gradients that are large, and finite, need such a scale.
  if (c.lost.steps == 0 || finite > 0 || (c.lost.steps < several && !(c.least <= far_below_one))) return std::nullopt;
  return c;
}

void examine_collapsed_scale(const evidence& e, std::vector<cause>& found) {
  const bool is_explained = e.died || e.forward || e.nan || e.unhandled;
  if (e.collapse && (e.is_scale_dead || !is_explained)) found.emplace_back(*e.collapse);
}

}  // namespace ulp
