// TransformerEngine's DelayedScaling on CUDA, all tensors in one kernel, the usual way: NVIDIA/TransformerEngine @d0067d0d
// transformer_engine/common/recipe/delayed_scaling.cu, kernel_bulk.
// Reproduced: an amax of 0 moves nothing, neither scale nor history; fmaxf passes over NaN; an infinite scale becomes
// the largest float32.
#include "te_delayed.hpp"

namespace ulp::fp8 {
namespace {

struct bulk_rule : te_kernel_scale {
  using te_kernel_scale::te_kernel_scale;
  static constexpr bool stays_at_zero = true;
  static constexpr bool passes_over_nan = true;
};

}  // namespace

registration te_delayed_bulk_row() {
  return row<te_delayed<bulk_rule>>(
      {.aliases = {"te", "te_delayed"},
       .summary = "TransformerEngine DelayedScaling on CUDA",
       .nonfinite = "infinity keeps the scale while it is in the history; NaN is passed over",
       .rules = te_delayed_rules,
       .quirks = "a step whose amax is 0 moves nothing: the history does not roll, an infinity in it stays longer\n"
                 "one infinite amax stops all updates for amax_history_len steps that are not 0\n"
                 "a tensor of subnormals: the scale is the largest float32, not infinity",
       .source = "NVIDIA/TransformerEngine transformer_engine/common/recipe/delayed_scaling.cu @d0067d0d",
       .ignores_nan = true});
}

}  // namespace ulp::fp8
