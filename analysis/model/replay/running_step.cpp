#include "running_step.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace ulp {

seen_by_machine& replayer::running_step::seen_by(const std::string& layer, const scaler& start) {
  const std::string_view name = of.has_machine_for_each_ ? std::string_view{layer} : std::string_view{};
  const auto at = seen.find(name);
  if (at != seen.end()) return at->second;
  scaler& by = of.has_machine_for_each_ ? of.machines_.try_emplace(layer, start).first->second : of.machine_;
  return seen.emplace(name, seen_by_machine{.by = &by, .overflow{recorded, of.so_far_->run}}).first->second;
}

scaler_input replayer::running_step::input_of(const seen_by_machine& it, double scale, bool found) const {
  const scenario& s = of.scenario_;
  scaler_input input = ulp::input_of(it.largest, sums.norm.as_seen(), found);
  if (hides_infinities(s)) {
    // What the policy sees is clamped already, infinities too, whichever scale they are of; its norm was not recorded.
    const double bound = s.clip_value->max_value / (s.order.clip_before_unscale ? scale : 1);
    input.unscaled_norm = not_known;
    if (!std::isnan(input.max_abs)) input.max_abs = it.largest.infinite() ? bound : std::min(input.max_abs, bound);
  }
  if (it.elements > 0) {
    input.above_edge = static_cast<double>(it.above_edge.high);
    input.up_to_edge = static_cast<double>(it.elements - it.above_edge.high);
  }
  return input;
}

void replayer::running_step::find(const overflow_answer& overflow, bool found_certain) {
  row.found_inf = overflow.likely;
  row.found_inf_certain = overflow.decided() && found_certain;
  row.poisoned = row.found_inf && !row.skipped && row.error.empty() && std::isnan(of.machine_.edge());
}

void replayer::running_step::take(scaler_verdict verdict) {
  row.skipped = row.skipped || verdict.skipped;
  if (row.error.empty()) row.error = std::move(verdict.error);
  row.lacks_input = row.lacks_input || verdict.lacks_input;
}

}  // namespace ulp
