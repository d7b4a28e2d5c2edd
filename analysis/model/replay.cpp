#include <ulp/model/replay.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string_view>

#include <ulp/formats/codec.hpp>
#include <ulp/formats/random_bits.hpp>
#include <ulp/model/codes.hpp>
#include <ulp/model/policy_analysis.hpp>

namespace ulp {
namespace {

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

// Whether the format delivers what is no number as infinity or NaN.
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
    // With all_random_bits two words: near the largest number fewer than 53 bits of a double are discarded.
    const std::array<std::uint32_t, 2> words{random_word(s.seed, stream, 0, 0), random_word(s.seed, stream, 0, 1)};
    const random_input random = bits == all_random_bits ? random_input{std::span<const std::uint32_t>{words}}
                                                        : random_input{random_bits(s.seed, stream, 0, bits)};
    const double largest = to_double(s.format, s.format.max_finite_code());
    const double beyond = std::ldexp(1.0, s.format.emax() + 1);
    const encoded result = encode(s.format, scaled_max, s.rounding, random);
    return {any(result.flags, status::overflow), scaled_max <= largest || scaled_max >= beyond};
  }
  const threshold t = thresholds_of(s.format, s.rounding, !positive).overflow;
  const double at = double_from(t.at);
  const bool found = t.closed ? !(scaled_max < at) : !(scaled_max <= at);
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
  double max_abs = not_known;  // of the unscaled gradients
  count_range above_edge;
  std::uint64_t elements = 0;

  bool any_max_abs = false;

  // NaN once one was NaN.
  void add_max_abs(double value) {
    if (!any_max_abs) max_abs = value;
    any_max_abs = true;
    max_abs = std::isnan(max_abs) || std::isnan(value) ? not_known : std::max(max_abs, value);
  }
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
  if (!(by.scale > 0) || !std::isfinite(by.scale) || t.table.max_abs == 0) return answer;
  if (counts_decide(t, s)) return {counts.infinite.low > 0, counts.infinite.low > 0 || counts.infinite.high == 0};
  if (s.rounding.direction == direction::stochastic) return overflows(by.scale / by.factor * t.table.max_abs, s, step);
  return {overflow_is_infinite(s.format, s.rounding, false) &&
              reaches(thresholds_of(s.format, s.rounding, false).overflow, by, t.table.max_abs),
          true};
}

double critical_scale_of(const seen_by_scaler& seen, const trajectory_row& row, const scenario& s) {
  if (hides_infinities(s)) return std::isnan(seen.max_abs) ? 0 : std::numeric_limits<double>::infinity();
  if (row.recorded_inf && !row.recorded_nan) return not_known;
  return critical_scale_of(seen.max_abs, s.format, s.rounding).largest_safe;
}

double largest_of(const tensor_row& t) {
  const double unit = std::isnan(t.factor) ? 1 : t.factor;
  return t.table.infinities() > 0 ? std::numeric_limits<double>::infinity() : t.table.largest_possible() / unit;
}

// What value clipping does to a tensor, in units of the true gradient; NaN where it holds one.
clamping clamped_of(const tensor_row& t, multiplier by, const scenario& s) {
  const bool of_scaled = s.order.clip_before_unscale;
  clamping c;
  if (!of_scaled || (by.scale > 0 && std::isfinite(by.scale)))
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

}  // namespace

