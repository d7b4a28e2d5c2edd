// TransformerEngine's DelayedScaling for JAX: NVIDIA/TransformerEngine @d0067d0d transformer_engine/jax/quantize/quantizer.py,
// DelayedScaleQuantizer.
// Reproduced: the margin is divided by after the quotient; an infinite scale stays infinite; jnp.max gives NaN where the
// history holds one.
#include "te_delayed.hpp"

namespace ulp::fp8 {
namespace {

struct jax_rule {
  jax_rule(float of_format, float margin) : largest(of_format), margin_factor(std::pow(2.0F, margin)) {}
  static constexpr bool stays_at_zero = false;
  static constexpr bool passes_over_nan = false;

  [[nodiscard]] float scale_for(float amax) const { return largest / amax / margin_factor; }
  float largest;
  float margin_factor;
};

}  // namespace

registration te_delayed_jax_row() {
  return row<te_delayed<jax_rule>>(
      {.summary = "TransformerEngine DelayedScaling for JAX",
       .nonfinite = "infinity and NaN keep the scale while they are in the history",
       .rules = te_delayed_rules,
       .quirks = "an amax below 1.3e-36 (of E4M3) gives an infinite scale: nothing keeps it finite",
       .source = "NVIDIA/TransformerEngine transformer_engine/jax/quantize/quantizer.py @d0067d0d"});
}

}  // namespace ulp::fp8
