// What the losses and the sizes of gradients of a run without a cause tell all the same: steps that stand out, and what stands still.
#include "summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "loss.hpp"

namespace ulp {
namespace {

void take_back_healthy(advice_summary& s) {
  for (const std::string_view healthy : {"no fault found: ", "no fault found in the log: "})
    if (s.happened.starts_with(healthy)) s.happened.erase(0, healthy.size());
  if (s.cause == "healthy") s.cause = "unknown";
  if (s.grade == finding_grade::fine) s.grade = finding_grade::notable;
}

double middle_of(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2));
  return values[values.size() / 2];
}

constexpr std::size_t few_norms = 3;

// Whether a number has more than four digits, as one that was rounded to fewer stands for others near it.
bool has_many_digits(double x) {
  constexpr int digits = 4;
  constexpr double exact = 1e-6;
  const double units = x / std::pow(10.0, std::floor(std::log10(std::fabs(x))) - (digits - 1));
  return std::fabs(units - std::round(units)) > exact;
}

}  // namespace

// A loss that is the same to its last digit, or logged norms that are gone while the loss stays where it was.
void summary_of::say_what_stands_still(advice_summary& s) const {
  constexpr std::size_t several = 20;
  constexpr double gone = 1e-4;
  constexpr double stays = 0.9;
  if (s.cause != "healthy" && s.cause != "unknown") return;
  std::vector<std::pair<double, std::int64_t>> losses;
  std::vector<double> with_norm;
  std::vector<double> norms;
  for (const step_survey& of : judged_.steps()) {
    if (std::isfinite(of.loss)) losses.emplace_back(of.loss, of.key.step);
    if (!std::isfinite(of.loss) || !(of.logged_norm > 0) || !std::isfinite(of.logged_norm)) continue;
    with_norm.push_back(of.loss);
    norms.push_back(of.logged_norm);
  }
  std::size_t same = 0;
  while (same < losses.size() && losses[losses.size() - 1 - same].first == losses.back().first) ++same;
  if (same >= several && has_many_digits(losses.back().first)) {
    take_back_healthy(s);
    s.happened =
        fmt::format("the loss is {:.9g} in {}, to its last digit; {}", losses.back().first,
                    same == losses.size() ? "all steps that tell of it"
                                          : fmt::format("all steps from {} on", losses[losses.size() - same].second),
                    s.happened);
    s.change =
        "see whether the weights move (a learning rate of 0, parameters that the optimizer lacks), and what is logged as the loss";
    s.sure = "certain of the loss as it is logged; why it stands still is not told; " + s.sure;
    return;
  }
  if (norms.size() < 3 * several) return;
  const double usual = middle_of({norms.begin(), norms.begin() + several});
  std::size_t left = norms.size();
  while (left > 0 && norms[left - 1] <= gone * usual) --left;
  if (left < several || norms.size() - left < several) return;
  const auto at = with_norm.begin() + static_cast<std::ptrdiff_t>(left);
  const double loss_before = middle_of({at - several, at});
  const double loss = middle_of({with_norm.end() - several, with_norm.end()});
  if (!(loss >= stays * loss_before)) return;
  take_back_healthy(s);
  s.happened = fmt::format(
      "the gradient norm fell from {:.3g} to {:.3g}, while the loss stays ({} before, {} at the end): gradients vanish; {}",
      usual, middle_of({norms.end() - several, norms.end()}), loss_number(loss_before), loss_number(loss), s.happened);
  s.change =
      "look at what came before: units that died, a loss that no longer depends on the parameters, a learning rate that was too high";
  s.sure = "certain of the norms as they are logged; why they fell is not told; " + s.sure;
}

