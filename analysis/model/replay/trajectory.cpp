#include <ulp/model/replay/trajectory.hpp>

#include <cmath>

namespace ulp {

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
