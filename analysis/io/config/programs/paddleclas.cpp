// PaddleClas's YAML with its section AMP: PaddlePaddle/PaddleClas ppcls/engine/engine.py, ppcls/utils/amp.py (the scale is 1
// and constant where the section does not say otherwise), ppcls/optimizer/optimizer.py. paddle.amp.decorate keeps float32
// copies of the weights.
#include "rows.hpp"

namespace ulp::io {

program_row paddleclas_program() {
  return {.name = "PaddleClas",
          .markers = "AMP.scale_loss AMP.use_dynamic_loss_scaling AMP.level",
          .settings = "c",
          .keys = {.read = "Optimizer.multi_precision",
                   .not_read = "AMP.use_fp16_test AMP.use_promote AMP.use_amp AMP.level"},
          .defaults = "AMP.use_dynamic_loss_scaling=false AMP.use_amp=true",
          .precision = {{.when = "!AMP", .format = "float32", .weights = "float32", .meaning = in_float32},
                        {.when = "AMP.use_amp=false", .format = "float32", .weights = "float32", .meaning = in_float32},
                        {.when = "AMP.use_dynamic_loss_scaling=true",
                         .format = "float16",
                         .scaler = "paddle_dygraph",
                         .parameters = "init_loss_scaling=1 incr_every_n_steps=2000 decr_every_n_nan_or_inf=1",
                         .weights = "float32",
                         .meaning = "float16 with paddle.amp.GradScaler"},
                        {.when = "AMP.use_dynamic_loss_scaling=false",
                         .format = "float16",
                         .scaler = "static",
                         .parameters = "loss_scale=1",
                         .weights = "float32",
                         .meaning = "float16 with a constant scale, overflowed steps are skipped"}},
          .scale = {{"paddle_dygraph", "AMP.scale_loss", "init_loss_scaling", "scale of the first step"},
                    {"static", "AMP.scale_loss", "loss_scale", "the scale"}},
          .clipping = {{.when = "Optimizer.clip_norm !Optimizer.clip_norm=none|null",
                        .refused = "clips each parameter by itself, which is not replayed"},
                       {}}};
}

}  // namespace ulp::io
