#include <ulp/model/plan/plan_choice.hpp>

#include <algorithm>
#include <cmath>

namespace ulp {
namespace {

// In one setting.
std::optional<plan_choice> cheapest(const plan_costs& costs, std::size_t setting, double most) {
  plan_choice all{.setting = setting};
  for (const std::vector<plan_cost>& of : costs) {
    const plan_cost* best = nullptr;
    for (const plan_cost& c : of)
      if (std::isfinite(c.share) && c.share <= most && (best == nullptr || c.bits < best->bits)) best = &c;
    if (best == nullptr) return std::nullopt;
    all.treatments.push_back(static_cast<std::size_t>(best - of.data()));
    all.bits += best->bits;
    all.share = std::max(all.share, best->share);
  }
  return all;
}

}  // namespace

std::optional<plan_choice> cheapest_plan(const std::vector<plan_costs>& settings, double most) {
  std::optional<plan_choice> best;
  for (std::size_t s = 0; s < settings.size(); ++s)
    if (std::optional<plan_choice> here = cheapest(settings[s], s, most); here && (!best || here->bits < best->bits))
      best = std::move(here);
  return best;
}

std::optional<plan_choice> finest_plan(const std::vector<plan_costs>& settings, std::uint64_t budget) {
  // The share of any plan is that of some treatment, and bits never rise with the share that is allowed.
  std::vector<double> shares;
  for (const plan_costs& costs : settings)
    for (const std::vector<plan_cost>& of : costs)
      for (const plan_cost& c : of)
        if (std::isfinite(c.share)) shares.push_back(c.share);
  std::ranges::sort(shares);
  shares.erase(std::unique(shares.begin(), shares.end()), shares.end());
  const auto fits = [&](double most) {
    const std::optional<plan_choice> plan = cheapest_plan(settings, most);
    return plan && plan->bits <= budget;
  };
  const auto least = std::partition_point(shares.begin(), shares.end(), [&](double s) { return !fits(s); });
  if (shares.empty() || least == shares.end()) return std::nullopt;
  return cheapest_plan(settings, *least);
}

std::optional<std::uint64_t> least_bits(const std::vector<plan_costs>& settings) {
  const std::optional<plan_choice> plan = cheapest_plan(settings, std::numeric_limits<double>::max());
  return plan ? std::optional{plan->bits} : std::nullopt;
}

}  // namespace ulp
