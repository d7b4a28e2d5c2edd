// The scale of a whole tensor in TransformerEngine's NVFP4, the upper of its two levels: NVIDIA/TransformerEngine
// @d0067d0d transformer_engine/common/cast/nvfp4/core_nvfp4.cuh, compute_global_encode_scaling_factor_FP4.
// Reproduced: fminf passes over NaN, so that an amax of NaN gives the largest float32; 0 and infinity give 1.
#include "policy.hpp"

namespace ulp::fp8 {
namespace {

struct te_nvfp4_global_encode {
  double e4m3_max = 448;
  double fp4_max = 6;

  using machine = stateless<te_nvfp4_global_encode>;

  template <typename Visitor>
  void fields(Visitor&& v) {
    v("e4m3_max", e4m3_max, "the largest scale of a block: 448, or 256 with 4over6");
    v("fp4_max", fp4_max, "the largest element");
  }
  [[nodiscard]] std::string refused() const {
    return e4m3_max > 0 && fp4_max > 0 && e4m3_max * fp4_max <= largest_float
               ? ""
               : "e4m3_max and fp4_max must be above 0 and finite";
  }
  // Whatever the format: its elements are FP4.
  [[nodiscard]] float largest(float /*of_format*/) const {
    return static_cast<float>(e4m3_max) * static_cast<float>(fp4_max);
  }

  [[nodiscard]] float scale_for(float amax, float largest) const {
    const float scale = std::fmin(largest / amax, largest_float);
    return amax == 0 || scale == 0 ? 1 : scale;
  }
};

}  // namespace

registration te_nvfp4_global_encode_row() {
  return row<te_nvfp4_global_encode>(
      {.summary = "TransformerEngine NVFP4, the scale of the tensor above those of its blocks",
       .nonfinite = "infinity gives 1, NaN the largest float32",
       .rules = "scale = e4m3_max * fp4_max / amax of this step; 1 where amax is 0",
       .quirks = "it scales amax to 2688, beyond the elements: each block has a scale of its own below it",
       .source = "NVIDIA/TransformerEngine transformer_engine/common/cast/nvfp4/core_nvfp4.cuh @d0067d0d",
       .ignores_nan = true});
}

}  // namespace ulp::fp8
