#include <ulp/model/sweep/sweep.hpp>

#include <tbb/parallel_for.h>
#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <mutex>
#include <optional>

#include "hindsight/policy_costs.hpp"
#include "replay/smallest_overflowing.hpp"
#include "replay/step_accumulator.hpp"
#include "replay/step_overflow.hpp"
#include "swept_scenario.hpp"
#include "swept_steps.hpp"

namespace ulp {
namespace {

// Why found_inf is not a matter of the largest magnitude alone, or some count depends on a sign; empty where neither.
std::string why_replayed(const scenario& s) {
  const treatment& how = s.recipe.usual();
  if (how.rounding.direction == direction::stochastic) return "stochastic rounding is drawn";
  if (s.clip_value && s.order.clip_before_check) return "values are clipped before the overflow check";
  const threshold positive = thresholds_of(how, false).nonzero;
  const threshold negative = thresholds_of(how, true).nonzero;
  if (!(positive == negative) || overflow_depends_on_sign(how)) return "the rounding depends on the sign";
  if (how.rounding.daz) return "inputs are flushed (DAZ)";
  if (s.recipe.machine().scope() == machine_scope::tensor) return "a scale for each layer";
  if (!std::isnan(s.recipe.machine().edge())) return "the policy counts by an edge";
  return "";
}

overflow_exponents exponents_of(const overflow_onset& onset) {
  return {overflow_exponent_of(onset.certain), overflow_exponent_of(onset.likely),
          overflow_exponent_of(onset.possible)};
}

// Indices, ascending.
using lost_steps = std::vector<std::size_t>;

// Steps are followed by all policies at once, so many at a time.
constexpr std::size_t block = 4096;

}  // namespace

overflow_onset onset_of(const step_overflow& overflow, const scenario& s) {
  const double near = overflow.onset_near(s);
  const auto from = [&](bool overflow_answer::*part) {
    return smallest_overflowing(near, [&](double scale) { return overflow.at(scale, s).*part; });
  };
  overflow_onset onset{.at_zero = overflow.at(0, s),
                       .at_infinity = overflow.at(std::numeric_limits<double>::infinity(), s),
                       .at_nan = overflow.at(not_known, s)};
  onset.certain = onset.likely = onset.possible = from(&overflow_answer::likely);
  // Nearly always they are one.
  if (!overflow.at(std::min(onset.likely, std::numeric_limits<double>::max()), s).decided())
    onset.certain = from(&overflow_answer::certain);
  if (onset.likely > std::numeric_limits<double>::denorm_min() &&
      overflow.at(std::nextafter(onset.likely, 0.0), s).possible)
    onset.possible = from(&overflow_answer::possible);
  return onset;
}

struct sweep::implementation {
  std::vector<scenario> scenarios;
  tensor_choice choice;
  std::vector<std::size_t> delivery_of;  // index into deliveries, or `by_replay`
  std::vector<swept_delivery> deliveries;
  std::vector<swept_step> steps;      // that are not followed yet
  std::vector<std::int64_t> numbers;  // of all steps
  recorded_run run;
  std::vector<swept_scenario> policies;  // by scenario; those that are replayed do not move
  struct slow_replay {
    std::size_t scenario;
    replayer replay;
    trajectory_summary sum;
    bool lacks_input = false;
    std::string why;
    lost_steps lost;  // of the steps that are not followed yet
  };
  std::vector<slow_replay> slow;
  static constexpr std::size_t by_replay = static_cast<std::size_t>(-1);
  lost_steps lost_to_all;
  bool tells_regret;

  implementation(std::vector<scenario> all, std::optional<double> magnitude_weight)
      : scenarios(std::move(all)),
        choice(scenarios.front().counted, scenarios.front().checked, scenarios.front().recipe.scales()),
        tells_regret(magnitude_weight.has_value()) {
    for (std::size_t i = 0; i < scenarios.size(); ++i) {
      const scenario& s = scenarios[i];
      policies.emplace_back(s.recipe.machine(), tells_regret);
      if (std::string why = why_replayed(s); !why.empty()) {
        delivery_of.push_back(by_replay);
        slow.push_back({.scenario = i, .replay = replayer(s), .why = std::move(why)});
        continue;
      }
      const treatment& d = s.recipe.usual();
      const auto same = std::find_if(deliveries.begin(), deliveries.end(), [&](const auto& b) { return b.of == d; });
      delivery_of.push_back(static_cast<std::size_t>(same - deliveries.begin()));
      if (same == deliveries.end())
        deliveries.push_back({.of = d, .scenario = i, .costs = run_costs(magnitude_weight.value_or(1))});
    }
  }

