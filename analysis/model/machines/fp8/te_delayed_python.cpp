// TransformerEngine's DelayedScaling in PyTorch operations, without its kernel: NVIDIA/TransformerEngine @d0067d0d
// transformer_engine/pytorch/quantization.py.
// Reproduced: PyTorch computes number / tensor as the tensor's reciprocal times the number; torch.max gives NaN where the
// history holds one.
#include "te_delayed.hpp"

namespace ulp::fp8 {
namespace {

struct python_rule {
  python_rule(float of_format, float margin) : largest(of_format), margin_factor(std::pow(2.0F, margin)) {}
  static constexpr bool stays_at_zero = false;
  static constexpr bool passes_over_nan = false;

  [[nodiscard]] float scale_for(float amax) const {
    const float reciprocal = 1 / amax;
    const float scale = reciprocal * largest / margin_factor;
    return std::isinf(scale) ? largest_float : scale;
  }
  float largest;
  float margin_factor;
};

}  // namespace

registration te_delayed_python_row() {
  return row<te_delayed<python_rule>>(
      {.summary = "TransformerEngine DelayedScaling in PyTorch operations",
       .nonfinite = "infinity and NaN keep the scale while they are in the history",
       .rules = te_delayed_rules,
       .quirks =
           "fp8_max / amax is a product with the rounded reciprocal: 28 % of scales differ from te_delayed_bulk's in "
           "the last bit",
       .source = "NVIDIA/TransformerEngine transformer_engine/pytorch/quantization.py @d0067d0d"});
}

}  // namespace ulp::fp8
