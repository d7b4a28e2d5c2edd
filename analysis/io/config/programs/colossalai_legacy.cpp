// Colossal-AI's Python configurations of before there were plugins: hpcaitech/ColossalAI (0.1) colossalai/initialize.py,
// colossalai/amp/naive_amp, colossalai/amp/torch_amp.
#include "rows.hpp"

namespace ulp::io {

program_row colossalai_legacy_program() {
  return {
      .name = "Colossal-AI",
      .markers = "fp16.mode",
      .precision = {{.when = "fp16.mode=torch",
                     .format = "float16",
                     .scaler = "pytorch_gradscaler",
                     .parameters = torch_grad_scaler,
                     .weights = "float32",
                     .meaning = "autocast to float16 with torch.amp.GradScaler",
                     .words = "Colossal-AI torch"},
                    {.when = "fp16.mode=naive fp16.initial_scale",
                     .format = "float16",
                     .scaler = "colossalai_mixin",
                     .meaning = "float16, the loss is scaled",
                     .words = "Colossal-AI naive"},
                    {.when = "fp16.mode=naive",
                     .refused = "does not say initial_scale, whose default is not the same in all versions; write it"},
                    {.when = "fp16.mode=apex",
                     .refused = "hands the loss scale to apex.amp; replay that by --scaler apex_amp"}},
      .scale = {{"pytorch_gradscaler", "fp16.init_scale", "init_scale", "scale of the first step"},
                {"pytorch_gradscaler", "fp16.growth_interval", "growth_interval",
                 "good steps in a row before the scale grows"},
                {"colossalai_mixin", "fp16.initial_scale", "initial_scale", "scale of the first step"},
                {"colossalai_mixin", "fp16.min_scale", "min_scale", "floor of the scale"},
                {"colossalai_mixin", "fp16.max_scale", "max_scale", "ceiling of the scale"},
                {"colossalai_mixin", "fp16.growth_factor", "growth_factor", "factor of growth"},
                {"colossalai_mixin", "fp16.backoff_factor", "backoff_factor", "factor of backoff"},
                {"colossalai_mixin", "fp16.growth_interval", "growth_interval",
                 "good steps in a row before the scale grows"},
                {"colossalai_mixin", "fp16.hysteresis", "hysteresis", "overflows that lower the scale"}},
      .clipping = {{.key = "clip_grad_norm"}},
      .microbatches = "gradient_accumulation"};
}

}  // namespace ulp::io