// Logged norms that rise and fall as the loss scale does are those of scaled gradients, and so is what was clipped by them.
void summary_of::say_what_follows_the_scale(advice_summary& s) const {
  constexpr std::size_t few_scales = 4;  // with several norms each, or more with fewer
  constexpr std::size_t few_changes = 6;
  constexpr double far = 0x1p5;
  constexpr double same = 2;  // ratio of the largest norm / scale to the smallest
  constexpr int several = 3;
  if (s.cause != "healthy" && s.cause != "unknown") return;
  std::map<double, std::vector<double>> norms_at;
  int rises = 0;  // norms fall by themselves
  double before = not_known;
  for (const step_survey& of : judged_.steps())
    if (of.loss_scale > 0 && std::isfinite(of.loss_scale) && of.logged_norm > 0 && std::isfinite(of.logged_norm)) {
      norms_at[of.loss_scale].push_back(of.logged_norm);
      rises += of.loss_scale > std::exchange(before, of.loss_scale) ? 1 : 0;
    }
  if (rises < several) return;
  if (norms_at.size() < few_changes)
    std::erase_if(norms_at, [](const auto& at) { return at.second.size() < few_norms; });
  if (norms_at.size() < few_scales || !(norms_at.rbegin()->first >= far * norms_at.begin()->first)) return;
  double least = std::numeric_limits<double>::infinity();
  double greatest = 0;
  for (const auto& [scale, norms] : norms_at) {
    const double ratio = middle_of(norms) / scale;
    least = std::min(least, ratio);
    greatest = std::max(greatest, ratio);
  }
  if (!(greatest <= same * least)) return;
  take_back_healthy(s);
  s.happened = fmt::format(
      "the logged gradient norm rises and falls with the loss scale ({:.3g} to {:.3g} of it, from {} to {}): it is that of "
      "scaled gradients; {}",
      least, greatest, as_power(norms_at.begin()->first), as_power(norms_at.rbegin()->first), s.happened);
  s.change =
      "call scaler.unscale_(optimizer) before the norm is taken; where it clips there, the bound was divided by the loss scale" +
      (s.change == "nothing" ? std::string{} : "; " + s.change);
  s.sure = "fairly sure of the norm as it is logged; whether it clips, too, the log does not say; " + s.sure;
}

// Steps with finite gradients far above those of nearly all others, too many or too near an end to be told as batches.
void summary_of::say_what_stands_out(advice_summary& s) const {
  constexpr std::size_t few = 20;
  constexpr double far = 100;
  constexpr double far_beyond_most = 30;   // times what 95 % do not exceed
  constexpr double far_above_before = 10;  // times the median of those just before
  constexpr std::size_t first_few = 5;
  constexpr double high_loss = 2;  // beside that a size need not be beyond most
  struct sized {
    double size;
    double loss;
    std::int64_t step;
  };
  std::vector<sized> sizes;
  std::vector<double> sorted;
  for (const step_survey& of : judged_.steps()) {
    const double size = std::isfinite(of.logged_norm) ? of.logged_norm : std::isfinite(of.norm) ? of.norm : of.max_abs;
    if (!std::isfinite(size) || !(size > 0)) continue;
    sizes.push_back({size, of.loss, of.key.step});
    sorted.push_back(size);
  }
  if (sizes.size() < few) return;
  std::ranges::sort(sorted);
  const double median = sorted[sorted.size() / 2];
  const double limit = std::max(far * median, far_beyond_most * sorted[sorted.size() * 95 / 100]);
  // Far above all just before, in both.
  const auto jumps = [&](std::size_t i) {
    if (i < few) return false;
    const auto before = std::span(sizes).subspan(i - few, few);
    double size = 0;
    double loss = not_known;
    for (const sized& one : before) {
      size = std::fmax(size, one.size);
      loss = std::fmax(loss, one.loss);
    }
    return sizes[i].size >= far_beyond_most * size && sizes[i].loss >= high_loss * loss;
  };
  // Many trainings begin with large ones, and come down step by step.
  const auto stands_above = [&](std::size_t i) {
    std::vector<double> before;
    for (const sized& one : std::span(sizes).subspan(i - std::min(i, few), std::min(i, few)))
      before.push_back(one.size);
    return sizes[i].size >= far_above_before * middle_of(before);
  };
  std::vector<std::int64_t> found;
  double most = 0;
  for (std::size_t i = first_few; i < sizes.size(); ++i) {
    const auto& [size, loss, step] = sizes[i];
    if (!(size >= limit && stands_above(i)) && !(size >= far * median && jumps(i))) continue;
    found.push_back(step);
    most = std::max(most, size / median);
  }
  if (found.empty()) return;
  take_back_healthy(s);
  const bool is_one = found.size() == 1;
  constexpr std::size_t most_listed = 8;
  const std::string which = found.size() <= most_listed ? listed(found)
                                                        : fmt::format("{} between {} and {}", steps_text(found.size()),
                                                                      found.front(), found.back());
  s.happened = fmt::format("the gradients of {} are {}{} the median of all steps; {}", which, is_one ? "" : "up to ",
                           multiple_text(most), s.happened);
  s.change = "look at the data there, and clip by the norm; otherwise " + s.change;
  s.sure = "fairly sure of these steps; " + s.sure;
}

}  // namespace ulp
