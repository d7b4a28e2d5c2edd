// TransformerEngine's current scaling on CUDA: NVIDIA/TransformerEngine @d0067d0d
// transformer_engine/common/recipe/recipe_common.cuh, compute_scale_from_amax.
// Reproduced: an amax of 0, infinity or NaN gives 1; an infinite scale becomes the largest float32; the power of two
// is what is left when the significand's bits are cleared.
#include <bit>

#include "policy.hpp"

namespace ulp::fp8 {
namespace {

struct te_current_cuda : scaled_to {
  bool force_pow_2_scales = false;
  double epsilon = 0;

  using machine = stateless<te_current_cuda>;

  template <typename Visitor>
  void fields(Visitor&& v) {
    v("force_pow_2_scales", force_pow_2_scales, "the scale is lowered to a power of two");
    v("epsilon", epsilon, "the least amax");
    scaled_to::fields(v);
  }
  [[nodiscard]] std::string refused() const {
    return epsilon >= 0 ? scaled_to::refused() : "epsilon must be a number that is not below 0";
  }

  [[nodiscard]] float scale_for(float amax, float largest) const {
    const auto least = static_cast<float>(epsilon);
    if (amax < least) amax = least;
    if (!std::isfinite(amax) || amax == 0) return 1;
    float scale = largest / amax;
    if (std::isinf(scale)) scale = largest_float;
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
