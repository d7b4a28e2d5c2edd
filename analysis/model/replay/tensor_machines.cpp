// The step of machines whose scope is the tensor. Each sees its own; the step is skipped where any of them says so, and the
// row has the least of their scales. States that may have been are not followed.
#include <algorithm>
#include <limits>

#include "running_step.hpp"

namespace ulp {

void replayer::step_tensor_machines(running_step& now) {
  trajectory_row& row = now.row;
  row.scale_used = row.scale_next = now.seen.empty() ? machine_.scale() : std::numeric_limits<double>::infinity();
  overflow_answer any;
  for (auto& [tensor, it] : now.seen) {
    const double scale = it.by->scale();
    const overflow_answer answer = it.overflow.at(scale, scenario_);
    any |= answer;
    any = it.with_edge(any);
    row.scale_used = std::min(row.scale_used, scale);
    now.take(it.by->update(now.input_of(it, scale, answer.likely)));
    row.scale_next = std::min(row.scale_next, it.by->scale());
  }
  // Tensors without a row in this step keep theirs.
  for (const auto& [tensor, machine] : machines_)
    if (!now.seen.contains(tensor)) {
      row.scale_used = std::min(row.scale_used, machine.scale());
      row.scale_next = std::min(row.scale_next, machine.scale());
    }
  now.find(any, true);

  bounds_of_run& all = so_far_->each;
  const auto known = [&](double scale) {
    return all.known ? value_range{scale, scale} : value_range{not_known, not_known};
  };
  const auto counted = [](bool one) { return one ? count_range{1, 1} : count_range{}; };
  row.bounds.scale_used = known(row.scale_used);
  all.known = all.known && row.found_inf_certain;
  row.bounds.scale_next = known(row.scale_next);
  all.skipped += counted(row.skipped);
  all.poisoned += counted(row.poisoned);
  row.so_far = all;
}

}  // namespace ulp
