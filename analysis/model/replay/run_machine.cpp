// The step of a machine whose scope is the run. It sees all tensors together; where a step is not decided, every state that
// it may be in is followed.
#include <limits>
#include <utility>

#include "running_step.hpp"

namespace ulp {

void replayer::step_run_machine(running_step& now) {
  trajectory_row& row = now.row;
  seen_by_machine& it = now.seen.begin()->second;
  reachable_states& states = so_far_->states;
  if (!now.recorded.tensors.empty()) it.overflow.add_finding();
  const auto overflow_at = [&](double scale) { return it.overflow.at(scale, scenario_); };
  const auto input = [&](double scale, bool found) { return now.input_of(it, scale, found); };

  row.scale_used = machine_.scale();
  const overflow_answer answer = overflow_at(row.scale_used);
  row.bounds = states.advance(machine_, answer.decided(), {overflow_at, input});
  scaler_verdict verdict = machine_.update(input(row.scale_used, answer.likely));
  states.follow(machine_, verdict, answer.likely);
  now.take(std::move(verdict));
  row.scale_next = machine_.scale();
  now.find(it.with_edge(answer), row.bounds.found_certain);

  row.so_far = states.totals();
  // Where the estimate ends the run another way may go on.
  row.so_far.known = row.so_far.known && (row.error.empty() || states.is_one());
  if (row.bounds.scale_next == value_range{}) row.bounds.scale_next = {row.scale_next, row.scale_next};

  const critical_answer critical = it.overflow.critical(it.largest, scenario_);
  row.critical_scale = critical.scale;
  row.critical_certain = critical.certain;
  row.at_every_scale = overflow_at(std::numeric_limits<double>::denorm_min()).certain;
}

}  // namespace ulp
