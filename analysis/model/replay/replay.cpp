#include <ulp/model/replay/replay.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <string_view>

#include <ulp/model/machines/policy_analysis.hpp>
#include <ulp/model/outcomes/row_outcomes.hpp>

#include "reachable_states.hpp"
#include "step_accumulator.hpp"
#include "step_overflow.hpp"

namespace ulp {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// What one scaler sees of a step.
struct seen_by_scaler {
  scaler* of = nullptr;
  step_overflow overflow;
  largest_gradient largest;
  count_range above_edge;
  std::uint64_t elements = 0;
};

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
  if (t.table.nonfinite() == 0)
    result.critical_scale =
        critical_scale_of(t.table.largest_possible() / by.factor, s.format, s.rounding).largest_safe;
  return result;
}

// The same at a scale, with what clipping and counting by an edge change.
scaler_input input_of(const seen_by_scaler& seen, double norm, double scale, bool found, const scenario& s) {
  scaler_input input = ulp::input_of(seen.largest, norm, found);
  if (hides_infinities(s)) {
    // What the policy sees is clamped already; its norm was not recorded.
    const double bound = s.clip_value->max_value / (s.order.clip_before_unscale ? scale : 1);
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

// What is known of the run before the next step.
struct replayer::history {
  recorded_run run;
  reachable_states states;
  bounds_of_run layers{.known = true};  // of a scaler with a scale for each layer
};

replayer::replayer(scenario what)
    : scenario_(std::move(what)), choice_(scenario_.counted, scenario_.checked), so_far_(std::make_unique<history>()) {}
replayer::replayer(replayer&&) noexcept = default;
replayer& replayer::operator=(replayer&&) noexcept = default;
replayer::~replayer() = default;

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
    const std::string_view name = all.per_layer() ? std::string_view{layer} : std::string_view{};
    const auto at = seen.find(name);
    if (at != seen.end()) return at->second;
    scaler* const by = all.per_layer() ? &of.layers_.try_emplace(layer, all).first->second : &all;
    return seen.emplace(name, seen_by_scaler{.of = by, .overflow{recorded, of.so_far_->run}}).first->second;
  }
};

trajectory_row replayer::advance(const step& now, const std::vector<tensor_info>& tensors,
                                 std::vector<tensor_outcome>* per_tensor) {
  choice_.see(tensors);
  so_far_->run.see(now, tensors);
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
  const auto see = [&](seen_by_scaler& it, std::optional<double> max_abs) {
    if (!max_abs) return;
    now.row.recorded_nan = now.row.recorded_nan || std::isnan(*max_abs);
    now.row.recorded_inf = now.row.recorded_inf || std::isinf(*max_abs);
    it.largest.add(*max_abs);
  };
  const step& log = now.recorded;
  for (const layer_row& layer : log.layers) {
    seen_by_scaler& it = now.seen_by(layer.name);
    it.overflow.add_log(layer.found_inf, layer.max_abs);
    see(it, layer.max_abs);
  }
  if (!log.layers.empty() || !log.tensors.empty()) return;
  seen_by_scaler& it = now.seen_by({});
  it.overflow.add_log(log);
  see(it, log.max_abs);
}

