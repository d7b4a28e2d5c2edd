#include <ulp/model/replay.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <string_view>

#include <ulp/formats/codec.hpp>
#include <ulp/formats/random_bits.hpp>
#include <ulp/model/codes.hpp>
#include <ulp/model/policy_analysis.hpp>

#include "step_accumulator.hpp"

namespace ulp {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

struct overflow_answer {
  bool found = false;
  bool certain = true;

  // Any of both: certain once one was certainly found.
  overflow_answer& operator|=(const overflow_answer& other) {
    certain = (found && certain) || (other.found && other.certain) || (certain && other.certain);
    found = found || other.found;
    return *this;
  }
};

// Infinities become the bound of value clipping before anyone looks for them.
bool hides_infinities(const scenario& s) { return s.clip_value && s.order.clip_before_check; }

// Whether the format delivers what is not a number as infinity or NaN.
overflow_answer nonfinite(bool nan, const scenario& s) {
  if (hides_infinities(s) && !nan) return {false, true};
  return {nan ? s.format.has_nan() : keeps_infinity(s.format, s.rounding), true};
}

// Whether the largest |scaled gradient| is delivered as infinity or NaN, its sign not known.
overflow_answer overflows(double scaled_max, const scenario& s, std::int64_t step) {
  if (!std::isfinite(scaled_max)) return nonfinite(std::isnan(scaled_max), s);
  if (hides_infinities(s)) return {false, true};
  const bool positive = overflow_is_infinite(s.format, s.rounding, false);
  const bool negative = overflow_is_infinite(s.format, s.rounding, true);
  if (!positive && !negative) return {false, true};
  if (s.rounding.direction == direction::stochastic) {
    const std::uint64_t stream = stream_of("found_inf", step);
    const int bits = s.rounding.random_bits;
    // With exact_probability two words: near the largest number fewer than 53 bits of a double are discarded.
    const std::array<std::uint32_t, 2> words{random_word(s.seed, stream, 0, 0), random_word(s.seed, stream, 0, 1)};
    const random_input random =
        bits == exact_probability ? random_input{words} : random_input{random_bits(s.seed, stream, 0, bits)};
    const drawn_overflow drawn = drawn_overflow_of(s.format);
    const encoded result = encode(s.format, scaled_max, s.rounding, random);
    return {any(result.flags, status::overflow),
            !drawn.of_some.in_double().reached_by(scaled_max) || drawn.of_every.in_double().reached_by(scaled_max)};
  }
  const double_threshold at = thresholds_of(s.format, s.rounding, !positive).overflow.in_double();
  const bool found = at.reached_by(scaled_max);
  return {found, !found || positive == negative};
}

// The same where only bounds are known: overflow is found where they prove it.
overflow_answer overflows(const max_abs_bounds& b, double scale, const scenario& s, std::int64_t step) {
  const overflow_answer least = overflows(scale * b.low, s, step);
  overflow_answer most = nonfinite(true, s);
  if (std::isfinite(b.high))
    most = overflows(scale * std::nextafter(b.high, 0.0), s, step);
  else
    most |= overflows(b.high, s, step);
  const bool decided = (least.found && least.certain) || (!most.found && most.certain);
  return {least.found, decided && b.certain};
}

// What one scaler sees of a step.
struct seen_by_scaler {
  scaler* of = nullptr;
  overflow_answer overflow;
  largest_gradient largest;
  count_range above_edge;
  std::uint64_t elements = 0;
};

bool overflow_depends_on_sign(const format& to, const rounding& mode) {
  return overflow_is_infinite(to, mode, false) != overflow_is_infinite(to, mode, true);
}

// Whether overflow follows from the counts of outcomes rather than from the largest magnitude.
bool counts_decide(const tensor_row& t, const scenario& s) {
  return overflow_depends_on_sign(s.format, s.rounding) || std::isnan(t.table.max_abs);
}

// The same for a tensor, exactly.
overflow_answer overflows(const tensor_row& t, multiplier by, const outcome_counts& counts, const scenario& s,
                          std::int64_t step) {
  overflow_answer answer;
  if (t.table.nans > 0) answer |= nonfinite(true, s);
  if (!std::isfinite(by.scale) && t.table.numel > 0) {
    answer |= nonfinite(std::isnan(by.scale) || t.table.zeros > 0, s);  // 0 * inf
    answer |= nonfinite(false, s);
  }
  if (answer.found || hides_infinities(s)) return answer;
  if (t.table.infinities() > 0 && keeps_infinity(s.format, s.rounding))
    return {true, by.scale >= by.factor};  // scaled by the factor it was infinite; by less it need not be
  if (!by.usable() || t.table.max_abs == 0) return answer;
  if (counts_decide(t, s)) return {counts.infinite.low > 0, counts.infinite.low > 0 || counts.infinite.high == 0};
  if (s.rounding.direction == direction::stochastic) return overflows(by.scale / by.factor * t.table.max_abs, s, step);
  return {overflow_is_infinite(s.format, s.rounding, false) &&
              reaches(thresholds_of(s.format, s.rounding, false).overflow, by, t.table.max_abs),
          true};
}

double critical_scale_of(const seen_by_scaler& seen, const trajectory_row& row, const scenario& s) {
  if (hides_infinities(s)) return seen.largest.nan() ? 0 : infinity;
  if (row.recorded_inf && !row.recorded_nan) return not_known;
  return critical_scale_of(seen.largest.value(), s.format, s.rounding).largest_safe;
}

double largest_of(const tensor_row& t) {
  return t.table.infinities() > 0 ? infinity : t.table.largest_possible() / t.unit();
}

// What value clipping does to a tensor, in units of the true gradient; NaN where it holds one.
clamping clamped_of(const tensor_row& t, multiplier by, const scenario& s) {
  const bool of_scaled = s.order.clip_before_unscale;
  clamping c;
  if (!of_scaled || by.usable())
    c = clamping_of(t, s.clip_value->max_value, {.scale = of_scaled ? by.scale : 1, .factor = by.factor});
  const double unscale = of_scaled ? by.scale * by.scale : 1;
  c.squares = t.table.nans > 0 ? value_range{not_known, not_known}
                               : value_range{c.squares.low / unscale, c.squares.high / unscale};
  return c;
}

tensor_outcome outcome_of(const tensor_row& t, const step_key& key, multiplier by, bool checked,
                          const outcome_counts& counts, const scenario& s) {
  tensor_outcome result{.key = key, .tensor = t.tensor, .scale = by.scale, .checked = checked, .counts = counts};
  result.max_abs = t.table.max_abs / by.factor;
  if (t.table.nans > 0)
    result.critical_scale = 0;
  else if (t.table.infinities() == 0)
    result.critical_scale =
        critical_scale_of(t.table.largest_possible() / by.factor, s.format, s.rounding).largest_safe;
  return result;
}

// What a policy gets of a step; `norm` is that of the unscaled gradients as a scaler sees it.
scaler_input input_of(const seen_by_scaler& seen, double norm, const scenario& s) {
  scaler_input input{.found_inf = seen.overflow.found, .unscaled_norm = norm, .max_abs = seen.largest.value()};
  if (hides_infinities(s)) {
    // What the policy sees is clamped already; its norm was not recorded.
    const double bound = s.clip_value->max_value / (s.order.clip_before_unscale ? seen.of->scale() : 1);
    input.unscaled_norm = not_known;
    input.max_abs = std::isnan(input.max_abs) ? input.max_abs : std::min(input.max_abs, bound);
  }
  if (seen.elements > 0) {
    input.above_edge = static_cast<double>(seen.above_edge.high);
    input.up_to_edge = static_cast<double>(seen.elements - seen.above_edge.high);
  }
  return input;
}

// What is known of the recorded run's own decision.
std::optional<bool> recorded_decision(const step& now) {
  if (!now.layers.empty() && std::ranges::all_of(now.layers, [](const auto& l) { return l.found_inf.has_value(); }))
    return std::ranges::none_of(now.layers, [](const auto& l) { return *l.found_inf; });
  if (!now.scalars.applied && now.scalars.found_inf) return !*now.scalars.found_inf;
  return now.scalars.applied;
}

}  // namespace

