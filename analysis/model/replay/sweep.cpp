#include <ulp/model/sweep.hpp>

#include <tbb/parallel_for.h>
#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <mutex>

#include <ulp/formats/catalog.hpp>
#include <ulp/formats/codec.hpp>

#include "cells/buckets.hpp"
#include "reachable_states.hpp"
#include "smallest_overflowing.hpp"
#include "step_accumulator.hpp"
#include "step_overflow.hpp"

namespace ulp {
namespace {

// Format and rounding, which the stored counts and critical scales are of.
struct delivery {
  ulp::format format;
  ulp::rounding rounding;
  friend bool operator==(const delivery&, const delivery&) = default;
};

// Whether found_inf is a matter of the largest magnitude alone, and no count depends on a sign.
bool follows_from_largest(const scenario& s) {
  if (s.rounding.direction == direction::stochastic) return false;
  if (s.clip_value && s.order.clip_before_check) return false;  // which hides infinities
  const threshold positive = thresholds_of(s.format, s.rounding, false).nonzero;
  const threshold negative = thresholds_of(s.format, s.rounding, true).nonzero;
  const bool signs_agree = positive == negative && overflow_is_infinite(s.format, s.rounding, false) ==
                                                       overflow_is_infinite(s.format, s.rounding, true);
  return signs_agree && !s.rounding.daz && !s.scaler.per_layer() && std::isnan(s.scaler.edge());
}

// Underflow counts at the scales 2^j: entry i at j = first - i, of ascending counts; beyond the ends nothing more
// changes.
struct underflow_counts {
  int first = 0;
  std::vector<count_range> at;