  void follow() {
    const std::size_t first = numbers.size() - steps.size();
    lost_steps common;
    for (std::size_t i = 0; i < steps.size(); ++i)
      if (steps[i].is_lost) common.push_back(first + i);
    const auto keep_common = [&](const lost_steps& lost) {
      lost_steps both;
      std::ranges::set_intersection(common, lost, std::back_inserter(both));
      common = std::move(both);
    };
    std::mutex keeping;
    tbb::parallel_for(std::size_t{0}, policies.size(), [&](std::size_t i) {
      if (delivery_of[i] == by_replay) return;
      const lost_steps lost = policies[i].follow(steps, first, deliveries[delivery_of[i]]);
      const std::lock_guard lock(keeping);
      keep_common(lost);
    });
    for (slow_replay& s : slow) keep_common(std::exchange(s.lost, {}));
    lost_to_all.insert(lost_to_all.end(), common.begin(), common.end());
    for (swept_delivery& d : deliveries) d.forget_steps();
    steps.clear();
  }
};

sweep::sweep(std::vector<scenario> scenarios, std::optional<double> magnitude_weight)
    : implementation_(std::make_unique<implementation>(std::move(scenarios), magnitude_weight)) {}
sweep::~sweep() = default;

std::size_t sweep::steps() const noexcept { return implementation_->numbers.size(); }
const tensor_choice& sweep::choice() const noexcept { return implementation_->choice; }

void sweep::add(const step& now, const std::vector<tensor_info>& tensors) {
  implementation& all = *implementation_;
  all.choice.see(tensors);
  if (all.steps.size() == block) all.follow();
  swept_step& stored = all.steps.emplace_back();
  stored.key = now.key;
  all.numbers.push_back(now.key.step);
  step_accumulator sums;
  if (now.tensors.empty()) sums.add_log(now);
  all.run.see(now, tensors);
  step_overflow overflow(now, all.run);
  std::map<double, cell_table> counted;  // the tables of each factor as one
  std::map<double, cell_table> unscaled;
  for (const tensor_row& t : now.tensors) {
    const tensor_choice::membership& m = all.choice[t.tensor];
    if (m.counted) {
      stored.add(t.table);
      const auto [at, fresh] = (m.is_scaled ? counted : unscaled).try_emplace(t.unit(), t.table);
      if (!fresh) at->second.merge(t.table);
    }
    if (m.checked) overflow.add(t, m.is_scaled);
    if (m.seen_if_lost) {
      overflow.add_lost(t);
      stored.is_lost = stored.is_lost || t.table.nonfinite() > 0;
    }
    sums.add(t, m);
  }
  if (now.tensors.empty())
    overflow.add_log(now);
  else
    overflow.add_finding();
  stored.largest = sums.largest;
  stored.norm = sums.norm.as_seen();
  stored.is_lost = stored.is_lost || sums.largest.is_lost();

  const std::size_t index = all.numbers.size() - 1;
  for (auto& s : all.slow) {
    bool is_lost = true;
    if (s.sum.error.empty()) {
      const trajectory_row row = s.replay.advance(now, tensors);
      s.sum.add(row);
      s.lacks_input = row.lacks_input;
      is_lost = row.skipped || row.poisoned;
    }
    if (stored.is_lost && is_lost) s.lost.push_back(index);
  }
  for (swept_delivery& d : all.deliveries) {
    d.overflow.push_back(onset_of(overflow, all.scenarios[d.scenario]));
    underflow_counts counts;
    magnitude_loss loss;
    for (const auto& [factor, table] : counted) {
      add_underflow(counts, table, d.of, factor);
      if (all.tells_regret) loss += magnitude_loss_of(table, d.of, factor);
    }
    d.underflow.add(counts);
    if (all.tells_regret) d.costs.add(exponents_of(d.overflow.back()), loss);
    count_range& at_one = d.unscaled.emplace_back();
    for (const auto& [factor, table] : unscaled) at_one += outcomes_of(table, d.of, {.factor = factor}).underflow;
  }
}

std::vector<sweep_result> sweep::results(const std::function<void()>& done) {
  implementation& all = *implementation_;
  all.follow();
  std::vector<sweep_result> results;
  for (const swept_scenario& policy : all.policies) {
    results.push_back(policy.result(all.numbers.size()));
    if (done) done();
  }
  for (std::size_t d = 0; all.tells_regret && d < all.deliveries.size(); ++d) {
    std::vector<policy_regret*> policies;
    for (std::size_t i = 0; i < results.size(); ++i)
      if (all.delivery_of[i] == d && results[i].regret) policies.push_back(&*results[i].regret);
    compare_with_best(all.deliveries[d].costs, policies);
  }
  for (const auto& s : all.slow) {
    sweep_result& r = results[s.scenario];
    r = {};
    r.steps = s.sum.steps;
    r.skipped = s.sum.skipped;
    r.poisoned = s.sum.poisoned;
    r.bounds = s.sum.bounds;
    r.uncertain = s.sum.uncertain;
    r.least_scale = s.sum.least_scale;
    r.greatest_scale = s.sum.greatest_scale;
    r.last_scale = s.sum.last_scale;
    r.underflow = s.sum.counts.underflow;
    r.nonzero = s.sum.counts.numel - s.sum.counts.zero - s.sum.counts.nonfinite;
    r.has_counts = s.sum.has_counts;
    r.error = s.sum.error;
    r.lacks_input = s.lacks_input;
    r.mean_log2_scale = s.sum.mean_log2_scale();
    r.why_no_regret = s.why;
  }
  return results;
}

std::vector<std::int64_t> sweep::steps_lost_to_all() const {
  std::vector<std::int64_t> numbers;
  for (const std::size_t i : implementation_->lost_to_all) numbers.push_back(implementation_->numbers[i]);
  return numbers;
}

std::optional<best_trajectory> sweep::free_best(std::size_t scenario) const {
  const std::size_t delivery = implementation_->delivery_of[scenario];
  if (delivery == implementation::by_replay || !implementation_->tells_regret) return std::nullopt;
  return best_in_hindsight(implementation_->deliveries[delivery].costs, {}, any_moves);
}

std::int64_t sweep::step_number(std::size_t step) const { return implementation_->numbers[step]; }

std::vector<bool> pareto_front(const std::vector<sweep_result>& results, std::uint64_t all_steps) {
  std::vector<bool> front(results.size(), true);
  for (std::size_t i = 0; i < results.size(); ++i)
    for (const sweep_result& other : results) {
      const auto mine = results[i].lost_steps(all_steps);
      const auto theirs = other.lost_steps(all_steps);
      const double my_share = results[i].underflow_share();
      const double their_share = other.underflow_share();
      if (theirs <= mine && their_share <= my_share && (theirs < mine || their_share < my_share)) front[i] = false;
    }
  return front;
}

}  // namespace ulp
