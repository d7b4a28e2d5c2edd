#include <ulp/model/sweep.hpp>

#include <tbb/parallel_for.h>
#include <algorithm>
#include <bit>
#include <cmath>
#include <deque>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <mutex>
#include <optional>

#include "cells/buckets.hpp"
#include "policy_costs.hpp"
#include "reachable_states.hpp"
#include "smallest_overflowing.hpp"
#include "step_accumulator.hpp"
#include "step_overflow.hpp"
#include "underflow_counts.hpp"

namespace ulp {
namespace {

// Why found_inf is not a matter of the largest magnitude alone, or some count depends on a sign; empty where neither.
std::string why_replayed(const scenario& s) {
  if (s.rounding.direction == direction::stochastic) return "stochastic rounding is drawn";
  if (s.clip_value && s.order.clip_before_check) return "values are clipped before the overflow check";
  const threshold positive = thresholds_of(s.format, s.rounding, false).nonzero;
  const threshold negative = thresholds_of(s.format, s.rounding, true).nonzero;
  if (!(positive == negative) || overflow_depends_on_sign(s.format, s.rounding))
    return "the rounding depends on the sign";
  if (s.rounding.daz) return "inputs are flushed (DAZ)";
  if (s.scaler.per_layer()) return "a scale for each layer";
  if (!std::isnan(s.scaler.edge())) return "the policy counts by an edge";
  return "";
}

int exponent_of(double power) { return std::ilogb(power); }

// Where a step begins to overflow: the least scales above 0.
struct overflow_onset {
  double certain = 0;
  double likely = 0;
  double possible = 0;
  overflow_answer at_zero;
  overflow_answer at_infinity;
  overflow_answer at_nan;

  [[nodiscard]] overflow_answer at(double scale) const {
    if (scale == 0) return at_zero;
    if (std::isnan(scale)) return at_nan;
    if (std::isinf(scale)) return at_infinity;
    return {scale >= certain, scale >= likely, scale >= possible};
  }
};

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

overflow_exponents exponents_of(const overflow_onset& onset) {
  return {overflow_exponent_of(onset.certain), overflow_exponent_of(onset.likely),
          overflow_exponent_of(onset.possible)};
}

struct stored_step {
  step_key key;
  double norm = not_known;  // as the replay's scaler sees it
  largest_gradient largest;
  std::uint64_t nonzero = 0;
  std::uint64_t in_no_cell = 0;   // of those: may underflow or not
  std::uint64_t maybe_zeros = 0;  // of those
  bool has_counts = false;
  bool is_lost = false;  // holds infinities or NaN as recorded

  void add(const cell_table& counted) {
    has_counts = true;
    nonzero += counted.nonzero_finite();
    in_no_cell += ulp::in_no_cell(counted);
    maybe_zeros += counted.maybe_zeros;
  }
};

// What is stored of each step for one delivery.
struct by_delivery {
  delivery of;
  std::size_t scenario = 0;  // one that has it
  std::deque<overflow_onset> overflow;
  stored_underflow underflow;
  std::deque<count_range> unscaled;  // underflow of what no scale multiplies
  run_costs costs;
};

// Indices, ascending.
using lost_steps = std::vector<std::size_t>;

}  // namespace

struct sweep::implementation {
  std::vector<scenario> scenarios;
  tensor_choice choice;
  std::vector<std::size_t> delivery_of;  // index into deliveries, or `by_replay`
  std::vector<by_delivery> deliveries;
  std::deque<stored_step> steps;
  recorded_run run;
  struct slow_replay {
    std::size_t scenario;
    replayer replay;
    trajectory_summary sum;
    bool lacks_input = false;
    std::string why;
    lost_steps lost;
  };
  std::vector<slow_replay> slow;
  static constexpr std::size_t by_replay = static_cast<std::size_t>(-1);

  lost_steps lost_to_all;  // after results()

  bool tells_regret;

  implementation(std::vector<scenario> all, std::optional<double> magnitude_weight)
      : scenarios(std::move(all)),
        choice(scenarios.front().counted, scenarios.front().checked),
        tells_regret(magnitude_weight.has_value()) {
    for (std::size_t i = 0; i < scenarios.size(); ++i) {
      const scenario& s = scenarios[i];
      if (std::string why = why_replayed(s); !why.empty()) {
        delivery_of.push_back(by_replay);
        slow.push_back({.scenario = i, .replay = replayer(s), .why = std::move(why)});
        continue;
      }
      const delivery d{s.format, s.rounding};
      const auto same = std::find_if(deliveries.begin(), deliveries.end(), [&](const auto& b) { return b.of == d; });
      delivery_of.push_back(static_cast<std::size_t>(same - deliveries.begin()));
      if (same == deliveries.end())
        deliveries.push_back({.of = d, .scenario = i, .costs = run_costs(magnitude_weight.value_or(1))});
    }
  }