  [[nodiscard]] const count_range& of(int j) const {
    const int i = std::clamp(first - j, 0, static_cast<int>(at.size()) - 1);
    return at[static_cast<std::size_t>(i)];
  }
};

int exponent_of(double power) { return std::ilogb(power); }

// Makes entries for the scales 2^last to 2^first too.
void widen(underflow_counts& a, int first, int last) {
  if (first > a.first) {
    a.at.insert(a.at.begin(), static_cast<std::size_t>(first - a.first), a.at.front());
    a.first = first;
  }
  const int end = a.first - static_cast<int>(a.at.size()) + 1;
  if (last < end) a.at.insert(a.at.end(), static_cast<std::size_t>(end - last), a.at.back());
}

// Adds to counts the underflow of a table whose values are recorded times `factor`, a power of two: the threshold at the
// scale 2^j lies in one binade, all below it underflow, and in that binade the cells decide.
void add_underflow(underflow_counts& counts, const cell_table& table, const delivery& to, int factor_exponent) {
  for (const bool negative : {false, true}) {
    const threshold edge = thresholds_of(to.format, to.rounding, negative).nonzero;
    if (edge.at.exponent < 2 * binary64.emin()) continue;  // no nonzero value becomes zero
    // Binade by binade: how many values, and how many of them are below the threshold's place in a binade.
    struct binade {
      std::uint64_t all = 0;
      count_range below;
    };
    std::map<int, binade> binades;
    for (const cell& c : table.cells) {
      if (c.sign != (negative ? cell_sign::negative : cell_sign::positive) &&
          !(c.sign == cell_sign::unknown && !negative))
        continue;
      const cell_range range = range_of(c);
      const magnitude at{.exponent = c.exponent, .fraction = edge.at.fraction};
      const auto is_below = [&](const magnitude& m, bool included) {
        return m < at || (m == at && (!edge.closed || !included));
      };
      binade& o = binades[c.exponent];
      o.all += c.count;
      const bool single = range.low == range.high;
      const bool all = is_below(range.high, single);
      const bool some = all || range.low < at || (range.low == at && range.low_closed && !edge.closed);
      if (all) o.below.low += c.count;
      if (some) o.below.high += c.count;
    }
    if (binades.empty()) continue;
    const int lowest = binades.begin()->first;
    const int highest = binades.rbegin()->first;
    // At 2^j the threshold is in binade edge.exponent - j + factor_exponent.
    const auto j_of = [&](int k) { return edge.at.exponent + factor_exponent - k; };
    const int first = j_of(lowest - 1);
    const int last = j_of(highest + 1);
    if (counts.at.empty()) {
      counts.first = first;
      counts.at.assign(static_cast<std::size_t>(first - last) + 1, {});
    }
    widen(counts, first, last);
    std::uint64_t below = 0;
    auto next = binades.begin();
    for (std::size_t i = 0; i < counts.at.size(); ++i) {
      const int k = edge.at.exponent + factor_exponent - (counts.first - static_cast<int>(i));
      while (next != binades.end() && next->first < k) {
        below += next->second.all;
        ++next;
      }
      const bool here = next != binades.end() && next->first == k;
      counts.at[i].low += below + (here ? next->second.below.low : 0);
      counts.at[i].high += below + (here ? next->second.below.high : 0);
    }
  }
}

// The same for its buckets: each underflows up to some scale for certain, and perhaps up to a greater one.
void add_buckets(underflow_counts& counts, const cell_table& table, const delivery& to, int factor_exponent) {
  const threshold edge = thresholds_of(to.format, to.rounding, false).nonzero;
  if (edge.at.exponent < 2 * binary64.emin()) return;
  // The greatest j with x * 2^j / factor below the threshold.
  const auto last_below = [&](double x) {
    const magnitude m = magnitude_of(x);
    const bool in_binade = m.fraction < edge.at.fraction || (m.fraction == edge.at.fraction && !edge.closed);
    return edge.at.exponent + factor_exponent - m.exponent - (in_binade ? 0 : 1);
  };
  struct change {
    int from;  // this scale down
    count_range by;
  };
  std::vector<change> changes;
  std::uint64_t always = 0;
  for_each_bucket(table, [&](const bucket_values& v) {
    const auto n = static_cast<std::uint64_t>(v.count);
    if (v.maybe_zero)
      always += n;  // some may be as small as one likes
    else
      changes.push_back({last_below(v.magnitudes.low), {0, n}});
    if (!v.maybe_zero) changes.push_back({last_below(v.magnitudes.high), {n, 0}});
  });
  if (changes.empty() && always == 0) return;
  int first = counts.first;
  int last = counts.first - static_cast<int>(counts.at.size()) + 1;
  for (const change& c : changes) {
    first = counts.at.empty() && &c == &changes.front() ? c.from + 1 : std::max(first, c.from + 1);
    last = counts.at.empty() && &c == &changes.front() ? c.from : std::min(last, c.from);
  }
  if (counts.at.empty()) {
    counts.first = first;
    counts.at.assign(static_cast<std::size_t>(std::max(first - last, 0)) + 1, {});
  }
  widen(counts, first, last);
  std::ranges::sort(changes, std::greater{}, &change::from);
  count_range below{0, always};
  auto next = changes.begin();
  for (std::size_t i = 0; i < counts.at.size(); ++i) {
    for (; next != changes.end() && next->from >= counts.first - static_cast<int>(i); ++next) below += next->by;
    counts.at[i] += below;
  }
}

// Adds the counts of a table recorded times any factor: between two powers of two the effective scale is between, and
// so is the count.
void add_underflow(underflow_counts& counts, const cell_table& table, const delivery& to, double factor) {
  const int exponent = std::ilogb(factor);
  const auto add = [&](underflow_counts& at, int power) {
    add_underflow(at, table, to, power);
    if (!table.buckets.empty()) add_buckets(at, table, to, power);
  };
  if (std::ldexp(1.0, exponent) == factor) return add(counts, exponent);
  underflow_counts fewest;
  underflow_counts most;
  add(fewest, exponent);
  add(most, exponent + 1);
  if (fewest.at.empty()) return;
  const int first = std::max(fewest.first, most.first);
  const int last =
      std::min(fewest.first - static_cast<int>(fewest.at.size()), most.first - static_cast<int>(most.at.size())) + 1;
  if (counts.at.empty()) {
    counts.first = first;
    counts.at.assign(static_cast<std::size_t>(first - last) + 1, {});
  }
  widen(counts, first, last);
  for (std::size_t i = 0; i < counts.at.size(); ++i) {
    const int j = counts.first - static_cast<int>(i);
    counts.at[i] += {fewest.of(j).low, most.of(j).high};
  }
}

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

struct stored_step {
  step_key key;
  double norm = not_known;  // as the replay's scaler sees it
  largest_gradient largest;
  std::uint64_t nonzero = 0;
  std::uint64_t in_no_cell = 0;   // of those: may underflow or not
  std::uint64_t maybe_zeros = 0;  // of those
  bool has_counts = false;

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
  std::vector<overflow_onset> overflow;
  std::vector<underflow_counts> underflow;
  std::vector<count_range> unscaled;  // underflow of what no scale multiplies
};

}  // namespace

struct sweep::implementation {
  std::vector<scenario> scenarios;
  tensor_choice choice;
  std::vector<std::size_t> delivery_of;  // index into deliveries, or `by_replay`
  std::vector<by_delivery> deliveries;
  std::vector<stored_step> steps;
  recorded_run run;
  struct slow_replay {
    std::size_t scenario;
    replayer replay;
    trajectory_summary sum;
    bool lacks_input = false;
  };
  std::vector<slow_replay> slow;
  static constexpr std::size_t by_replay = static_cast<std::size_t>(-1);