// A step on its way through the stages.
struct replayer::running_step {
  replayer& of;
  const step& recorded;
  const std::vector<tensor_info>& tensors;
  std::vector<tensor_outcome>* per_tensor;
  trajectory_row row;
  std::map<std::string_view, seen_by_scaler> seen;  // by layer; one, without a name, where the scaler has one scale
  step_accumulator sums;                            // of the tensors
  // Of the tensors in the norm, which are clipped.
  double largest = not_known;
  double scaled_largest = not_known;
  double scaled_squares = 0;
  clamping clamped;

  seen_by_scaler& seen_by(const std::string& layer) {
    scaler& all = of.scenario_.scaler;
    seen_by_scaler& it = seen[all.per_layer() ? std::string_view{layer} : std::string_view{}];
    if (it.of == nullptr) it.of = all.per_layer() ? &of.layers_.try_emplace(layer, all).first->second : &all;
    return it;
  }
};

trajectory_row replayer::advance(const step& now, const std::vector<tensor_info>& tensors,
                                 std::vector<tensor_outcome>* per_tensor) {
  choice_.see(tensors);
  running_step running{.of = *this, .recorded = now, .tensors = tensors, .per_tensor = per_tensor};
  running.row.key = now.key;
  running.row.recorded_applied = recorded_decision(now);
  if (!scenario_.scaler.per_layer()) running.seen_by({});

  see_log(running);
  see_tensors(running);
  clip(running);
  update_scalers(running);
  return std::move(running.row);
}