  // One scenario over the stored steps; `lost` gets those that are recorded as lost and that it loses.
  [[nodiscard]] sweep_result result_of(std::size_t index, lost_steps& lost) const {
    const by_delivery& of = deliveries[delivery_of[index]];
    const scenario& s = scenarios[index];
    scaler policy = s.scaler;
    reachable_states states;
    policy_way way;
    bool raising_lost = false;
    sweep_result r;
    r.least_scale = std::numeric_limits<double>::infinity();
    r.greatest_scale = 0;
    double log2_sum = 0;
    double scale = policy.scale();
    double last_seen = not_known;
    bool is_power = false;
    int exponent = 0;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const stored_step& now = steps[i];
      if (scale != last_seen) {
        last_seen = scale;
        const bool usable = multiplier{.scale = scale}.usable();
        exponent = usable ? exponent_of(scale) : 0;
        is_power = usable && std::ldexp(1.0, exponent) == scale;
      }
      r.least_scale = std::min(r.least_scale, scale);
      r.greatest_scale = std::max(r.greatest_scale, scale);
      log2_sum += is_power ? exponent : std::log2(scale);
      if (now.has_counts) {
        r.has_counts = true;
        r.nonzero += now.nonzero;
        r.underflow += of.unscaled[i];
        const stored_underflow& u = of.underflow;
        if (std::isfinite(scale)) r.underflow.high += scale == 0 ? 0 : now.in_no_cell;
        if (scale == 0) {
          r.underflow += {now.nonzero - now.maybe_zeros, now.nonzero};
        } else if (std::isfinite(scale) && !u.empty(i)) {
          r.underflow += is_power ? u.of(i, exponent) : count_range{u.of(i, exponent + 1).low, u.of(i, exponent).high};
        }
      }
      const overflow_answer answer = of.overflow[i].at(scale);
      const auto input = [&](double, bool found) { return input_of(now.largest, now.norm, found); };
      std::optional<value_range> open;  // the scales that may have been used
      if (!states.is_one() || !answer.decided()) {
        const bounds_of_step all =
            states.advance(policy, answer.decided(), {[&](double at) { return of.overflow[i].at(at); }, input});
        if (!all.found_certain) ++r.uncertain;
        open = all.scale_used;
      }
      scaler_verdict verdict = policy.update(input(scale, answer.likely));
      states.follow(policy, verdict, answer.likely);
      const bool is_lost = verdict.skipped || answer.likely;
      if (tells_regret) way.add(of.costs, i, now.key.step, scale, is_lost, open);
      if (now.is_lost && is_lost) lost.push_back(i);
      scale = policy.scale();
      ++r.steps;
      r.skipped += verdict.skipped ? 1 : 0;
      r.poisoned += answer.likely && !verdict.skipped && verdict.error.empty() ? 1 : 0;
      if (!verdict.error.empty()) {
        raising_lost = is_lost && !verdict.skipped;
        r.error = std::move(verdict.error);
        r.lacks_input = verdict.lacks_input;
        break;
      }
    }
    for (std::size_t i = r.steps; i < steps.size(); ++i)
      if (steps[i].is_lost) lost.push_back(i);
    way.leave_undone(steps.size() - r.steps, raising_lost);
    r.why_no_regret = way.why_none();
    r.last_scale = scale;
    r.bounds = states.totals();
    r.bounds.known = r.bounds.known && (r.error.empty() || states.is_one());
    if (tells_regret && way.why_none().empty()) {
      bounds_of_run bounds = r.bounds;
      bounds.known = bounds.known && !states.any_raised();
      r.regret = way.cost(bounds);
    }
    if (r.steps > 0) r.mean_log2_scale = log2_sum / static_cast<double>(r.steps);
    return r;
  }
};

sweep::sweep(std::vector<scenario> scenarios, std::optional<double> magnitude_weight)
    : implementation_(std::make_unique<implementation>(std::move(scenarios), magnitude_weight)) {}
sweep::~sweep() = default;

std::size_t sweep::steps() const noexcept { return implementation_->steps.size(); }
const tensor_choice& sweep::choice() const noexcept { return implementation_->choice; }

