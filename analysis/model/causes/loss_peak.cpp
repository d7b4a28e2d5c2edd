// A loss that rises far above what it was, and comes back.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <span>

#include "divergence.hpp"
#include "dying_units.hpp"
#include "evidence.hpp"
#include "series.hpp"

namespace ulp {
namespace {

constexpr std::size_t first_losses = 3;

// How far successive losses are apart, beside the larger one: the median.
double noise_of(std::span<const point> losses) {
  std::vector<double> all;
  for (std::size_t i = 1; i < losses.size(); ++i) {
    const double larger = std::max(std::abs(losses[i].value), std::abs(losses[i - 1].value));
    if (larger > 0) all.push_back(std::abs(losses[i].value - losses[i - 1].value) / larger);
  }
  return median(std::move(all));
}

struct peak_at {
  double before = std::numeric_limits<double>::infinity();
  double high = 0;  // medians of windows
  std::size_t window = 0;
  std::size_t first = 0;  // of the high window
};

// Losses of single batches may be far apart, and then a few high ones are no peak: most of its losses are above half of its height,
// and few of all others.
bool stands_out(std::span<const point> losses, std::size_t begin, std::size_t end, double half) {
  constexpr double most = 0.6;
  constexpr double few = 0.15;
  const auto above = [&](std::span<const point> of) {
    return static_cast<double>(std::ranges::count_if(of, [&](const point& p) { return p.value > half; }));
  };
  const double within = above(losses.subspan(begin, end - begin));
  const auto length = static_cast<double>(end - begin);
  const double others = above(losses) - within;
  return within >= most * length && others <= few * (static_cast<double>(losses.size()) - length);
}

// The window that is highest above the lowest one before it.
peak_at highest_of(std::span<const point> losses) {
  constexpr std::size_t most_window = 25;
  peak_at best;
  best.window = std::clamp<std::size_t>(losses.size() / 20, 5, most_window);
  double lowest = median_of(losses.first(first_losses));
  double ratio = 0;
  for (std::size_t i = first_losses; i + best.window <= losses.size(); ++i) {
    if (i >= best.window) lowest = std::min(lowest, median_of(losses.subspan(i - best.window, best.window)));
    const double high = median_of(losses.subspan(i, best.window));
    if (!(lowest > 0) || high / lowest <= ratio) continue;
    ratio = high / lowest;
    best.before = lowest;
    best.high = high;
    best.first = i;
  }
  return best;
}

std::optional<loss_peak> loss_peak_of(const evidence& e) {
  constexpr std::size_t least_losses = 20;
  constexpr double doubled = 2;
  constexpr double of_noise = 6;
  constexpr double of_the_fall = 0.25;  // up to there: else what was learned is hardly touched
  const std::vector<point> all = losses_of(e.steps, e.healthy);
  if (all.size() < least_losses) return std::nullopt;
  const std::span<const point> losses(all);
  const peak_at at = highest_of(losses);
  const double least_rise = std::max(doubled, 1 + of_noise * noise_of(losses));
  const double fell = median_of(losses.first(first_losses)) - at.before;
  if (!(at.high > least_rise * at.before) || at.high - at.before < of_the_fall * fell) return std::nullopt;
  // From the first loss above half of the rise to the last one; gaps of a window or less are within.
  const double half = at.before / 2 + at.high / 2;
  std::size_t begin = at.first;
  for (std::size_t i = begin; i-- > 0 && begin - i <= at.window;)
    if (losses[i].value > half) begin = i;
  std::size_t end = at.first + 1;
  for (std::size_t i = end; i < losses.size() && i - end < at.window; ++i)
    if (losses[i].value > half) end = i + 1;
  while (begin + 1 < end && losses[begin].value <= half) ++begin;
  while (end > begin + 1 && losses[end - 1].value <= half) --end;
  // As high at the end, it did not come back: that is told otherwise.
  if (end == losses.size() || !stands_out(losses, begin, end, half)) return std::nullopt;
  const point highest = std::ranges::max(losses.subspan(begin, end - begin), {}, &point::value);
  const auto step_at = [&](std::size_t i) { return e.steps[losses[i].step].key.step; };
  loss_peak p{.high = {step_at(begin), step_at(end - 1), losses[end - 1].step - losses[begin].step + 1},
              .before = at.before,
              .highest = highest.value,
              .highest_at = e.steps[highest.step].key.step,
              .at_end = median_of(losses.last(at.window))};
  p.jump = largest_jump(e.steps, 1, losses[begin].step);
  p.dying = dying_units_of(e);
  return p;
}

}  // namespace

void examine_loss_peak(const evidence& e, std::vector<cause>& found) {
  if (e.is_thrown_back() || e.died) return;
  if (const auto peak = loss_peak_of(e)) found.emplace_back(*peak);
}

}  // namespace ulp
