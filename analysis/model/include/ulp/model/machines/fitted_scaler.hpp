// Which loss-scale policy, with which settings, gives the scales that a run logged.
#ifndef ULP_MODEL_MACHINES_FITTED_SCALER_HPP
#define ULP_MODEL_MACHINES_FITTED_SCALER_HPP

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ulp/model/machines/scaler.hpp>

namespace ulp {

// One step of the run: the scale that its loss was multiplied by, and whether its gradients overflowed; nullopt where nobody
// logged that: then it did if the next scale is lower.
struct scaled_step {
  double scale = 0;
  std::optional<bool> found_inf;
};

struct fitted_scaler {
  std::string_view name;                                            // in the catalogue
  std::vector<std::pair<std::string, parameter_value>> parameters;  // those that are not the default
  // Where the scale never grew, its growth interval is the default, or longer than the run showed.
  bool has_grown = false;
};

// The first policy of the catalogue, those of the `first` names before all others, that gives the scale of each step from
// the steps before it, to 1 part in 10^6 (logs have few digits). Its start scale is the first one logged; growth intervals,
// factors and hystereses are those that the scales show. Others may give the same scales. nullopt where none does, or where
// the steps are fewer than two. Policies that look at the size of gradients are not tried. Needs the steps in a row, without
// gaps. Allocates little; its time grows with the steps times the policies.
[[nodiscard]] std::optional<fitted_scaler> fit_scaler(std::span<const scaled_step> steps,
                                                      std::span<const std::string_view> first = {});

}  // namespace ulp

#endif
