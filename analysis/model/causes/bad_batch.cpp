#include "bad_batch.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <ulp/formats/catalog.hpp>
#include <ulp/model/causes/moving_loss.hpp>
#include <utility>

#include "evidence.hpp"
#include "series.hpp"

namespace ulp {
namespace {

constexpr std::size_t around = 5;  // steps on either side

// Whether it would have fitted the scale by far, by what the steps around it hold.
bool is_far_from_scale(const std::vector<step_survey>& steps, const lost_place& place) {
  constexpr double far = 64;
  const step_survey& lost = steps[place.first];
  if (!(lost.loss_scale > 0)) return false;
  const format& to = lost.rounded_to ? *lost.rounded_to : float16;
  const double limit = std::ldexp(1.0, to.emax() + 1);
  std::size_t seen = 0;
  const auto fits = [&](std::size_t i) {
    const step_survey& s = steps[i];
    if (is_lost(s)) return false;
    if (!s.known || s.max_abs == 0) return true;
    ++seen;
    return s.max_abs * lost.loss_scale * far < limit;
  };
  for (std::size_t i = place.first - std::min(place.first, around); i < place.first; ++i)
    if (!fits(i)) return false;
  for (std::size_t i = place.last + 1; i < std::min(place.last + 1 + around, steps.size()); ++i)
    if (!fits(i)) return false;
  return seen > 1;
}

// Whether the loss is ten times that of the steps around, and not near zero beside that of the first steps.
bool loss_stands_out(const std::vector<step_survey>& steps, std::size_t i) {
  constexpr double far = 10;
  constexpr double of_initial = 0.1;
  constexpr std::size_t least_losses = 3;
  double largest = 0;
  std::size_t seen = 0;
  for (std::size_t j = i - std::min(i, around); j < std::min(i + around + 1, steps.size()); ++j)
    if (const double loss = steps[j].loss; j != i && std::isfinite(loss)) {
      largest = std::max(largest, loss);
      ++seen;
    }
  if (seen < least_losses || !(largest > 0) || !(steps[i].loss >= far * largest)) return false;
  const auto first = std::ranges::find_if(steps, [](const step_survey& s) { return std::isfinite(s.loss); });
  return steps[i].loss >= of_initial * std::abs(first->loss);
}

// Whether the loss never comes back to twice what it was in the steps before one.
bool stays_above(const std::vector<step_survey>& steps, std::size_t i, std::size_t end) {
  constexpr std::size_t before = 20;
  constexpr std::size_t least_after = 20;
  constexpr double twice = 2;
  if (steps[i].applied == false) return false;
  double highest = 0;
  for (std::size_t j = i - std::min(i, before); j < i; ++j)
    if (std::isfinite(steps[j].loss)) highest = std::max(highest, steps[j].loss);
  std::size_t seen = 0;
  for (std::size_t j = i + 1; j < end; ++j) {
    if (!std::isfinite(steps[j].loss)) continue;
    if (steps[j].loss <= twice * highest) return false;
    ++seen;
  }
  return highest > 0 && seen >= least_after;
}

using indexed_sizes = std::vector<std::pair<std::size_t, double>>;

indexed_sizes finite_sizes(const std::vector<step_survey>& steps, std::size_t end) {
  const gradient_size of = size_kept(steps);
  indexed_sizes sizes;
  for (std::size_t i = 0; i < end; ++i)
    if (const double size = size_of(steps[i], of); !is_lost(steps[i]) && std::isfinite(size))
      sizes.emplace_back(i, size);
  return sizes;
}

struct measure {
  double far;            // times the steps around
  double beyond_spread;  // times what most steps have
};
constexpr measure alone{100, 30};

// What 95 % of the hundred steps before and after one do not exceed.
double high_of(const indexed_sizes& sizes, std::size_t i) {
  constexpr std::size_t wide = 100;
  std::vector<double> values;
  for (std::size_t j = i - std::min(i, wide); j < std::min(i + wide + 1, sizes.size()); ++j)
    if (j != i) values.push_back(sizes[j].second);
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(values.size() * 95 / 100);
  std::ranges::nth_element(values, at);
  return *at;
}

// The loss before the first outlier and at the end, where it is higher than by chance.
void see_losses(bad_batch& bad, const std::vector<step_survey>& steps, std::size_t first, std::size_t last,
                std::size_t end) {
  constexpr std::size_t some = 20;
  std::vector<double> before;
  std::vector<double> after;
  for (std::size_t i = first; i > 0 && before.size() < some; --i)
    if (std::isfinite(steps[i - 1].loss)) before.push_back(steps[i - 1].loss);
  for (std::size_t i = end; i > last + 1 && after.size() < some; --i)
    if (std::isfinite(steps[i - 1].loss)) after.push_back(steps[i - 1].loss);
  if (!lie_above(after, before)) return;
  bad.loss_before = median(std::move(before));
  bad.loss_after = median(std::move(after));
}

// The largest of the sizes on either side of one, but for up to two more of its kind: bad data may fill three steps.
double level_around(const indexed_sizes& sizes, std::size_t i) {
  constexpr double alike = 0.5;
  constexpr std::size_t most_alike = 2;
  double largest = 0;
  double largest_other = 0;
  std::size_t same = 0;
  for (std::size_t j = i - around; j <= i + around; ++j) {
    if (j == i) continue;
    const double size = sizes[j].second;
    largest = std::max(largest, size);
    if (size >= alike * sizes[i].second)
      ++same;
    else
      largest_other = std::max(largest_other, size);
  }
  return same <= most_alike ? largest_other : largest;
}

}  // namespace

bool is_batch(const std::vector<step_survey>& steps, const lost_place& place) {
  constexpr std::size_t few = 3;
  if (place.length() > few) return false;
  if (is_far_from_scale(steps, place)) return true;
  // A scaler that skips one step after the other meets several batches.
  return place.length() == 1 && loss_stands_out(steps, place.first);
}

std::int64_t period_of(const std::vector<std::int64_t>& batches, const std::vector<step_survey>& steps) {
  constexpr std::size_t fewest = 4;
  constexpr std::ptrdiff_t shortest = 5;
  if (batches.size() < fewest) return 0;
  const auto place_of = [&](std::int64_t step) {
    return std::ranges::lower_bound(steps, step, {}, [](const step_survey& s) { return s.key.step; }) - steps.begin();
  };
  std::vector<std::ptrdiff_t> distances;
  for (std::size_t i = 1; i < batches.size(); ++i) distances.push_back(place_of(batches[i]) - place_of(batches[i - 1]));
  const auto least = std::ranges::min_element(distances);
  if (*least < shortest) return 0;
  const bool are_whole = std::ranges::all_of(distances, [&](std::ptrdiff_t d) { return d % *least == 0; });
  const auto next = static_cast<std::size_t>(std::ranges::count(distances, *least));
  if (!are_whole || 2 * next <= distances.size()) return 0;
  const auto at = static_cast<std::size_t>(least - distances.begin());
  return batches[at + 1] - batches[at];
}

found_batches outliers_of(const std::vector<step_survey>& steps, std::size_t end) {
  constexpr measure with_loss{5, 1};
  const indexed_sizes sizes = finite_sizes(steps, end);
  found_batches found{.what = {.is_finite = true}};
  bad_batch& bad = found.what;
  indexed_sizes outliers;  // times the steps around
  for (std::size_t i = around; i + around < sizes.size(); ++i) {
    const double level = level_around(sizes, i);
    const double times = sizes[i].second / level;
    if (!(level > 0) || times < with_loss.far) continue;
    const measure& m = loss_stands_out(steps, sizes[i].first) ? with_loss : alone;
    if (!(times >= m.far) || !(sizes[i].second >= m.beyond_spread * high_of(sizes, i))) continue;
    found.last = sizes[i].first;
    outliers.emplace_back(found.last, times);
    bad.steps.push_back(steps[found.last].key.step);
    bad.outlier = std::isnan(bad.outlier) ? times : std::max(bad.outlier, times);
  }
  for (const auto& [at, times] : outliers)
    if (stays_above(steps, at, end))
      return {{.steps = {steps[at].key.step}, .is_finite = true, .outlier = times, .ends_the_run = true}, at};
  // What comes again and again belongs to the data: sparse rewards, rare tokens.
  const std::size_t rare = std::max<std::size_t>(3, sizes.size() / 100);
  if (bad.steps.size() > rare) bad.steps.clear();
  if (!outliers.empty()) see_losses(bad, steps, outliers.front().first, outliers.back().first, end);
  return found;
}

std::optional<last_outlier> outlier_before(const std::vector<step_survey>& steps, std::size_t lost_from) {
  constexpr std::size_t soon = 5;
  constexpr std::size_t least_before = 10;
  constexpr std::size_t level_of = 20;
  constexpr double usual = 3;
  constexpr double as_large = 1.0 / 3;
  const indexed_sizes sizes = finite_sizes(steps, lost_from);
  // Between lines that are further apart anything may have happened.
  const auto is_soon = [&](std::size_t at) {
    return lost_from - at <= soon &&
           steps[lost_from].key.step - steps[at].key.step == static_cast<std::int64_t>(lost_from - at);
  };
  std::size_t first = sizes.size();
  while (first > 0 && is_soon(sizes[first - 1].first)) --first;
  if (first == sizes.size() || first < least_before) return std::nullopt;
  const auto before = std::span(sizes).first(first);
  const auto last = std::span(sizes).subspan(first);
  constexpr auto size_in = &indexed_sizes::value_type::second;
  const auto worst = std::ranges::max_element(last, {}, size_in);
  std::vector<double> levels;
  for (const auto& [at, size] : before.last(std::min(level_of, first))) levels.push_back(size);
  const double level = median(std::move(levels));
  const double high = high_of(sizes, first + static_cast<std::size_t>(worst - last.begin()));
  const bool is_far = level > 0 && worst->second >= alone.far * level && worst->second >= alone.beyond_spread * high;
  const bool is_new = std::ranges::max(before, {}, size_in).second <= as_large * worst->second;
  if (!is_far || !is_new || steps[worst->first].applied == false) return std::nullopt;
  const auto others = std::ranges::count_if(last, [&](const auto& of) { return of.second > usual * level; });
  return last_outlier{.at = worst->first, .times = worst->second / level, .is_alone = others == 1};
}

std::optional<found_batches> ruinous_batch_of(const std::vector<step_survey>& steps, const found_divergence& found,
                                              std::size_t end) {
  constexpr double far = 1e4;
  constexpr double far_before = 1e3;
  constexpr double far_in_loss = 100;
  constexpr double smaller_after = 0.01;
  constexpr double alone = 0.1;
  constexpr double alone_by = 100;
  constexpr double usual = 3;
  constexpr std::size_t few_in_a_row = 4;
  constexpr std::size_t soon = 10;
  const divergence& d = found.what;
  if (d.jump || d.rate_rises || !(found.level > 0)) return std::nullopt;
  const auto size_at = [&](std::size_t i) { return size_of(steps[i], d.of); };
  const auto ruined_at = [&](std::size_t i) {
    return found_batches{
        {.steps = {steps[i].key.step}, .is_finite = true, .outlier = size_at(i) / found.level, .ends_the_run = true},
        i};
  };
  const auto was_applied = [&](std::size_t i) {
    return steps[i].applied != false && !is_lost(steps[i]) && std::isfinite(size_at(i));
  };
  // Second moments keep the training still for some steps after it.
  for (std::size_t i = found.onset - std::min(found.onset, soon); i < found.onset; ++i) {
    const double far_enough = i + 1 == found.onset ? alone_by : far_before;
    if (was_applied(i) && size_at(i) >= far_enough * found.level && size_at(i + 1) <= alone * size_at(i))
      return ruined_at(i);
  }
  const step_survey& worst = steps[found.onset];
  if (!was_applied(found.onset)) return std::nullopt;
  const auto after = [&](std::size_t i) {
    std::vector<double> sizes;
    for (++i; i < end; ++i)
      if (!is_lost(steps[i]) && std::isfinite(size_at(i))) sizes.push_back(size_at(i));
    return sizes;
  };
  // One step or a few in a row are far above, and their neighbours as usual: nothing grew.
  const auto is_alone = [&](std::size_t i) { return was_applied(i) && size_at(i) >= alone_by * found.level; };
  std::size_t first = found.onset;
  std::size_t last = found.onset;
  while (first > 0 && is_alone(first - 1)) --first;
  while (last + 1 < end && is_alone(last + 1)) ++last;
  const std::vector<double> behind = after(last);
  // Between lines that are further apart anything may have happened.
  const bool is_next = last + 1 < end && steps[last + 1].key.step == steps[last].key.step + 1;
  if (is_alone(found.onset) && is_next && last - first < few_in_a_row && !behind.empty() &&
      behind.front() <= usual * found.level && median(behind) <= usual * found.level &&
      median(behind) >= found.level / usual)
    return ruined_at(first);
  const std::vector<double> since = after(found.onset);
  const double next = since.empty() ? not_known : since.front();
  const double later = median(since);
  if (!(size_at(found.onset) >= far * found.level)) return std::nullopt;
  if (std::isfinite(worst.loss) && worst.loss < far_in_loss * d.loss_before) return std::nullopt;
  // A learning rate that nobody logged may have done it, but gradients would not come down again.
  const bool comes_down = next <= alone * size_at(found.onset) && later <= smaller_after * size_at(found.onset);
  if (!comes_down && !std::isfinite(worst.learning_rate)) return std::nullopt;
  return ruined_at(found.onset);
}

// The one that ended the run, else those that did not.
void examine_bad_batch(const evidence& e, std::vector<cause>& found) {
  if (e.ruin) found.emplace_back(*e.ruin);
  for (const bad_batch& bad : {e.bad_loss, e.bad, e.bad_nan, e.outliers})
    if (!bad.steps.empty()) found.emplace_back(bad);
}

}  // namespace ulp