  explicit implementation(std::vector<scenario> all)
      : scenarios(std::move(all)), choice(scenarios.front().counted, scenarios.front().checked) {
    for (std::size_t i = 0; i < scenarios.size(); ++i) {
      const scenario& s = scenarios[i];
      if (!follows_from_largest(s)) {
        delivery_of.push_back(by_replay);
        slow.push_back({i, replayer(s), {}});
        continue;
      }
      const delivery d{s.format, s.rounding};
      const auto same = std::find_if(deliveries.begin(), deliveries.end(), [&](const auto& b) { return b.of == d; });
      delivery_of.push_back(static_cast<std::size_t>(same - deliveries.begin()));
      if (same == deliveries.end()) deliveries.push_back({.of = d, .scenario = i});
    }
  }

  // One scenario over the stored steps.
  [[nodiscard]] sweep_result result_of(std::size_t index) const {
    const by_delivery& of = deliveries[delivery_of[index]];
    const scenario& s = scenarios[index];
    scaler policy = s.scaler;
    reachable_states states;
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
        const underflow_counts& u = of.underflow[i];
        if (std::isfinite(scale)) r.underflow.high += scale == 0 ? 0 : now.in_no_cell;
        if (scale == 0) {
          r.underflow += {now.nonzero - now.maybe_zeros, now.nonzero};
        } else if (std::isfinite(scale) && !u.at.empty()) {
          r.underflow += is_power ? u.of(exponent) : count_range{u.of(exponent + 1).low, u.of(exponent).high};
        }
      }
      const overflow_answer answer = of.overflow[i].at(scale);
      const auto input = [&](double, bool found) { return input_of(now.largest, now.norm, found); };
      const bool one = states.is_one() && answer.decided();
      if (!one && !states.advance(policy, answer.decided(), {[&](double at) { return of.overflow[i].at(at); }, input})
                       .found_certain)
        ++r.uncertain;
      scaler_verdict verdict = policy.update(input(scale, answer.likely));
      states.follow(policy, verdict, answer.likely);
      scale = policy.scale();
      ++r.steps;
      r.skipped += verdict.skipped ? 1 : 0;
      r.poisoned += answer.likely && !verdict.skipped && verdict.error.empty() ? 1 : 0;
      if (!verdict.error.empty()) {
        r.error = std::move(verdict.error);
        r.lacks_input = verdict.lacks_input;
        break;
      }
    }
    r.last_scale = scale;
    r.bounds = states.totals();
    r.bounds.known = r.bounds.known && (r.error.empty() || states.is_one());
    if (r.steps > 0) r.mean_log2_scale = log2_sum / static_cast<double>(r.steps);
    return r;
  }
};

sweep::sweep(std::vector<scenario> scenarios)
    : implementation_(std::make_unique<implementation>(std::move(scenarios))) {}
sweep::~sweep() = default;

std::size_t sweep::steps() const noexcept { return implementation_->steps.size(); }
const tensor_choice& sweep::choice() const noexcept { return implementation_->choice; }

void sweep::add(const step& now, const std::vector<tensor_info>& tensors) {
  implementation& all = *implementation_;
  all.choice.see(tensors);
  for (auto& s : all.slow) {
    if (!s.sum.error.empty()) continue;
    const trajectory_row row = s.replay.advance(now, tensors);
    s.sum.add(row);
    s.lacks_input = row.lacks_input;
  }

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
    if (m.seen_if_lost) overflow.add_lost(t);
    sums.add(t, m, kind);
  }
  if (now.tensors.empty())
    overflow.add_log(now);
  else
    overflow.add_finding();
  stored.largest = sums.largest;
  stored.norm = sums.norm.as_seen();

  for (by_delivery& d : all.deliveries) {
    d.overflow.push_back(onset_of(overflow, all.scenarios[d.scenario]));
    underflow_counts& counts = d.underflow.emplace_back();
    for (const auto& [factor, table] : counted) add_underflow(counts, table, d.of, factor);
    count_range& at_one = d.unscaled.emplace_back();
    for (const auto& [factor, table] : unscaled)
      at_one += outcomes_of(table, d.of.format, d.of.rounding, {.factor = factor}).underflow;
  }
}

std::vector<sweep_result> sweep::results(const std::function<void()>& done) {
  implementation& all = *implementation_;
  std::vector<sweep_result> results(all.scenarios.size());
  std::mutex telling;
  tbb::parallel_for(std::size_t{0}, results.size(), [&](std::size_t i) {
    if (all.delivery_of[i] != implementation::by_replay) results[i] = all.result_of(i);
    const std::lock_guard lock(telling);
    if (done) done();
  });
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
  }
  return results;
}

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
