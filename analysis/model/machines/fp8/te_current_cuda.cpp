// TransformerEngine's current scaling on CUDA: NVIDIA/TransformerEngine @d0067d0d
// transformer_engine/common/recipe/recipe_common.cuh, compute_scale_from_amax.
// Reproduced: an amax of 0, infinity or NaN gives 1; an infinite scale becomes the largest float32; the power of two
// is what is left when the significand's bits are cleared.
#include <bit>

#include "te_current.hpp"

namespace ulp::fp8 {
namespace {

struct te_current_cuda : te_current {
  using machine = stateless<te_current_cuda>;

  [[nodiscard]] float scale_for(float amax, float largest) const {
    amax = at_least_epsilon(amax);
    if (!std::isfinite(amax) || amax == 0) return 1;
    const float scale = quotient(largest, amax);
    constexpr std::uint32_t exponent_and_sign = 0xFF80'0000;
    return force_pow_2_scales ? std::bit_cast<float>(std::bit_cast<std::uint32_t>(scale) & exponent_and_sign) : scale;
  }
};

}  // namespace

registration te_current_cuda_row() {
  return row<te_current_cuda>(
      {.aliases = {"te_current"},
       .summary = "TransformerEngine current scaling on CUDA",
       .nonfinite = "infinity and NaN give 1 (its kernel for amax passes over NaN)",
       .rules = "scale = fp8_max / max(amax, epsilon) of this step; 1 where amax is 0 or not finite",
       .quirks = "one infinity: the other values are cast at scale 1, and mostly underflow",
       .source = "NVIDIA/TransformerEngine transformer_engine/common/recipe/recipe_common.cuh @d0067d0d",
       .ignores_nan = true});
}

}  // namespace ulp::fp8
