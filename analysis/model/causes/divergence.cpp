#include "divergence.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <ulp/model/causes/moving_loss.hpp>

#include "evidence.hpp"
#include "places.hpp"
#include "series.hpp"

namespace ulp {
namespace {

// By itself, or where the learning rate or the loss speaks for it.
constexpr double orders_of_magnitude = 1000;
constexpr double tenfold = 10;
constexpr double doubled = 2;
// No gradients grow so much, to so much, and are fine, whatever the loss.
constexpr double beyond_all = 1e6;

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

// What a run went through up to `end`, where it was lost, or at all.
struct course {
  const std::vector<step_survey>& steps;
  std::size_t end = 0;
  gradient_size of = gradient_size::norm;
  std::vector<point> sizes;
  std::vector<point> losses;

  [[nodiscard]] bool is_lost_after() const { return end < steps.size(); }
};

course course_of(const std::vector<step_survey>& steps, std::size_t end) {
  const gradient_size of = size_kept(steps);
  return {steps, end, of, sizes_of(steps, end, of), losses_of(steps, end)};
}

// What is known of a divergence that begins at a step.
found_divergence described(const course& c, std::size_t onset) {
  const auto& [steps, end, of, sizes, losses] = c;
  found_divergence found{.onset = onset};
  divergence& d = found.what;
  if (const std::size_t i = index_from(sizes, onset); i > 0 && i < sizes.size()) {
    const point largest = largest_from(sizes, i);
    found.level = level_before(sizes, i);
    d.growth = largest.value / found.level;
    found.grown_at = largest.step;
    // From the last size before it, by their numbers: not every step need have one.
    const std::int64_t took = steps[largest.step].key.step - steps[sizes[i - 1].step].key.step;
    d.growth_steps = static_cast<std::uint64_t>(std::max<std::int64_t>(1, took));
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
void complete(found_divergence& found, const course& c) {
  divergence& d = found.what;
  d.of = c.of;
  std::size_t last = c.end;
  while (last > found.onset + 1 && is_lost(c.steps[last - 1])) --last;
  if (d.jump)
    while (found.onset > 0 && c.steps[found.onset].key.step > d.jump->step) --found.onset;
  // What is lost just before was too large already.
  while (found.onset > 1 && is_lost(c.steps[found.onset - 1])) --found.onset;
  d.growing = {c.steps[found.onset].key.step, c.steps[last - 1].key.step, last - found.onset};
  const auto begin = c.steps.begin() + static_cast<std::ptrdiff_t>(found.onset);
  const bool was_lost = std::any_of(begin, c.steps.begin() + static_cast<std::ptrdiff_t>(last), is_lost);
  if (c.is_lost_after() && !was_lost) d.lost_at = c.steps[c.end].key.step;
}

// Near zero a loss may rise a hundredfold and mean nothing; nor does the rise of one that begins at zero, as that of a policy
// which is compared with itself.
bool is_far_from_zero(const course& c, double loss) {
  constexpr double of_initial = 0.1;
  const double initial = median_of(std::span(c.losses).first(std::min<std::size_t>(c.losses.size(), 5)));
  return initial > 0 && loss > of_initial * initial;
}

bool loss_rises(const course& c, const divergence& d, double times) {
  return d.loss_before > 0 && d.loss_after > times * d.loss_before && is_far_from_zero(c, d.loss_after);
}

// From where on points grow to the end; the last steps of a run that goes on may be a batch.
std::optional<std::size_t> lasting(const course& c, std::span<const point> points) {
  constexpr std::size_t some = 3;
  const std::optional<std::size_t> i = onset_of_growth(points);
  if (!i || (!c.is_lost_after() && points.size() - *i < some)) return std::nullopt;
  return points[*i].step;
}

// The gradients grow and stay so.
std::optional<found_divergence> by_sizes(const course& c, const std::optional<loss_course>& rise) {
  const std::optional<std::size_t> of_sizes = lasting(c, c.sizes);
  if (!of_sizes) return std::nullopt;
  const std::optional<std::size_t> of_losses = lasting(c, c.losses);
  const found_divergence found = described(c, of_losses ? std::min(*of_sizes, *of_losses) : *of_sizes);
  const divergence& d = found.what;
  const bool has_loss = !std::isnan(d.loss_before) && !std::isnan(d.loss_after);
  const bool rises = has_loss && d.loss_after > d.loss_before;
  // Where nobody logged the loss, growth alone may be a warm-up.
  const bool is_alone =
      d.growth >= orders_of_magnitude &&
      (has_loss ? rises && (c.is_lost_after() || is_far_from_zero(c, d.loss_after)) : c.is_lost_after());
  const bool is_supported =
      d.growth >= tenfold && (!has_loss || rises) && (d.jump || rise || loss_rises(c, d, doubled));
  const bool is_absurd = d.growth >= beyond_all && found.level * d.growth >= beyond_all;
  return is_alone || is_supported || is_absurd ? std::optional{found} : std::nullopt;
}

// The loss grows and stays so.
std::optional<found_divergence> by_losses(const course& c) {
  constexpr double hundredfold = 100;
  constexpr double threefold = 3;
  const std::optional<std::size_t> onset = lasting(c, c.losses);
  if (!onset) return std::nullopt;
  const found_divergence found = described(c, *onset);
  // Where it is above where the run began it takes less, and least where the run is lost next.
  const bool is_above_start = found.what.loss_after > doubled * c.losses.front().value;
  const double times = !is_above_start ? hundredfold : c.is_lost_after() ? threefold : tenfold;
  // A last loss or two may be what the run was lost to, but for lines that are far apart; and gradients that shrink do not diverge.
  constexpr std::size_t several = 3;
  const std::size_t first = index_from(c.losses, *onset);
  const std::size_t told = c.losses.size() - first;
  const bool are_far_apart = first > 0 && c.losses[first].step - c.losses[first - 1].step >= several;
  const bool is_short = told < several && !(are_far_apart && (told > 1 || loss_rises(c, found.what, tenfold)));
  if ((is_short && !loss_rises(c, found.what, hundredfold)) || found.what.growth < 1) return std::nullopt;
  return loss_rises(c, found.what, times) ? std::optional{found} : std::nullopt;
}

// The last losses before the run is lost rise one after the other, above all before: where they had been falling until then, the level
// of those steps says nothing.
std::optional<found_divergence> by_last_losses(const course& c) {
  constexpr std::size_t several = 3;
  constexpr double threefold = 3;
  if (!c.is_lost_after() || c.losses.size() <= several) return std::nullopt;
  std::size_t lowest = c.losses.size() - 1;
  while (lowest > 0 && c.losses[lowest].value > c.losses[lowest - 1].value) --lowest;
  const double before = c.losses[lowest].value;
  const double after = c.losses.back().value;
  const double highest = std::ranges::max(std::span(c.losses).first(lowest + 1), {}, &point::value).value;
  if (c.losses.size() - 1 - lowest < several || !(before > 0) || !(after > threefold * before) || !(after > highest))
    return std::nullopt;
  found_divergence found = described(c, c.losses[lowest + 1].step);
  found.what.loss_before = before;
  found.what.loss_after = after;
  return found;
}

// Too few steps for a level before the run is lost.
std::optional<found_divergence> by_first_steps(const course& c) {
  constexpr std::size_t most = 20;
  constexpr double threefold = 3;
  if (!c.is_lost_after() || std::max(c.losses.size(), c.sizes.size()) > most) return std::nullopt;
  if (c.losses.size() > 2) {
    const std::span<const point> rest = std::span(c.losses).subspan(1);
    const bool is_above = c.losses.front().value > 0 && median_of(rest) > threefold * c.losses.front().value;
    if (is_above) return described(c, rest.front().step);
  }
  if (c.sizes.size() < 2) return std::nullopt;
  const found_divergence found = described(c, c.sizes.front().step + 1);
  const divergence& d = found.what;
  const bool is_at_its_peak = largest_from(c.sizes, 1).step == c.sizes.back().step;
  return d.growth >= tenfold && is_at_its_peak && !(d.loss_after < d.loss_before) ? std::optional{found} : std::nullopt;
}

// The learning rate rises tenfold or more, the loss never comes back to what it was, and the run is lost, however late.
std::optional<found_divergence> by_rate(const course& c) {
  constexpr double noticeably = 1.1;
  const std::optional<rate_jump> jump = largest_jump(c.steps, 1, c.end);
  if (!c.is_lost_after() || !jump || jump->after < tenfold * jump->before) return std::nullopt;
  const auto at = std::ranges::find(c.steps, jump->step, [](const step_survey& s) { return s.key.step; });
  const auto onset = static_cast<std::size_t>(at - c.steps.begin());
  const std::size_t i = index_from(c.losses, onset + 1);
  if (i == 0 || i >= c.losses.size()) return std::nullopt;
  const double before = level_before(c.losses, i);
  if (median_of(std::span(c.losses).subspan(i)) < noticeably * before) return std::nullopt;
  found_divergence found = described(c, onset);
  found.what.jump = jump;
  return found;
}

// The medians of the thirds of some losses.
std::array<double, 3> thirds_of(std::span<const point> losses) {
  const std::size_t size = losses.size() / 3;
  return {median_of(losses.first(size)), median_of(losses.subspan(size, size)), median_of(losses.last(size))};
}

// From one on, whether losses go on falling about as fast as before it, and do not come back from far above where the run began.
bool falls_as_before(const course& c, std::size_t onset) {
  constexpr std::size_t least = 20;
  constexpr double about = 1.0 / 3;
  const std::size_t at = index_from(c.losses, onset);
  const std::span<const point> before = std::span(c.losses).first(at);
  const std::span<const point> after = std::span(c.losses).subspan(at);
  if (before.size() < least || after.size() < least) return false;
  std::vector<double> losses;
  for (const point& p : after) losses.push_back(p.value);
  const auto [b1, b2, b3] = thirds_of(before);
  const auto [a1, a2, a3] = thirds_of(after);
  const double rate_before = (b1 - b3) / static_cast<double>(before.size());
  const double rate_after = (a1 - a3) / static_cast<double>(after.size());
  const bool goes_on = a2 - a3 >= about * (a1 - a2) && rate_after >= about * rate_before;
  return goes_on && a1 <= doubled * b1 && goes_on_falling(losses);
}

// The gradients of one step, times those before it, where all that follow are as usual and the loss falls as before: what the data
// became looks like that. NaN where it is not so.
double change_of_data(const course& c, const found_divergence& found) {
  constexpr double usual = 3;
  constexpr double beyond = 100;  // one that far is an outlier
  const std::size_t i = index_from(c.sizes, found.onset);
  if (c.is_lost_after() || i + 1 >= c.sizes.size() || found.grown_at != c.sizes[i].step) return not_known;
  const double next = largest_from(c.sizes, i + 1).value;
  const bool is_change = next <= usual * found.level && found.what.growth < beyond && falls_as_before(c, found.onset);
  return is_change ? found.what.growth : not_known;
}

// A peak of the gradients, or a rise of the learning rate, threw the training back.
std::optional<found_divergence> by_setback(const course& c, const std::optional<loss_course>& rise) {
  if (!rise) return std::nullopt;
  found_divergence found = described(c, rise->onset);
  found.what.loss_before = rise->before;
  found.what.loss_after = rise->after;
  // One that stands alone, and later, is a batch.
  constexpr std::size_t at_once = 5;
  const std::size_t i = index_from(c.sizes, rise->onset);
  const auto high = std::count_if(c.sizes.begin() + static_cast<std::ptrdiff_t>(i), c.sizes.end(),
                                  [&](const point& p) { return p.value > tenfold / 2 * found.level; });
  const bool has_peak = found.what.growth >= tenfold && (high > 1 || found.grown_at < rise->onset + at_once);
  const bool is_driven = c.steps[c.end - 1].learning_rate >= doubled * c.steps[rise->onset].learning_rate;
  if (found.what.jump || is_driven) return found;
  return has_peak && std::isnan(change_of_data(c, found)) ? std::optional{found} : std::nullopt;
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

std::optional<found_divergence> divergence_of(const std::vector<step_survey>& steps, std::size_t end) {
  const course c = course_of(steps, end);
  const std::optional<loss_course> rise = loss_rise_of(c.losses);
  std::optional<found_divergence> found = by_sizes(c, rise);
  if (!found) found = by_losses(c);
  if (!found) found = by_last_losses(c);
  if (!found) found = by_first_steps(c);
  if (!found) found = by_rate(c);
  if (!found) found = by_setback(c, rise);
  if (!found) return std::nullopt;
  if (rise && rise->onset < found->onset) {
    const found_divergence earlier = described(c, rise->onset);
    if (earlier.what.jump || !found->what.jump) found = earlier;
  }
  complete(*found, c);
  return found;
}

std::optional<found_divergence> peak_of(const std::vector<step_survey>& steps, std::size_t end) {
  constexpr double far = 100;
  const course c = course_of(steps, end);
  if (c.sizes.empty()) return std::nullopt;
  const auto peak = static_cast<std::size_t>(std::ranges::max_element(c.sizes, {}, &point::value) - c.sizes.begin());
  const std::optional<std::size_t> onset = onset_of_growth(std::span(c.sizes).first(peak + 1));
  if (!onset) return std::nullopt;
  found_divergence found = described(c, c.sizes[*onset].step);
  // A single step is an outlier.
  const auto is_high = [&](std::size_t i) { return i < c.sizes.size() && c.sizes[i].value > tenfold * found.level; };
  const bool is_alone = !is_high(peak + 1) && (peak == *onset || !is_high(peak - 1));
  if (!(found.what.growth >= far) || is_alone) return std::nullopt;
  found.what.came_down = true;
  complete(found, c);
  return found;
}

std::optional<loss_rise> lasting_rise_of(const std::vector<step_survey>& steps) {
  const std::vector<point> losses = losses_of(steps, steps.size());
  std::optional<loss_course> found = loss_rise_of(losses);
  if (!found) found = never_falls(losses);
  if (!found) return std::nullopt;
  const course c = course_of(steps, steps.size());
  return loss_rise{steps[found->onset].key.step, found->before, found->after, found->is_back,
                   change_of_data(c, described(c, found->onset))};
}

void examine_divergence(const evidence& e, std::vector<cause>& found) {
  if (e.diverged && !e.ruin) found.emplace_back(*e.diverged);
}

}  // namespace ulp