trajectory_row replayer::advance(const step& now, const std::vector<tensor_info>& tensors,
                                 std::vector<tensor_outcome>* per_tensor) {
  choice_.see(tensors);
  trajectory_row row;
  row.key = now.key;
  row.recorded_applied = now.scalars.applied;
  if (!row.recorded_applied && now.scalars.found_inf) row.recorded_applied = !*now.scalars.found_inf;

  // What each scaler sees; there is one but for scalers with a scale per layer.
  std::map<std::string_view, seen_by_scaler> seen;
  const auto seen_of = [&](const std::string& layer) -> seen_by_scaler& {
    const bool per_layer = scenario_.scaler.per_layer();
    seen_by_scaler& it = seen[per_layer ? std::string_view{layer} : std::string_view{}];
    if (it.of == nullptr)
      it.of = per_layer ? &layers_.try_emplace(layer, scenario_.scaler).first->second : &scenario_.scaler;
    return it;
  };
  if (!scenario_.scaler.per_layer()) seen_of({});

  const auto from_log = [&](const std::string& layer, std::optional<bool> found_inf, std::optional<double> max_abs,
                            const std::optional<max_abs_bounds>& bounds = std::nullopt) {
    seen_by_scaler& it = seen_of(layer);
    if (max_abs) {
      row.recorded_nan = row.recorded_nan || std::isnan(*max_abs);
      it.overflow |= overflows(it.of->scale() * *max_abs, scenario_, now.key.step);
      it.add_max_abs(*max_abs);
    } else if (bounds) {
      it.overflow |= overflows(*bounds, it.of->scale(), scenario_, now.key.step);
    } else {
      it.overflow |= {found_inf.value_or(false), !(found_inf.value_or(false) && hides_infinities(scenario_))};
    }
  };
  if (!now.layers.empty() && std::ranges::all_of(now.layers, [](const auto& l) { return l.found_inf.has_value(); }))
    row.recorded_applied = std::ranges::none_of(now.layers, [](const auto& l) { return *l.found_inf; });
  for (const layer_row& layer : now.layers) from_log(layer.name, layer.found_inf, layer.max_abs);
  if (now.layers.empty() && now.tensors.empty()) from_log("", now.scalars.found_inf, now.max_abs, now.bounds);

  for (std::size_t i = group_of_.size(); i < tensors.size(); ++i)
    group_of_.push_back(group_of(scenario_.groups, tensors[i].name));
  row.group_norms.assign(scenario_.groups.size(), -1);  // squares until all are added, below 0 while there are none
  std::vector<double> without_weights = row.group_norms;

  double squares = 0;
  bool norm_known = false;
  double largest = not_known;  // of the tensors that are clipped, unscaled
  double scaled_squares = 0;   // the same, scaled
  double scaled_largest = not_known;
  clamping clamped;  // of the unscaled gradients
  for (const tensor_row& t : now.tensors) {
    const tensor_choice::membership& m = choice_[t.tensor];
    if (!m.counted && !m.checked) continue;
    const bool factor_known = !std::isnan(t.factor);
    const double unit = factor_known ? t.factor : 1;
    seen_by_scaler& it = seen_of(tensors[t.tensor].name);
    const multiplier by{.scale = it.of->scale(), .factor = unit};
    row.as_recorded = row.as_recorded || !factor_known;

    outcome_counts counts;
    if (m.counted || counts_decide(t, scenario_)) counts = outcomes_of(t, scenario_.format, scenario_.rounding, by);
    if (m.counted) {
      row.counts += counts;
      row.has_counts = true;
      if (per_tensor != nullptr) per_tensor->push_back(outcome_of(t, now.key, by, m.checked, counts, scenario_));
    }
    if (m.checked) {
      ++checked_rows_;
      row.recorded_nan = row.recorded_nan || t.table.nans > 0;
      row.recorded_inf = row.recorded_inf || t.table.infinities() > 0;
      it.overflow |= overflows(t, by, counts, scenario_, now.key.step);
      it.add_max_abs(t.table.nans > 0           ? not_known
                     : t.table.infinities() > 0 ? std::numeric_limits<double>::infinity()
                                                : t.table.largest_possible() / unit);
      if (const double edge = it.of->edge(); !std::isnan(edge) && by.scale > 0 && std::isfinite(by.scale)) {
        const count_range above = count_above(t, edge, by);
        it.above_edge += above;
        it.elements += t.table.numel - t.table.nans;
      }
    }
    if (m.counted && group_of_[t.tensor]) {
      double& of_group = (m.in_norm ? row.group_norms : without_weights)[*group_of_[t.tensor]];
      of_group = (of_group < 0 ? 0 : of_group) + squares_of(t).value;
    }
    if (m.in_norm) {
      norm_known = true;
      largest = std::fmax(largest, largest_of(t));
      const value_sum sum = squares_of(t);
      squares += sum.value;
      scaled_squares += sum.value * by.scale * by.scale;
      scaled_largest = std::fmax(scaled_largest, largest_of(t) * by.scale);
      if (scenario_.clip_value) clamped += clamped_of(t, by, scenario_);
      row.norm_exact = row.norm_exact && sum.quality != sum_quality::estimated;
    }
  }
  if (norm_known) row.norm = std::sqrt(squares);
  for (std::size_t i = 0; i < row.group_norms.size(); ++i) {
    double& norm = row.group_norms[i];
    if (norm < 0) norm = without_weights[i];
    norm = norm < 0 ? not_known : std::sqrt(norm);
  }
  const bool of_scaled = scenario_.order.clip_before_unscale;
  if (scenario_.clip_norm) {
    row.clipped.reset();
    if (norm_known) {
      const double norm = of_scaled ? std::sqrt(scaled_squares) : row.norm;
      row.clip_coefficient = scenario_.clip_norm->coefficient(norm);
      row.clipped = scenario_.clip_norm->triggers(norm);
      const double clipped = *row.clipped ? row.norm * row.clip_coefficient : row.norm;
      row.clipped_norm = {clipped, clipped};
    }
  }
  if (scenario_.clip_value) {
    if (now.tensors.empty()) {
      largest = now.max_abs.value_or(not_known);
      scaled_largest = largest * scenario_.scaler.scale();
    }
    row.clipped.reset();
    if (!std::isnan(largest)) row.clipped = scenario_.clip_value->triggers(of_scaled ? scaled_largest : largest);
    if (norm_known) {
      row.clamped = clamped.elements;
      row.clipped_norm = {std::sqrt(clamped.squares.low), std::sqrt(clamped.squares.high)};
    }
  }
  // A norm that is NaN fails every "is finite" as an infinite one does.
  const double norm_seen = norm_known && std::isnan(row.norm) ? std::numeric_limits<double>::infinity() : row.norm;

  const bool one_scale = !scenario_.scaler.per_layer() || seen.empty();
  row.scale_used = row.scale_next = one_scale ? scenario_.scaler.scale() : std::numeric_limits<double>::infinity();
  overflow_answer overflow;
  for (auto& [layer, it] : seen) {
    overflow |= it.overflow;
    row.scale_used = one_scale ? row.scale_used : std::min(row.scale_used, it.of->scale());
    scaler_input input{.found_inf = it.overflow.found, .unscaled_norm = norm_seen, .max_abs = it.max_abs};
    if (hides_infinities(scenario_)) {
      // What the policy sees is clamped already; its norm was not recorded.
      const double bound = scenario_.clip_value->max_value / (of_scaled ? it.of->scale() : 1);
      input.unscaled_norm = not_known;
      input.max_abs = std::isnan(it.max_abs) ? it.max_abs : std::min(it.max_abs, bound);
    }
    if (it.elements > 0) {
      input.above_edge = static_cast<double>(it.above_edge.high);
      input.up_to_edge = static_cast<double>(it.elements - it.above_edge.high);
      if (!it.above_edge.exact()) overflow.certain = false;
    }
    scaler_verdict verdict = it.of->update(input);
    row.skipped = row.skipped || verdict.skipped;
    if (row.error.empty()) row.error = std::move(verdict.error);
    row.lacks_input = row.lacks_input || verdict.lacks_input;
    row.scale_next = std::min(row.scale_next, it.of->scale());
  }
  if (!scenario_.scaler.per_layer()) row.scale_next = scenario_.scaler.scale();
  // Layers without a row in this step keep theirs.
  for (const auto& [name, layer] : layers_)
    if (!seen.contains(name)) {
      row.scale_used = std::min(row.scale_used, layer.scale());
      row.scale_next = std::min(row.scale_next, layer.scale());
    }
  row.found_inf = overflow.found;
  row.found_inf_certain = overflow.certain;
  row.poisoned = row.found_inf && !row.skipped && row.error.empty() && std::isnan(scenario_.scaler.edge());
  // Infinities as recorded hide how large the gradients were.
  const seen_by_scaler* const one = scenario_.scaler.per_layer() ? nullptr : &seen.begin()->second;
  if (one != nullptr && one->any_max_abs) row.critical_scale = critical_scale_of(*one, row, scenario_);
  row.unscaled_by = scenario_.scaler.unscales_with_next() ? row.scale_next : row.scale_used;
  return row;
}

void trajectory_summary::add(const trajectory_row& row) {
  const auto least = [](double a, double b) { return std::isnan(a) ? b : std::min(a, b); };
  const auto greatest = [](double a, double b) { return std::isnan(a) ? b : std::max(a, b); };
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
  least_scale = least(least_scale, row.scale_used);
  greatest_scale = greatest(greatest_scale, row.scale_used);
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