void replayer::see_log(running_step& now) {
  const auto see = [&](const std::string& layer, std::optional<bool> found_inf, std::optional<double> max_abs,
                       const std::optional<max_abs_bounds>& bounds = std::nullopt) {
    seen_by_scaler& it = now.seen_by(layer);
    if (max_abs) {
      now.row.recorded_nan = now.row.recorded_nan || std::isnan(*max_abs);
      now.row.recorded_inf = now.row.recorded_inf || std::isinf(*max_abs);
      it.overflow |= overflows(it.of->scale() * *max_abs, scenario_, now.row.key.step);
      it.largest.add(*max_abs);
    } else if (bounds) {
      it.overflow |= overflows(*bounds, it.of->scale(), scenario_, now.row.key.step);
    } else {
      it.overflow |= {found_inf.value_or(false), !(found_inf.value_or(false) && hides_infinities(scenario_))};
    }
  };
  const step& log = now.recorded;
  for (const layer_row& layer : log.layers) see(layer.name, layer.found_inf, layer.max_abs);
  if (log.layers.empty() && log.tensors.empty()) see("", log.scalars.found_inf, log.max_abs, log.bounds);
}

void replayer::see_tensors(running_step& now) {
  trajectory_row& row = now.row;
  for (std::size_t i = group_of_.size(); i < now.tensors.size(); ++i)
    group_of_.push_back(group_of(scenario_.groups, now.tensors[i].name));
  std::vector<gradient_norm> groups(scenario_.groups.size());
  std::vector<gradient_norm> without_weights = groups;

  for (const tensor_row& t : now.recorded.tensors) {
    const tensor_choice::membership& m = choice_[t.tensor];
    if (!m.counted && !m.checked) continue;
    seen_by_scaler& it = now.seen_by(now.tensors[t.tensor].name);
    const multiplier by{.scale = it.of->scale(), .factor = t.unit()};
    row.as_recorded = row.as_recorded || !t.factor_known();

    outcome_counts counts;
    if (m.counted || counts_decide(t, scenario_)) counts = outcomes_of(t, scenario_.format, scenario_.rounding, by);
    if (m.counted) {
      row.counts += counts;
      row.has_counts = true;
      if (now.per_tensor != nullptr)
        now.per_tensor->push_back(outcome_of(t, row.key, by, m.checked, counts, scenario_));
    }
    if (m.checked) {
      ++checked_rows_;
      it.overflow |= overflows(t, by, counts, scenario_, row.key.step);
      it.largest.add(t);
      now.sums.largest.add(t);
      if (const double edge = it.of->edge(); !std::isnan(edge) && by.usable()) {
        it.above_edge += count_above(t, edge, by);
        it.elements += t.table.numel - t.table.nans;
      }
    }
    const auto group = m.counted ? group_of_[t.tensor] : std::nullopt;
    if (!group && !m.in_norm) continue;
    const value_sum squares = squares_of(t);
    if (group) (m.in_norm ? groups : without_weights)[*group].add(squares);
    if (m.in_norm) {
      now.sums.norm.add(squares);
      now.largest = std::fmax(now.largest, largest_of(t));
      now.scaled_largest = std::fmax(now.scaled_largest, largest_of(t) * by.scale);
      now.scaled_squares += squares.value * by.scale * by.scale;
      if (scenario_.clip_value) now.clamped += clamped_of(t, by, scenario_);
    }
  }
  row.recorded_nan = row.recorded_nan || now.sums.largest.nan();
  row.recorded_inf = row.recorded_inf || now.sums.largest.infinite();
  row.norm = now.sums.norm.value();
  row.norm_exact = now.sums.norm.exact();
  for (std::size_t i = 0; i < groups.size(); ++i)
    row.group_norms.push_back((groups[i].known() ? groups[i] : without_weights[i]).value());
}

