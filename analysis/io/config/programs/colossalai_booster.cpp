// Colossal-AI's Booster in a script, where it is told the precision: hpcaitech/ColossalAI colossalai/booster/booster.py,
// mixed_precision/__init__.py (the names), mixed_precision/fp16_torch.py (FP16TorchMixedPrecision hands its arguments to torch's
// GradScaler, whose defaults it has).
#include "rows.hpp"

namespace ulp::io {

program_row colossalai_booster_program() {
  return {.name = "Colossal-AI",
          .calls = "Booster",
          .call_markers = "mixed_precision",
          .beside = "max_norm",
          .keys = {.read = "() plugin"},
          .precision = {{.when = "mixed_precision=fp16",
                         .format = "float16",
                         .scaler = "pytorch_gradscaler",
                         .parameters = torch_grad_scaler,
                         .weights = "float32",
                         .meaning = with_torch_grad_scaler,
                         .words = "Colossal-AI's Booster"},
                        {.when = "mixed_precision.()=fp16torchmixedprecision|fp16_torch_mixedprecision",
                         .format = "float16",
                         .scaler = "pytorch_gradscaler",
                         .parameters = torch_grad_scaler,
                         .weights = "float32",
                         .meaning = "autocast to float16 with torch.amp.GradScaler",
                         .words = "Colossal-AI's Booster"},
                        {.when = "mixed_precision", .refused = "is none whose scaler is known here: fp16 is"}},
          .scale = {{"pytorch_gradscaler", "mixed_precision.init_scale", "init_scale", "scale of the first step"},
                    {"pytorch_gradscaler", "mixed_precision.growth_factor", "growth_factor", "factor of growth"},
                    {"pytorch_gradscaler", "mixed_precision.backoff_factor", "backoff_factor", "factor of backoff"},
                    {"pytorch_gradscaler", "mixed_precision.growth_interval", "growth_interval",
                     "good steps in a row before the scale grows"}},
          .clipping = {{.key = "max_norm"}},
          .place = written_in::files};
}

}  // namespace ulp::io
