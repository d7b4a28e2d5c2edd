// TransformerEngine's DelayedScaling on CUDA, one tensor a kernel, the older entry: NVIDIA/TransformerEngine @d0067d0d
// transformer_engine/common/recipe/delayed_scaling.cu, kernel.
// Reproduced: as te_delayed_bulk, but the history rolls at an amax of 0, too.
#include "te_delayed.hpp"

namespace ulp::fp8 {
namespace {

struct single_rule : te_kernel_scale {
  using te_kernel_scale::te_kernel_scale;
  static constexpr bool stays_at_zero = false;
  static constexpr bool passes_over_nan = true;
};

}  // namespace

registration te_delayed_single_row() {
  return row<te_delayed<single_rule>>(
      {.summary = "TransformerEngine DelayedScaling on CUDA, the older entry for one tensor",
       .nonfinite = "infinity keeps the scale while it is in the history; NaN is passed over",
       .rules = te_delayed_rules,
       .quirks = "an amax of 0 enters the history like any other, unlike in te_delayed_bulk",
       .source = "NVIDIA/TransformerEngine transformer_engine/common/recipe/delayed_scaling.cu @d0067d0d",
       .ignores_nan = true});
}

}  // namespace ulp::fp8