void replayer::clip(running_step& now) const {
  trajectory_row& row = now.row;
  const bool of_scaled = scenario_.order.clip_before_unscale;
  const bool norm_known = now.sums.norm.known();
  if (scenario_.clip_norm) {
    row.clipped.reset();
    if (norm_known) {
      const double norm = of_scaled ? std::sqrt(now.scaled_squares) : row.norm;
      row.clip_coefficient = scenario_.clip_norm->coefficient(norm);
      row.clipped = scenario_.clip_norm->triggers(norm);
      const double clipped = *row.clipped ? row.norm * row.clip_coefficient : row.norm;
      row.clipped_norm = {clipped, clipped};
    }
  }
  if (scenario_.clip_value) {
    if (now.recorded.tensors.empty()) {
      step_accumulator logged;
      logged.add_log(now.recorded);
      now.largest = logged.largest.value();
      largest_gradient scaled;
      for (const layer_row& layer : now.recorded.layers)
        if (layer.max_abs) scaled.add(now.seen_by(layer.name).of->scale() * *layer.max_abs);
      now.scaled_largest = scaled.known() ? scaled.value() : now.largest * scenario_.scaler.scale();
    }
    row.clipped.reset();
    if (!std::isnan(now.largest))
      row.clipped = scenario_.clip_value->triggers(of_scaled ? now.scaled_largest : now.largest);
    if (norm_known) {
      row.clamped = now.clamped.elements;
      row.clipped_norm = {std::sqrt(now.clamped.squares.low), std::sqrt(now.clamped.squares.high)};
    }
  }
}

void replayer::update_scalers(running_step& now) {
  trajectory_row& row = now.row;
  const bool per_layer = scenario_.scaler.per_layer();
  const bool one_scale = !per_layer || now.seen.empty();
  row.scale_used = row.scale_next = one_scale ? scenario_.scaler.scale() : infinity;
  overflow_answer overflow;
  for (auto& [layer, it] : now.seen) {
    overflow |= it.overflow;
    if (it.elements > 0 && !it.above_edge.exact()) overflow.certain = false;
    row.scale_used = one_scale ? row.scale_used : std::min(row.scale_used, it.of->scale());
    scaler_verdict verdict = it.of->update(input_of(it, now.sums.norm.as_seen(), scenario_));
    row.skipped = row.skipped || verdict.skipped;
    if (row.error.empty()) row.error = std::move(verdict.error);
    row.lacks_input = row.lacks_input || verdict.lacks_input;
    row.scale_next = std::min(row.scale_next, it.of->scale());
  }
  if (!per_layer) row.scale_next = scenario_.scaler.scale();
  // Layers without a row in this step keep theirs.
  for (const auto& [name, layer] : layers_)
    if (!now.seen.contains(name)) {
      row.scale_used = std::min(row.scale_used, layer.scale());
      row.scale_next = std::min(row.scale_next, layer.scale());
    }
  row.found_inf = overflow.found;
  row.found_inf_certain = overflow.certain;
  row.poisoned = row.found_inf && !row.skipped && row.error.empty() && std::isnan(scenario_.scaler.edge());
  // Infinities as recorded hide how large the gradients were.
  const seen_by_scaler* const one = per_layer ? nullptr : &now.seen.begin()->second;
  if (one != nullptr && one->largest.known()) row.critical_scale = critical_scale_of(*one, row, scenario_);
  row.unscaled_by = scenario_.scaler.unscales_with_next() ? row.scale_next : row.scale_used;
}

void trajectory_summary::add(const trajectory_row& row) {
  if (steps == 0) first_scale = row.scale_used;
  ++steps;
  skipped += row.skipped ? 1 : 0;
  poisoned += row.poisoned ? 1 : 0;
  clipped += row.clipped.value_or(false) ? 1 : 0;
  clipping_unknown += row.clipped ? 0 : 1;
  recorded_nan += row.recorded_nan ? 1 : 0;
  recorded_inf += row.recorded_inf && !row.recorded_nan ? 1 : 0;
  if ((row.recorded_nan || row.recorded_inf) && !first_recorded_nonfinite) first_recorded_nonfinite = row.key.step;
  uncertain += row.found_inf_certain ? 0 : 1;
  last_scale = row.scale_next;
  least_scale = std::fmin(least_scale, row.scale_used);
  greatest_scale = std::fmax(greatest_scale, row.scale_used);
  log2_sum += std::log2(row.scale_used);
  counts += row.counts;
  has_counts = has_counts || row.has_counts;
  as_recorded = as_recorded || row.as_recorded;
  if (row.skipped && !first_skip) first_skip = row.key.step;
  recorded_outcome_known = recorded_outcome_known || row.recorded_applied.has_value();
  if (row.skipped == row.recorded_applied.value_or(true) && !first_divergence) first_divergence = row.key.step;
  if (!row.error.empty()) error = row.error;
}

}  // namespace ulp
