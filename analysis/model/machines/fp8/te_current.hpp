// The parameters of TransformerEngine's current scaling, which its kernel and its reference in PyTorch share.
#ifndef ULP_MODEL_MACHINES_FP8_TE_CURRENT_HPP
#define ULP_MODEL_MACHINES_FP8_TE_CURRENT_HPP

#include <string>

#include "policy.hpp"

namespace ulp::fp8 {

struct te_current : scaled_to {
  bool force_pow_2_scales = false;
  double epsilon = 0;

  template <typename Visitor>
  void fields(Visitor&& v) {
    v("force_pow_2_scales", force_pow_2_scales, "the scale is lowered to a power of two");
    v("epsilon", epsilon, "the least amax");
    scaled_to::fields(v);
  }
  [[nodiscard]] std::string refused() const {
    return epsilon >= 0 ? scaled_to::refused() : "epsilon must be a number that is not below 0";
  }

  // NaN stays.
  [[nodiscard]] float at_least_epsilon(float amax) const {
    const auto least = static_cast<float>(epsilon);
    return amax < least ? least : amax;
  }
  // Kept finite.
  [[nodiscard]] static float quotient(float largest, float amax) {
    const float scale = largest / amax;
    return std::isinf(scale) ? largest_float : scale;
  }
};

}  // namespace ulp::fp8

#endif
