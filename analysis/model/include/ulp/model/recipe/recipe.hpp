// How a run treats its tensors: which treatment each gets, and which machine gives its scale.
//
// A machine is a state and a pure transition that gives a scale. Its scope is the run (a loss scaler) or the tensor: then each
// tensor that is scaled has a copy of it. See scaler.hpp.
#ifndef ULP_MODEL_RECIPE_RECIPE_HPP
#define ULP_MODEL_RECIPE_RECIPE_HPP

#include <ulp/formats/treatment.hpp>
#include <ulp/model/machines/scaler.hpp>
#include <ulp/model/recipe/scaling.hpp>
#include <ulp/model/recipe/tensor_rules.hpp>

namespace ulp {

struct recipe {
  tensor_rules<treatment> treatments;
  tensor_rules<scaler> machines;  // in their start state; those of the run's scope are one, that of no rule

  // Of tensors that no rule names, and of what a step log says of a step: the scaled gradients. Whether a step overflows, and
  // the critical scale, are judged by its format and rounding for all tensors, and a sweep counts by them alone: rules with
  // other formats reach the outcomes of single tensors, and nothing else.
  [[nodiscard]] const treatment& usual() const noexcept { return treatments.otherwise(); }
  // The run's, or what such a tensor has a copy of.
  [[nodiscard]] const scaler& machine() const noexcept { return machines.otherwise(); }
  [[nodiscard]] scaling scales() const { return treatments.map(&treatment::scale); }

  // All tensors are rounded so; where their scales come from stays.
  void round_all(const treatment& all);
};

// The usual recipe: all tensors are rounded alike, and the machine scales as loss_scaling() says. `all.scale` is not read.
[[nodiscard]] recipe loss_scaling_recipe(const treatment& all, scaler machine);

}  // namespace ulp

#endif
