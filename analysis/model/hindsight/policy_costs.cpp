#include "policy_costs.hpp"

#include <tbb/parallel_for.h>
#include <algorithm>
#include <cmath>
#include <optional>
#include <tuple>

#include <ulp/model/machines/scaler.hpp>

namespace ulp {
namespace {

// The most that an applied step may cost at these scales.
double most_of_magnitude(const run_costs& costs, std::size_t step, const value_range& used) {
  if (!(used.low > 0) || !std::isfinite(used.high)) return 1;
  double most = 0;
  for (int k = std::ilogb(used.low); k <= std::ilogb(used.high) + 1; ++k)
    most = std::max(most, costs.of_magnitude(step, k));
  return most;
}

}  // namespace

void policy_way::add(const run_costs& costs, std::size_t step, std::int64_t number, double scale, bool lost,
                     const std::optional<value_range>& used) {
  ++steps_;
  if (!why_none_.empty()) return;
  if (step == 0 || scale != last_) {
    const bool finite = scale > 0 && std::isfinite(scale);
    const int exponent = finite ? std::ilogb(scale) : 0;
    if (!finite || std::ldexp(1.0, exponent) != scale) {
      const std::string at = " at step " + std::to_string(number);
      why_none_ = scale == 0 ? "the scale falls to 0" + at
                             : "the scale " + to_string(parameter_value{scale}) + at + " is not a power of two";
      return;
    }
    if (step == 0) {
      cost_.start = exponent;
      cost_.moves = {1, 1};
    } else {
      cost_.moves.up = std::max(cost_.moves.up, exponent - exponent_);
      cost_.moves.down = std::max(cost_.moves.down, exponent_ - exponent);
    }
    exponent_ = exponent;
    last_ = scale;
  }
  const double of_magnitude = lost ? 0 : costs.of_magnitude(step, exponent_);
  cost_.cost += lost ? 1 : of_magnitude;
  cost_.of_magnitude += of_magnitude;
  cost_.decided = cost_.decided && !used;
  most_of_magnitude_ += used ? most_of_magnitude(costs, step, *used) : of_magnitude;
}

void policy_way::leave_undone(std::size_t steps, bool raising_lost) {
  for (std::size_t i = 0; i < steps; ++i) cost_.cost += 1;
  uncounted_ = steps + (raising_lost ? 1 : 0);
  steps_ += steps;
}

policy_regret policy_way::cost(const bounds_of_run& bounds) const {
  policy_regret cost = cost_;
  cost.cost_bounds = {cost.cost, cost.cost};
  if (cost.decided) return cost;
  if (!bounds.known) {
    cost.cost_bounds = {not_known, not_known};
    return cost;
  }
  const auto uncounted = static_cast<double>(uncounted_);
  const auto lost_low = static_cast<double>(bounds.skipped.low + bounds.poisoned.low) + uncounted;
  const auto lost_high = static_cast<double>(bounds.skipped.high + bounds.poisoned.high) + uncounted;
  const double most = std::min(lost_high + most_of_magnitude_, static_cast<double>(steps_));
  // The estimate is one of the ways, however its sum was rounded.
  cost.cost_bounds = {std::min(lost_low, cost.cost), std::max(most, cost.cost)};
  return cost;
}

void compare_with_best(const run_costs& costs, const std::vector<policy_regret*>& policies) {
  struct search {
    std::optional<int> start;  // none: of the free ones
    largest_moves moves = any_moves;
    open_steps open = open_steps::estimate;
    best_trajectory best;
    [[nodiscard]] auto key() const { return std::tuple{start, moves.up, moves.down, open}; }
  };
  std::vector<search> searches;
  std::vector<open_steps> answers{open_steps::estimate};
  if (costs.has_open_steps()) answers.insert(answers.end(), {open_steps::fine, open_steps::overflow});
  if (policies.empty()) return;
  for (const open_steps open : answers) {
    searches.push_back({.open = open});
    for (const policy_regret* p : policies) searches.push_back({.start = p->start, .moves = p->moves, .open = open});
  }
  const auto in_order = [](const search& a, const search& b) { return a.key() < b.key(); };
  std::ranges::sort(searches, in_order);
  const auto same = std::ranges::unique(searches, {}, &search::key);
  searches.erase(same.begin(), same.end());
  tbb::parallel_for(std::size_t{0}, searches.size(), [&](std::size_t i) {
    search& s = searches[i];
    s.best = best_in_hindsight(costs, s.start, s.moves, s.open).summary();
  });
  for (policy_regret* const p : policies) {
    const auto best = [&](std::optional<int> start, const largest_moves& moves, open_steps open) {
      const search wanted{.start = start, .moves = moves, .open = costs.has_open_steps() ? open : open_steps::estimate};
      return std::ranges::lower_bound(searches, wanted, in_order)->best;
    };
    p->best = best(p->start, p->moves, open_steps::estimate);
    p->free = best({}, any_moves, open_steps::estimate);
    p->best_cost = {best(p->start, p->moves, open_steps::fine).cost,
                    best(p->start, p->moves, open_steps::overflow).cost};
    p->free_cost = {best({}, any_moves, open_steps::fine).cost, best({}, any_moves, open_steps::overflow).cost};
  }
}

}  // namespace ulp
