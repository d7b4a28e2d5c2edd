// PaddleOCR's YAML: PaddlePaddle/PaddleOCR tools/train.py (the scale is 1 and constant where Global does not say otherwise),
// ppocr/optimizer/optimizer.py (clip_norm clips each parameter by itself).
#include "rows.hpp"

namespace ulp::io {

program_row paddleocr_program() {
  return {
      .name = "PaddleOCR",
      .markers = "Global.use_amp Global.amp_level Global.epoch_num+Architecture",
      .settings = "c",
      .keys =
          {.not_read =
               "Global.amp_level Global.amp_custom_black_list Global.amp_custom_white_list Optimizer.multi_precision"},
      .defaults = "Global.use_amp=false Global.amp_dtype=float16 Global.use_dynamic_loss_scaling=false",
      .precision = {{.when = "Global.use_amp=false", .format = "float32", .weights = "float32", .meaning = in_float32},
                    {.when = "Global.amp_dtype=bfloat16 Global.use_dynamic_loss_scaling=true",
                     .format = "bfloat16",
                     .weights = "float32",
                     .meaning = "bfloat16, in which a dynamic paddle.amp.GradScaler turns itself off"},
                    {.when = "Global.amp_dtype=bfloat16 Global.use_dynamic_loss_scaling=false",
                     .format = "bfloat16",
                     .scaler = "static",
                     .parameters = "loss_scale=1",
                     .weights = "float32",
                     .meaning = "bfloat16 with a constant scale, overflowed steps are skipped"},
                    {.when = "Global.use_dynamic_loss_scaling=true Global.amp_dtype=float16",
                     .format = "float16",
                     .scaler = "paddle_dygraph",
                     .parameters = "init_loss_scaling=1",
                     .weights = "float32",
                     .meaning = "float16 with paddle.amp.GradScaler"},
                    {.when = "Global.use_dynamic_loss_scaling=false Global.amp_dtype=float16",
                     .format = "float16",
                     .scaler = "static",
                     .parameters = "loss_scale=1",
                     .weights = "float32",
                     .meaning = "float16 with a constant scale, overflowed steps are skipped"}},
      .scale = {{"paddle_dygraph", "Global.scale_loss", "init_loss_scaling", "scale of the first step"},
                {"static", "Global.scale_loss", "loss_scale", "the scale"}},
      .clipping = {{.when = "Optimizer.clip_norm !Optimizer.clip_norm=none|null",
                    .refused = "clips each parameter by itself, which is not replayed"},
                   {.key = "Optimizer.clip_norm_global"}}};
}

}  // namespace ulp::io
