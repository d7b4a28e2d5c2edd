#include <algorithm>
#include <cmath>
#include <span>

#include "evidence.hpp"
#include "series.hpp"

namespace ulp {

forward_overflow forward_overflow_of(const evidence& e, std::size_t first, std::size_t last, std::size_t lost,
                                     std::size_t losses, bool has_infinities) {
  const std::vector<step_survey>& steps = e.steps;
  const step_survey& s = steps[first];
  const auto is_finite = [](const step_survey& before) {
    return std::isfinite(before.logged_norm) || (before.known && !is_lost(before));
  };
  // Between lines that are further apart anything may have happened.
  const auto is_next = [](const step_key& before, const step_key& now) { return now.step <= before.step + 1; };
  forward_overflow f{.lost = {s.key.step, steps[last].key.step, lost},
                     .losses_lost = losses,
                     .starts_the_run = first == 0,
                     .ends_the_run = last + 1 == steps.size(),
                     .first_was_applied = s.applied.value_or(false),
                     .follows_finite = first > 0 && is_next(steps[first - 1].key, s.key) && is_finite(steps[first - 1]),
                     .has_scaler = e.has_scaler,
                     .is_narrow = e.is_narrow,
                     .in_all_tensors = s.tensors > 0 && s.lost == s.tensors,
                     .has_infinities = has_infinities};
  for (std::size_t i = first; i <= last; ++i) {
    const double scale = scale_of(steps[i]);
    if (!is_lost(steps[i])) continue;
    f.lost.is_assumed = f.lost.is_assumed || (steps[i].found_inf == true && !steps[i].bound_is_certain);
    f.scale_is_at_most = f.scale_is_at_most || std::isnan(steps[i].loss_scale);
    f.losses_zero += steps[i].loss == 0 ? 1 : 0;
    f.losses_finite += std::isfinite(steps[i].loss) && steps[i].loss != 0 ? 1 : 0;
    if (std::isnan(scale)) continue;
    f.first_scale = std::isnan(f.first_scale) ? scale : std::max(f.first_scale, scale);
    f.last_scale = std::isnan(f.last_scale) ? scale : std::min(f.last_scale, scale);
  }
  return f;
}

void see_rising_losses(forward_overflow& f, const std::vector<step_survey>& steps, std::size_t end) {
  constexpr std::size_t most = 100;
  constexpr std::size_t least = 8;
  constexpr std::size_t widest = 10;
  constexpr double noticeable = 1.5;
  constexpr double about = 1.1;
  std::vector<point> told = losses_of(steps, end);
  if (told.size() > most) told.erase(told.begin(), told.end() - most);
  if (told.size() < least) return;
  const std::size_t window = std::min(widest, told.size() / 4);
  const std::span<const point> all(told);
  std::vector<double> levels;
  for (std::size_t at = 0; at + window <= all.size(); ++at) levels.push_back(median_of(all.subspan(at, window)));
  const auto lowest = std::ranges::min_element(levels);
  const double last = median_of(all.last(std::max<std::size_t>(window / 2, 1)));
  const bool is_above =
      *lowest > 0 && last > noticeable * *lowest && last > *std::max_element(levels.begin(), lowest + 1);
  if (!is_above) return;
  const auto low = std::find_if(told.rbegin(), told.rend(), [&](const point& p) { return p.value <= about * *lowest; });
  f.loss_before = *lowest;
  f.loss_after = told.back().value;
  f.rises_from = steps[low == told.rbegin() ? low->step : std::prev(low)->step].key.step;
}

void examine_forward_overflow(const evidence& e, std::vector<cause>& found) {
  if (e.forward && !e.is_scale_dead) found.emplace_back(*e.forward);
}

}  // namespace ulp
