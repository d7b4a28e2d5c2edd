#include "divergence.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "places.hpp"

namespace ulp {
namespace {

// By itself, or where the learning rate or the loss speaks for it.
constexpr double orders_of_magnitude = 1000;
constexpr double tenfold = 10;
// So many steps before one give its level.
constexpr std::size_t level_steps = 20;
constexpr std::size_t least_level_steps = 3;
constexpr double above_level = 3;
constexpr double doubled = 2;

struct point {
  std::size_t step = 0;  // index
  double value = 0;
};

// What is finite before `end`.
template <typename Value>
std::vector<point> points_of(const std::vector<step_survey>& steps, std::size_t end, Value value) {
  std::vector<point> all;
  for (std::size_t i = 0; i < end; ++i)
    if (const double v = value(steps[i]); std::isfinite(v)) all.push_back({i, v});
  return all;
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

// The first point from which on all are above three times the level before it, or five times that of one or two points.
std::optional<std::size_t> onset_of_growth(std::span<const point> sizes) {
  constexpr double above_few = 5;
  std::optional<std::size_t> onset;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = sizes.size(); i-- > 1;) {
    least = std::min(least, sizes[i].value);
    const double level = level_before(sizes, i);
    if (level > 0 && least > (i < least_level_steps ? above_few : above_level) * level) onset = i;
  }
  return onset;
}

point largest_from(std::span<const point> points, std::size_t i) {
  return std::ranges::max(points.subspan(i), {}, &point::value);
}

// Not long before a step: momentum and second moments take some time to follow.
std::optional<rate_jump> jump_near(const std::vector<step_survey>& steps, std::size_t onset) {
  constexpr std::size_t before = 30;
  return largest_jump(steps, onset - std::min(onset, before), onset);
}

bool rate_rises(const std::vector<step_survey>& steps, std::size_t first, std::size_t last) {
  constexpr double noticeably = 1.01;
  for (std::size_t i = first + 1; i <= last; ++i)
    if (!(steps[i].learning_rate >= steps[i - 1].learning_rate)) return false;
  return steps[last].learning_rate > noticeably * steps[first].learning_rate;
}

struct loss_rise {
  std::size_t onset = 0;  // index of the first step whose loss is above
  double before = not_known;
  double after = not_known;
};

// The loss falls, and comes back to half of where it began or more until the end.
std::optional<loss_rise> loss_rise_of(const std::vector<point>& losses) {
  constexpr std::size_t least_losses = 20;
  constexpr std::size_t most_window = 25;
  constexpr double noise = 6;
  if (losses.size() < least_losses) return std::nullopt;
  const std::size_t window = std::clamp<std::size_t>(losses.size() / 20, 3, most_window);
  const std::span<const point> all(losses);
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
  return loss_rise{all[onset].step, best, final};
}

std::size_t index_from(const std::vector<point>& points, std::size_t step) {
  return static_cast<std::size_t>(std::ranges::lower_bound(points, step, {}, &point::step) - points.begin());
}

// Before `end`, where a size is known and finite.
std::vector<point> sizes_of(const std::vector<step_survey>& steps, std::size_t end, gradient_size of) {
  return points_of(steps, end, [&](const step_survey& s) {
    const double size = size_of(s, of);
    return size > 0 && !is_lost(s) ? size : not_known;
  });
}

std::vector<point> losses_of(const std::vector<step_survey>& steps, std::size_t end) {
  return points_of(steps, end, [](const step_survey& s) { return s.loss; });
}

// What is known of a divergence that begins at a step.
found_divergence described(const std::vector<step_survey>& steps, const std::vector<point>& sizes,
                           const std::vector<point>& losses, std::size_t onset) {
  found_divergence found{.onset = onset};
  divergence& d = found.what;
  if (const std::size_t i = index_from(sizes, onset); i > 0 && i < sizes.size()) {
    const point largest = largest_from(sizes, i);
    found.level = level_before(sizes, i);
    d.growth = largest.value / found.level;
    d.growth_steps = largest.step - onset + 1;
    d.rate_rises = rate_rises(steps, sizes[i - 1].step, sizes.back().step);
  }
  if (const std::size_t i = index_from(losses, onset); i > 0 && i < losses.size()) {
    d.loss_before = level_before(losses, i);
    constexpr std::size_t last = 5;
    // The last ones: where it grows fast, the very last.
    const std::size_t n = std::clamp<std::size_t>((losses.size() - i) / 2, 1, last);
    d.loss_after = median_of(std::span(losses).last(n));
  }
  d.jump = jump_near(steps, onset);
  return found;
}

// What is told of all divergences.
void complete(found_divergence& found, const std::vector<step_survey>& steps, std::size_t end, gradient_size of) {
  divergence& d = found.what;
  d.of = of;
  std::size_t last = end;
  while (last > found.onset + 1 && is_lost(steps[last - 1])) --last;
  if (d.jump)
    while (found.onset > 0 && steps[found.onset].key.step > d.jump->step) --found.onset;
  d.growing = {steps[found.onset].key.step, steps[last - 1].key.step, last - found.onset};
  const auto begin = steps.begin() + static_cast<std::ptrdiff_t>(found.onset);
  const bool was_lost = std::any_of(begin, steps.begin() + static_cast<std::ptrdiff_t>(last), is_lost);
  if (end < steps.size() && !was_lost) d.lost_at = steps[end].key.step;
}

}  // namespace

bool stays_above_all_before(const std::vector<step_survey>& steps, std::size_t onset, std::size_t end) {
  constexpr double far_above = 1.5;
  double highest = 0;
  for (std::size_t i = 0; i < onset; ++i)
    if (std::isfinite(steps[i].loss)) highest = std::max(highest, steps[i].loss);
  std::vector<double> after;
  for (std::size_t i = onset + 1; i < end; ++i)
    if (std::isfinite(steps[i].loss)) after.push_back(steps[i].loss);
  return highest > 0 && !after.empty() && std::ranges::min(after) > highest && median(after) > far_above * highest;
}

gradient_size size_kept(const std::vector<step_survey>& steps) {
  const auto count = [&](double step_survey::*member) {
    return std::ranges::count_if(steps,
                                 [&](const step_survey& s) { return std::isfinite(s.*member) && s.*member > 0; });
  };
  const auto recorded = count(&step_survey::norm);
  const auto logged = count(&step_survey::logged_norm);
  if (recorded > 0 && recorded >= logged) return gradient_size::norm;
  return logged > 0 ? gradient_size::logged_norm : gradient_size::largest;
}

double size_of(const step_survey& s, gradient_size of) {
  switch (of) {
    case gradient_size::norm: return s.norm;
    case gradient_size::logged_norm: return s.logged_norm;
    case gradient_size::largest: break;
  }
  return s.known ? s.max_abs : not_known;
}

std::optional<rate_jump> largest_jump(const std::vector<step_survey>& steps, std::size_t from, std::size_t to) {
  // A warm-up rises from its first steps on, and a warm restart comes back to where it was: neither is a jump.
  constexpr std::size_t steady_rates = 5;
  constexpr double steady = 1.5;
  std::optional<rate_jump> largest;
  std::vector<double> rates;  // as logged
  double peak = 0;
  for (std::size_t i = 0; i <= to && i < steps.size(); ++i) {
    const double now = steps[i].learning_rate;
    if (std::isnan(now)) continue;
    if (i >= from && rates.size() >= steady_rates) {
      const double was = rates.back();
      const bool was_steady = was > 0 && was <= steady * rates[rates.size() - steady_rates];
      const bool is_larger = !largest || now / was > largest->after / largest->before;
      if (was_steady && now >= doubled * was && now >= doubled * peak && is_larger)
        largest = {steps[i].key.step, was, now};
    }
    rates.push_back(now);
    peak = std::max(peak, now);
  }
  return largest;
}

double median(std::vector<double> values) {
  if (values.empty()) return not_known;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

std::optional<found_divergence> divergence_of(const std::vector<step_survey>& steps, std::size_t end) {
  const gradient_size of = size_kept(steps);
  const std::vector<point> sizes = sizes_of(steps, end, of);
  const std::vector<point> losses = losses_of(steps, end);
  const std::optional<loss_rise> rise = loss_rise_of(losses);
  const bool is_lost_after = end < steps.size();

  // The last steps of a run that goes on may be a batch.
  const auto lasting = [&](const std::vector<point>& points) -> std::optional<std::size_t> {
    const std::optional<std::size_t> i = onset_of_growth(points);
    if (!i || (!is_lost_after && points.size() - *i < least_level_steps)) return std::nullopt;
    return points[*i].step;
  };
  const std::optional<std::size_t> of_sizes = lasting(sizes);
  const std::optional<std::size_t> of_losses = lasting(losses);
  constexpr double hundredfold = 100;
  constexpr std::size_t most_early = 20;
  constexpr double early_growth = 30;
  // Near zero a loss may rise a hundredfold and mean nothing.
  constexpr double of_initial = 0.1;
  const double initial = median_of(std::span(losses).first(std::min<std::size_t>(losses.size(), 5)));
  const auto loss_rises = [&](const divergence& d, double times) {
    return d.loss_before > 0 && d.loss_after > times * d.loss_before && d.loss_after > of_initial * initial;
  };
  std::optional<found_divergence> found;
  if (of_sizes) {
    found = described(steps, sizes, losses, of_losses ? std::min(*of_sizes, *of_losses) : *of_sizes);
    const divergence& d = found->what;
    const bool has_loss = !std::isnan(d.loss_before) && !std::isnan(d.loss_after);
    const bool is_supported = d.jump || rise || loss_rises(d, doubled);
    // Where nobody logged the loss, growth alone may be a warm-up.
    const bool is_alone = d.growth >= orders_of_magnitude && (has_loss ? d.loss_after > d.loss_before : is_lost_after);
    const bool falls = has_loss && d.loss_after <= d.loss_before;
    if (!is_alone && !(d.growth >= tenfold && is_supported && !falls)) found.reset();
  }
  if (!found && of_losses) {
    found = described(steps, sizes, losses, *of_losses);
    if (!loss_rises(found->what, hundredfold)) found.reset();
  }
  if (!found && is_lost_after && end <= most_early && sizes.size() > 1) {
    // Too few steps for a level.
    found = described(steps, sizes, losses, sizes.front().step + 1);
    const divergence& d = found->what;
    const bool is_at_its_peak = largest_from(sizes, 1).step == sizes.back().step;
    if (!(d.growth >= early_growth) || !is_at_its_peak || d.loss_after < d.loss_before) found.reset();
  }
  if (!found && rise) {
    // A peak of the gradients, or a rise of the learning rate, threw the training back.
    found = described(steps, sizes, losses, rise->onset);
    found->what.loss_before = rise->before;
    found->what.loss_after = rise->after;
    const bool is_driven = steps[end - 1].learning_rate >= doubled * steps[rise->onset].learning_rate;
    if (!found->what.jump && !(found->what.growth >= tenfold) && !is_driven) found.reset();
  }
  if (!found) return std::nullopt;
  if (rise && rise->onset < found->onset) {
    const std::optional<found_divergence> earlier = described(steps, sizes, losses, rise->onset);
    if (earlier->what.jump || !found->what.jump) found = earlier;
  }
  complete(*found, steps, end, of);
  return found;
}

std::optional<found_divergence> peak_of(const std::vector<step_survey>& steps, std::size_t end) {
  constexpr double far = 100;
  constexpr double high = 10;
  const gradient_size of = size_kept(steps);
  const std::vector<point> sizes = sizes_of(steps, end, of);
  if (sizes.empty()) return std::nullopt;
  const auto peak = static_cast<std::size_t>(std::ranges::max_element(sizes, {}, &point::value) - sizes.begin());
  const std::optional<std::size_t> onset = onset_of_growth(std::span(sizes).first(peak + 1));
  if (!onset) return std::nullopt;
  found_divergence found = described(steps, sizes, losses_of(steps, end), sizes[*onset].step);
  // A single step is an outlier.
  const auto is_high = [&](std::size_t i) { return i < sizes.size() && sizes[i].value > high * found.level; };
  const bool is_alone = !is_high(peak + 1) && (peak == *onset || !is_high(peak - 1));
  if (!(found.what.growth >= far) || is_alone) return std::nullopt;
  found.what.came_down = true;
  complete(found, steps, end, of);
  return found;
}

}  // namespace ulp
