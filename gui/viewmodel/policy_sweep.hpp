// A grid of policies over the open run.
#ifndef ULP_GUI_VIEWMODEL_POLICY_SWEEP_HPP
#define ULP_GUI_VIEWMODEL_POLICY_SWEEP_HPP

#include <string>
#include <utility>
#include <vector>

#include <ulp/model/sweep.hpp>

#include "document.hpp"

namespace ulp::gui {

struct swept_policy {
  scenario_spec spec;
  sweep_result result;
  bool on_front = false;  // no other loses fewer steps and fewer gradients
};

// `base` with each combination of the values that its parameters are given: {"growth_interval", {"200", "2000"}}. Those on
// the front first, then by lost steps and underflow, as `ulp sweep` does. Throws std::invalid_argument, input_error.
[[nodiscard]] std::vector<swept_policy> sweep_policies(
    const loaded_run& run, const scenario_spec& base,
    const std::vector<std::pair<std::string, std::vector<std::string>>>& values, const background::report& told);

}  // namespace ulp::gui

#endif
