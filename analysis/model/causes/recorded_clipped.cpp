// Gradients that were clipped to a norm before they were recorded.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <optional>
#include <vector>

#include "evidence.hpp"
#include "places.hpp"

namespace ulp {
namespace {

// Many norms at the largest one, hardly any just below it, where those of any other run would be.
std::optional<recorded_clipped> clipped_at(std::vector<double> norms, double near, double share) {
  constexpr std::size_t least_steps = 20;
  constexpr std::size_t many = 5;
  if (norms.size() < least_steps) return std::nullopt;
  std::ranges::sort(norms);
  // Estimates lie on both sides of the limit.
  const double limit = norms[norms.size() - 1 - norms.size() / 20];
  const auto within = [&](double low, double high) {
    return static_cast<std::size_t>(
        std::ranges::count_if(norms, [&](double n) { return n >= low * limit && n < high * limit; }));
  };
  // Norms that hardly differ pile up by themselves: some must lie far below, or most be the same but for rounding.
  constexpr double far_below = 0.8;
  constexpr double rounding = 1e-4;
  const bool varies = norms[norms.size() / 10] <= far_below * limit;
  if (!varies && 2 * within(1 - rounding, 1 + rounding) < norms.size()) return std::nullopt;
  const std::size_t at = within(1 - near, 1 + near);
  const std::size_t above = within(1 + near, std::numeric_limits<double>::infinity());
  const std::size_t below = within(1 - 3 * near, 1 - near);
  const bool is_limit = limit > 0 && at >= many && static_cast<double>(at) >= share * static_cast<double>(norms.size());
  if (!is_limit || above > 0 || 4 * below > at) return std::nullopt;
  // Products that are rounded one by one do not give the same norm to the last bit, as a run that stands still does.
  const auto first = std::ranges::lower_bound(norms, (1 - near) * limit);
  std::size_t distinct = 0;
  for (auto n = first; n != norms.end(); ++n) distinct += n == first || *n != *std::prev(n) ? 1 : 0;
  if (2 * distinct < at) return std::nullopt;
  return recorded_clipped{limit, at, norms.size()};
}

}  // namespace

void examine_recorded_clipped(const evidence& e, std::vector<cause>& found) {
  std::vector<double> norms;
  for (const step_survey& s : e.steps)
    if (!is_lost(s) && std::isfinite(s.norm) && s.norm > 0) norms.push_back(s.norm);
  if (e.run.as_recorded()) return;
  // clip_grad_norm_ rounds each product. Norms that are estimated from cells are off by some percent, so more of them must speak.
  auto clipped = clipped_at(norms, 0.01, 0.1);
  if (!clipped) clipped = clipped_at(norms, 0.05, 0.3);
  if (clipped) found.emplace_back(*clipped);
}

}  // namespace ulp
