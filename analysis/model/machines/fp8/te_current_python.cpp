// TransformerEngine's current scaling as its reference in PyTorch computes it: NVIDIA/TransformerEngine @d0067d0d
// transformer_engine/pytorch/custom_recipes/reference_current_scaling.py, with tests/pytorch/references.
// Reproduced: an amax of 0 gives 1, infinity 0; NaN stays NaN, and 0.5 where a power of two is wanted (frexp of NaN).
#include "te_current.hpp"

namespace ulp::fp8 {
namespace {

struct te_current_python : te_current {
  using machine = stateless<te_current_python>;

  [[nodiscard]] float scale_for(float amax, float largest) const {
    amax = at_least_epsilon(amax);
    if (amax == 0) return 1;
    if (std::isinf(amax)) return 0;
    if (std::isnan(amax)) return force_pow_2_scales ? 0.5F : amax;
    const float scale = quotient(largest, amax);
    return force_pow_2_scales ? std::ldexp(1.0F, std::ilogb(scale)) : scale;
  }
};

}  // namespace

registration te_current_python_row() {
  return row<te_current_python>(
      {.summary = "TransformerEngine current scaling, its reference in PyTorch",
       .nonfinite = "infinity gives 0, NaN NaN (0.5 with force_pow_2_scales)",
       .rules = "scale = fp8_max / max(amax, epsilon) of this step; 1 where amax is 0",
       .quirks = "one infinity: the scale is 0, and every finite value with it",
       .source = "NVIDIA/TransformerEngine transformer_engine/pytorch/custom_recipes/reference_current_scaling.py "
                 "@d0067d0d"});
}

}  // namespace ulp::fp8