void sweep::add(const step& now, const std::vector<tensor_info>& tensors) {
  implementation& all = *implementation_;
  all.choice.see(tensors);
  stored_step& stored = all.steps.emplace_back();
  stored.key = now.key;
  step_accumulator sums;
  if (now.tensors.empty()) sums.add_log(now);
  all.run.see(now, tensors);
  step_overflow overflow(now, all.run);
  std::map<double, cell_table> counted;  // the tables of each factor as one
  std::map<double, cell_table> unscaled;
  for (const tensor_row& t : now.tensors) {
    const tensor_choice::membership& m = all.choice[t.tensor];
    const tensor_kind kind = tensors[t.tensor].kind;
    if (m.counted) {
      stored.add(t.table);
      const auto [at, fresh] = (is_scaled(kind) ? counted : unscaled).try_emplace(t.unit(), t.table);
      if (!fresh) at->second.merge(t.table);
    }
    if (m.checked) overflow.add(t, kind);
    if (m.seen_if_lost) {
      overflow.add_lost(t);
      stored.is_lost = stored.is_lost || t.table.nonfinite() > 0;
    }
    sums.add(t, m, kind);
  }
  if (now.tensors.empty())
    overflow.add_log(now);
  else
    overflow.add_finding();
  stored.largest = sums.largest;
  stored.norm = sums.norm.as_seen();
  stored.is_lost = stored.is_lost || sums.largest.is_lost();

  const std::size_t index = all.steps.size() - 1;
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
  for (by_delivery& d : all.deliveries) {
    d.overflow.push_back(onset_of(overflow, all.scenarios[d.scenario]));
    underflow_counts counts;
    magnitude_loss loss;
    for (const auto& [factor, table] : counted) {
      add_underflow(counts, table, d.of, factor);
      if (all.tells_regret) loss += magnitude_loss_of(table, d.of.format, d.of.rounding, factor);
    }
    d.underflow.add(counts);
    if (all.tells_regret) d.costs.add(exponents_of(d.overflow.back()), loss);
    count_range& at_one = d.unscaled.emplace_back();
    for (const auto& [factor, table] : unscaled)
      at_one += outcomes_of(table, d.of.format, d.of.rounding, {.factor = factor}).underflow;
  }
}

std::vector<sweep_result> sweep::results(const std::function<void()>& done) {
  implementation& all = *implementation_;
  std::vector<sweep_result> results(all.scenarios.size());
  all.lost_to_all.clear();
  for (std::size_t i = 0; i < all.steps.size(); ++i)
    if (all.steps[i].is_lost) all.lost_to_all.push_back(i);
  const auto keep_common = [&](const lost_steps& lost) {
    lost_steps common;
    std::ranges::set_intersection(all.lost_to_all, lost, std::back_inserter(common));
    all.lost_to_all = std::move(common);
  };
  std::mutex telling;
  tbb::parallel_for(std::size_t{0}, results.size(), [&](std::size_t i) {
    lost_steps lost;
    const bool is_fast = all.delivery_of[i] != implementation::by_replay;
    if (is_fast) results[i] = all.result_of(i, lost);
    const std::lock_guard lock(telling);
    if (is_fast) keep_common(lost);
    if (done) done();
  });
  for (std::size_t d = 0; all.tells_regret && d < all.deliveries.size(); ++d) {
    std::vector<policy_regret*> policies;
    for (std::size_t i = 0; i < results.size(); ++i)
      if (all.delivery_of[i] == d && results[i].regret) policies.push_back(&*results[i].regret);
    compare_with_best(all.deliveries[d].costs, policies);
  }
  for (const auto& s : all.slow) {
    sweep_result& r = results[s.scenario];
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
    keep_common(s.lost);
  }
  return results;
}

std::vector<std::int64_t> sweep::steps_lost_to_all() const {
  std::vector<std::int64_t> numbers;
  for (const std::size_t i : implementation_->lost_to_all) numbers.push_back(implementation_->steps[i].key.step);
  return numbers;
}

std::optional<best_trajectory> sweep::free_best(std::size_t scenario) const {
  const std::size_t delivery = implementation_->delivery_of[scenario];
  if (delivery == implementation::by_replay || !implementation_->tells_regret) return std::nullopt;
  return best_in_hindsight(implementation_->deliveries[delivery].costs, {}, any_moves);
}

std::int64_t sweep::step_number(std::size_t step) const { return implementation_->steps[step].key.step; }

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
