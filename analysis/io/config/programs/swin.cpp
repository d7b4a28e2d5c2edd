// Swin Transformer's YAML: microsoft/Swin-Transformer config.py (AMP_ENABLE is true and TRAIN.CLIP_GRAD 5 where they are not
// given), utils.py (NativeScalerWithGradNormCount: torch's GradScaler, unscaled, then clipped).
#include "rows.hpp"

namespace ulp::io {

program_row swin_program() {
  return {.name = "Swin Transformer",
          .markers = "MODEL.SWIN MODEL.SWINV2 MODEL.SWIN_MLP AMP_ENABLE TRAIN.CLIP_GRAD",
          .settings = "cfg",
          .keys = {.not_read = "MODEL DATA AUG TEST"},
          .defaults = "AMP_ENABLE=true AMP_OPT_LEVEL=",
          .precision = {{.when = "AMP_OPT_LEVEL=o1|o2|o3",
                         .refused = "is apex.amp's, whose loss scale is another one; replay that by --scaler apex_amp"},
                        {.when = "disable_amp=true", .format = "float32", .weights = "float32", .meaning = in_float32},
                        torch_scaled("AMP_ENABLE=true"),
                        {.when = "AMP_ENABLE=false", .format = "float32", .weights = "float32", .meaning = in_float32}},
          .clipping = {{.key = "TRAIN.CLIP_GRAD", .otherwise = 5, .clips_to_zero = true}},
          .microbatches = "TRAIN.ACCUMULATION_STEPS"};
}

}  // namespace ulp::io