void replayer::see_tensors(running_step& now) {
  trajectory_row& row = now.row;
  for (std::size_t i = group_of_.size(); i < now.tensors.size(); ++i)
    group_of_.push_back(group_of(scenario_.groups, now.tensors[i].name));
  std::vector<gradient_norm> groups(scenario_.groups.size());
  std::vector<gradient_norm> without_weights = groups;

  for (const tensor_row& t : now.recorded.tensors) {
    const tensor_choice::membership& m = choice_[t.tensor];
    const tensor_kind kind = now.tensors[t.tensor].kind;
    if (m.seen_if_lost && !scenario_.scaler.per_layer() && t.table.nonfinite() > 0)
      now.seen_by(now.tensors[t.tensor].name).overflow.add_lost(t);
    if (!m.counted && !m.checked) continue;
    seen_by_scaler& it = now.seen_by(now.tensors[t.tensor].name);
    const multiplier by{.scale = is_scaled(kind) ? it.of->scale() : 1, .factor = t.unit()};
    row.as_recorded = row.as_recorded || !t.factor_known();

    if (m.counted) {
      const outcome_counts counts = outcomes_of(t, scenario_.format, scenario_.rounding, by);
      row.counts += counts;
      row.has_counts = true;
      if (now.per_tensor != nullptr)
        now.per_tensor->push_back(outcome_of(t, row.key, by, m.checked, counts, scenario_));
    }
    if (m.checked) {
      ++checked_rows_;
      it.overflow.add(t, kind);
      if (is_scaled(kind)) it.largest.add(t);
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
  if (norm_known) row.clip_measure = of_scaled ? std::sqrt(now.scaled_squares) : row.norm;
  if (scenario_.clip_norm) {
    row.clipped.reset();
    if (norm_known) {
      row.clip_coefficient = scenario_.clip_norm->coefficient(row.clip_measure);
      row.clipped = scenario_.clip_norm->triggers(row.clip_measure);
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
    row.clip_measure = of_scaled ? now.scaled_largest : now.largest;
    if (!std::isnan(now.largest)) row.clipped = scenario_.clip_value->triggers(row.clip_measure);
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
    if (!per_layer && !now.recorded.tensors.empty()) it.overflow.add_finding();
    const double scale = it.of->scale();
    const overflow_answer answer = it.overflow.at(scale, scenario_);
    overflow |= answer;
    if (it.elements > 0 && !it.above_edge.exact()) overflow.possible = !(overflow.certain = false);
    row.scale_used = one_scale ? row.scale_used : std::min(row.scale_used, scale);
    const auto input = [&](double at, bool found) {
      return input_of(it, now.sums.norm.as_seen(), at, found, scenario_);
    };
    if (!per_layer)
      row.bounds = so_far_->states.advance(*it.of, answer.decided(),
                                           {[&](double at) { return it.overflow.at(at, scenario_); }, input});
    scaler_verdict verdict = it.of->update(input(scale, answer.likely));
    if (!per_layer) so_far_->states.follow(*it.of, verdict, answer.likely);
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
  row.found_inf = overflow.likely;
  row.found_inf_certain = overflow.decided() && row.bounds.found_certain;
  row.poisoned = row.found_inf && !row.skipped && row.error.empty() && std::isnan(scenario_.scaler.edge());
  if (per_layer) {
    // A scale of its own for each is not followed both ways.
    bounds_of_run& all = so_far_->layers;
    row.bounds.scale_used = all.known ? value_range{row.scale_used, row.scale_used} : value_range{not_known, not_known};
    all.known = all.known && row.found_inf_certain;
    row.bounds.scale_next = all.known ? value_range{row.scale_next, row.scale_next} : value_range{not_known, not_known};
    const auto counted = [](bool one) { return one ? count_range{1, 1} : count_range{}; };
    all.skipped += counted(row.skipped);
    all.poisoned += counted(row.poisoned);
    row.so_far = all;
  } else {
    row.so_far = so_far_->states.totals();
    // Where the estimate ends the run another way may go on.
    row.so_far.known = row.so_far.known && (row.error.empty() || so_far_->states.is_one());
    if (row.bounds.scale_next == value_range{}) row.bounds.scale_next = {row.scale_next, row.scale_next};
    const seen_by_scaler& one = now.seen.begin()->second;
    const critical_answer critical = one.overflow.critical(one.largest, scenario_);
    row.critical_scale = critical.scale;
    row.critical_certain = critical.certain;
    row.at_every_scale = one.overflow.at(std::numeric_limits<double>::denorm_min(), scenario_).certain;
  }
  if (!row.so_far.known) row.bounds.scale_used = row.bounds.scale_next = {not_known, not_known};
  row.unscaled_by = scenario_.scaler.unscales_with_next() ? row.scale_next : row.scale_used;
}

void trajectory_summary::add(const trajectory_row& row) {
  if (steps == 0) first_scale = row.scale_used;
  ++steps;
  skipped += row.skipped ? 1 : 0;
  poisoned += row.poisoned ? 1 : 0;
  clipped += row.clipped.value_or(false) ? 1 : 0;
  clipping_unknown += row.clipped ? 0 : 1;
  beyond_scaling += row.at_every_scale ? 1 : 0;
  bounds = row.so_far;
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
  if (row.skipped == row.recorded_applied.value_or(true) && !first_divergence) {
    first_divergence = row.key.step;
    divergence_certain = row.found_inf_certain;
  }
  if (!row.error.empty()) error = row.error;
}

}  // namespace ulp
