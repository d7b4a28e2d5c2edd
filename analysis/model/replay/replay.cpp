#include <ulp/model/replay/replay.hpp>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "running_step.hpp"

namespace ulp {
namespace {

// What is known of the recorded run's own decision.
std::optional<bool> recorded_decision(const step& now) {
  if (!now.layers.empty() && std::ranges::all_of(now.layers, [](const auto& l) { return l.found_inf.has_value(); }))
    return std::ranges::none_of(now.layers, [](const auto& l) { return *l.found_inf; });
  if (!now.scalars.applied && now.scalars.found_inf) return !*now.scalars.found_inf;
  return now.scalars.applied;
}

}  // namespace

replayer::replayer(scenario what)
    : scenario_(std::move(what)),
      choice_(scenario_.counted, scenario_.checked, scenario_.recipe.scales()),
      machine_(scenario_.recipe.machine()),
      has_machine_for_each_(machine_.scope() == machine_scope::tensor),
      so_far_(std::make_unique<history>()) {}
replayer::replayer(replayer&&) noexcept = default;
replayer& replayer::operator=(replayer&&) noexcept = default;
replayer::~replayer() = default;

trajectory_row replayer::advance(const step& now, const std::vector<tensor_info>& tensors,
                                 std::vector<tensor_outcome>* per_tensor) {
  choice_.see(tensors);
  so_far_->run.see(now, tensors);
  running_step running{.of = *this, .recorded = now, .tensors = tensors, .per_tensor = per_tensor};
  trajectory_row& row = running.row;
  row.key = now.key;
  row.recorded_applied = recorded_decision(now);
  if (!has_machine_for_each_) static_cast<void>(running.seen_by({}));

  see_log(running);
  see_tensors(running);
  clip(running);
  if (has_machine_for_each_)
    step_tensor_machines(running);
  else
    step_run_machine(running);

  if (!row.so_far.known) row.bounds.scale_used = row.bounds.scale_next = {not_known, not_known};
  row.unscaled_by = machine_.unscales_with_next() ? row.scale_next : row.scale_used;
  return std::move(row);
}

void replayer::see_log(running_step& now) {
  const auto see = [&](seen_by_machine& it, std::optional<double> max_abs) {
    if (!max_abs) return;
    now.row.recorded_nan = now.row.recorded_nan || std::isnan(*max_abs);
    now.row.recorded_inf = now.row.recorded_inf || std::isinf(*max_abs);
    it.largest.add(*max_abs);
  };
  const step& log = now.recorded;
  for (const layer_row& layer : log.layers) {
    seen_by_machine& it = now.seen_by(layer.name);
    it.overflow.add_log(layer.found_inf, layer.max_abs);
    see(it, layer.max_abs);
  }
  if (!log.layers.empty() || !log.tensors.empty()) return;
  seen_by_machine& it = now.seen_by({});
  it.overflow.add_log(log);
  see(it, log.max_abs);
}

}  // namespace ulp
