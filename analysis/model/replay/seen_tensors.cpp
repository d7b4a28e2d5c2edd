// What the tensors of a step tell: counts, what the machines see, the norms.
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include <ulp/model/machines/policy_analysis.hpp>
#include <ulp/model/outcomes/row_outcomes.hpp>

#include "running_step.hpp"

namespace ulp {
namespace {

double largest_of(const tensor_row& t) {
  return t.table.infinities() > 0 ? std::numeric_limits<double>::infinity() : t.table.largest_possible() / t.unit();
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
                          const outcome_counts& counts, const treatment& how) {
  tensor_outcome result{.key = key, .tensor = t.tensor, .scale = by.scale, .checked = checked, .counts = counts};
  result.max_abs = t.table.max_abs / by.factor;
  if (t.table.nonfinite() == 0)
    result.critical_scale = critical_scale_of(t.table.largest_possible() / by.factor, how).largest_safe;
  return result;
}

}  // namespace

void replayer::see_tensors(running_step& now) {
  trajectory_row& row = now.row;
  for (std::size_t i = group_of_.size(); i < now.tensors.size(); ++i) {
    group_of_.push_back(group_of(scenario_.groups, now.tensors[i].name));
    treatments_.push_back(scenario_.recipe.treatments.of(now.tensors[i]));
  }
  std::vector<gradient_norm> groups(scenario_.groups.size());
  std::vector<gradient_norm> without_weights = groups;

  for (const tensor_row& t : now.recorded.tensors) {
    const tensor_choice::membership& m = choice_[t.tensor];
    const tensor_info& info = now.tensors[t.tensor];
    if (m.seen_if_lost && !has_machine_for_each_ && t.table.nonfinite() > 0)
      now.seen_by(info.name).overflow.add_lost(t);
    if (!m.counted && !m.checked) continue;
    seen_by_machine& it = now.seen_by(info.name, scenario_.recipe.machines.of(info));
    const multiplier by{.scale = m.is_scaled ? it.by->scale() : 1, .factor = t.unit()};
    row.as_recorded = row.as_recorded || !t.factor_known();

    if (m.counted) {
      const treatment& how = treatments_[t.tensor];
      const outcome_counts counts = outcomes_of(t, how, by);
      row.counts += counts;
      row.has_counts = true;
      if (now.per_tensor != nullptr) now.per_tensor->push_back(outcome_of(t, row.key, by, m.checked, counts, how));
    }
    if (m.checked) {
      ++checked_rows_;
      it.overflow.add(t, m.is_scaled);
      if (m.is_scaled) it.largest.add(t);
      now.sums.largest.add(t);
      if (const double edge = it.by->edge(); !std::isnan(edge) && by.usable()) {
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

}  // namespace ulp
