// Which tensors a scale multiplies: the part of a recipe that holds whatever the formats are.
#ifndef ULP_MODEL_RECIPE_SCALING_HPP
#define ULP_MODEL_RECIPE_SCALING_HPP

#include <ulp/formats/treatment.hpp>
#include <ulp/model/recipe/tensor_rules.hpp>

namespace ulp {

using scaling = tensor_rules<scale_source>;

// Of loss scaling: the run's scale multiplies gradients, and what may be one; weights, updates and activations are not
// multiplied. Recorded runs are read so: nothing else is known of them.
[[nodiscard]] const scaling& loss_scaling();

[[nodiscard]] inline bool is_scaled(const tensor_info& t, const scaling& by = loss_scaling()) {
  return by.of(t) != scale_source::none;
}

}  // namespace ulp

#endif
