#include "swept_scenario.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

namespace ulp {

std::vector<std::size_t> swept_scenario::follow(const std::vector<swept_step>& steps, std::size_t first,
                                                const swept_delivery& of) {
  std::vector<std::size_t> lost;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const bool is_undone = !so_far_.error.empty();
    if (!is_undone) advance(steps[i], i, first + i, of);
    if (steps[i].is_lost && (is_undone || is_lost_)) lost.push_back(first + i);
  }
  return lost;
}

void swept_scenario::advance(const swept_step& now, std::size_t i, std::size_t index, const swept_delivery& of) {
  sweep_result& r = so_far_;
  const double scale = scale_;
  if (scale != last_seen_) {
    last_seen_ = scale;
    const bool usable = multiplier{.scale = scale}.usable();
    exponent_ = usable ? std::ilogb(scale) : 0;
    is_power_ = usable && std::ldexp(1.0, exponent_) == scale;
  }
  r.least_scale = std::min(r.least_scale, scale);
  r.greatest_scale = std::max(r.greatest_scale, scale);
  log2_sum_ += is_power_ ? exponent_ : std::log2(scale);
  if (now.has_counts) count(now, i, of);

  const overflow_onset& overflow = of.overflow[i];
  const overflow_answer answer = overflow.at(scale);
  const auto input = [&](double, bool found) { return input_of(now.largest, now.norm, found); };
  std::optional<value_range> open;  // the scales that may have been used
  if (!states_.is_one() || !answer.decided()) {
    const bounds_of_step all =
        states_.advance(policy_, answer.decided(), {[&](double at) { return overflow.at(at); }, input});
    if (!all.found_certain) ++r.uncertain;
    open = all.scale_used;
  }
  scaler_verdict verdict = policy_.update(input(scale, answer.likely));
  states_.follow(policy_, verdict, answer.likely);
  is_lost_ = verdict.skipped || answer.likely;
  if (tells_regret_) way_.add(of.costs, index, now.key.step, scale, is_lost_, open);
  scale_ = policy_.scale();
  ++r.steps;
  r.skipped += verdict.skipped ? 1 : 0;
  r.poisoned += answer.likely && !verdict.skipped && verdict.error.empty() ? 1 : 0;
  if (verdict.error.empty()) return;
  raising_lost_ = is_lost_ && !verdict.skipped;
  r.error = std::move(verdict.error);
  r.lacks_input = verdict.lacks_input;
}

void swept_scenario::count(const swept_step& now, std::size_t i, const swept_delivery& of) {
  sweep_result& r = so_far_;
  r.has_counts = true;
  r.nonzero += now.nonzero;
  r.underflow += of.unscaled[i];
  const stored_underflow& u = of.underflow;
  if (std::isfinite(scale_)) r.underflow.high += scale_ == 0 ? 0 : now.in_no_cell;
  if (scale_ == 0) {
    r.underflow += {now.nonzero - now.maybe_zeros, now.nonzero};
  } else if (std::isfinite(scale_) && !u.empty(i)) {
    r.underflow += is_power_ ? u.of(i, exponent_) : count_range{u.of(i, exponent_ + 1).low, u.of(i, exponent_).high};
  }
}

sweep_result swept_scenario::result(std::size_t steps) const {
  sweep_result r = so_far_;
  policy_way way = way_;
  way.leave_undone(steps - r.steps, raising_lost_);
  r.why_no_regret = way.why_none();
  r.last_scale = scale_;
  r.bounds = states_.totals();
  r.bounds.known = r.bounds.known && (r.error.empty() || states_.is_one());
  if (tells_regret_ && way.why_none().empty()) {
    bounds_of_run bounds = r.bounds;
    bounds.known = bounds.known && !states_.any_raised();
    r.regret = way.cost(bounds);
  }
  if (r.steps > 0) r.mean_log2_scale = log2_sum_ / static_cast<double>(r.steps);
  return r;
}

}  // namespace ulp
