#include "policy_sweep.hpp"

#include <algorithm>
#include <tuple>

namespace ulp::gui {
namespace {

void set_parameter(scenario_spec& spec, const std::string& name, const std::string& value) {
  const auto known = std::ranges::find(spec.parameters, name, &std::pair<std::string, std::string>::first);
  if (known != spec.parameters.end())
    known->second = value;
  else
    spec.parameters.emplace_back(name, value);
}

}  // namespace

std::vector<swept_policy> sweep_policies(const loaded_run& run, const scenario_spec& base,
                                         const std::vector<std::pair<std::string, std::vector<std::string>>>& values,
                                         const background::report& told) {
  std::vector<swept_policy> all{{.spec = base, .result = {}}};
  for (const auto& [name, list] : values) {
    std::vector<swept_policy> more;
    for (const swept_policy& p : all)
      for (const std::string& value : list) {
        more.push_back(p);
        set_parameter(more.back().spec, name, value);
      }
    all = std::move(more);
  }
  std::vector<scenario> scenarios;
  for (const swept_policy& p : all) scenarios.push_back(scenario_of(p.spec));
  const bool apart = std::ranges::any_of(
      scenarios, [](const scenario& s) { return s.checked || s.scaler.per_layer() || s.rounding.daz; });
  sweep grid(std::move(scenarios));
  source_options how = run.how;
  how.merged = !apart;
  const auto from = open_source(run.inputs, how);
  step now;
  for (std::uint64_t n = 0; from->next(now); ++n) {
    told(from->step_count() == 0 ? 0 : 0.8 * static_cast<double>(n) / static_cast<double>(from->step_count()));
    if (now.key.microbatch == -1) grid.add(now, from->tensors());
  }
  std::size_t done = 0;
  const std::vector<sweep_result> results =
      grid.results([&] { told(0.8 + 0.2 * static_cast<double>(++done) / static_cast<double>(all.size())); });
  const std::vector<bool> front = pareto_front(results, grid.steps());
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].result = results[i];
    all[i].on_front = front[i];
  }
  const std::size_t steps = grid.steps();
  std::ranges::sort(all, [&](const swept_policy& a, const swept_policy& b) {
    return std::tuple{!a.on_front, a.result.lost_steps(steps), a.result.underflow_share()} <
           std::tuple{!b.on_front, b.result.lost_steps(steps), b.result.underflow_share()};
  });
  return all;
}

}  // namespace ulp::gui
