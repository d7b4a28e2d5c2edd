// What clipping makes of a step.
#include <cmath>

#include "running_step.hpp"

namespace ulp {

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
        if (layer.max_abs) scaled.add(now.seen_by(layer.name).by->scale() * *layer.max_abs);
      now.scaled_largest = scaled.known() ? scaled.value() : now.largest * machine_.scale();
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

}  // namespace ulp
