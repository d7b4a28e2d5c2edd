#include <ulp/model/recipe/recipe.hpp>

#include <utility>

namespace ulp {

const scaling& loss_scaling() {
  static const scaling rules{
      scale_source::run,
      {{.kinds = {tensor_kind::weight, tensor_kind::update, tensor_kind::activation}, .value = scale_source::none}}};
  return rules;
}

void recipe::round_all(const treatment& all) {
  treatments = treatments.map([&](const treatment& t) { return treatment{all.format, all.rounding, t.scale}; });
}

recipe loss_scaling_recipe(const treatment& all, scaler machine) {
  const scale_source given = machine.scope() == machine_scope::tensor ? scale_source::tensor : scale_source::run;
  return {loss_scaling().map([&](scale_source from) {
            return treatment{all.format, all.rounding, from == scale_source::none ? from : given};
          }),
          std::move(machine)};
}

}  // namespace ulp
