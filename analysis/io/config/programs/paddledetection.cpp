// PaddleDetection's YAML, and tools/train.py: PaddlePaddle/PaddleDetection @666f597f tools/train.py (--amp, which the file cannot say),
// ppdet/engine/trainer.py (the scaler, from 1024), ppdet/optimizer/optimizer.py (clipping).
#include "rows.hpp"

namespace ulp::io {

program_row paddledetection_program() {
  return {
      .name = "PaddleDetection",
      .markers =
          R"(OptimizerBuilder TrainReader+EvalReader snapshot_epoch+architecture snapshot_epoch+epoch+log_iter c+amp+eval
          use_vdl+eval slim_config vdl_log_dir)",
      .takes_command = true,
      .settings = "c",
      .of_command = "amp",
      .keys = {.read = "amp_level master_grad",
               .not_read = "TrainReader EvalReader TestReader TrainDataset EvalDataset TestDataset use_gpu"},
      .defaults = "amp=false amp_level=O1",
      .precision =
          {{.when = "!amp !command",
            .refused = "is not given: PaddleDetection takes it from its command line (--amp); give the command that "
                       "starts it, with the file beside it"},
           {.when = "amp !command",
            .refused =
                "counts for nothing in the file: the command line says it (--amp, or off); give the command that "
                "starts it, with the file beside it"},
           {.when = "amp=true",
            .format = "float16",
            .scaler = "paddle_dygraph",
            .parameters = "init_loss_scaling=1024 incr_every_n_steps=2000 decr_every_n_nan_or_inf=1",
            .weights = "float32",
            .meaning = "float16 with paddle.amp.GradScaler"},
           {.when = "!amp=true", .format = "float32", .weights = "float32", .meaning = in_float32}},
      .scale = {{"paddle_dygraph", "init_loss_scaling", "init_loss_scaling", "scale of the first step"}},
      .clipping = {{.key = "OptimizerBuilder.clip_grad_by_norm", .when = "OptimizerBuilder.clip_grad_by_norm"},
                   {.key = "OptimizerBuilder.clip_grad_by_value", .mode = clipping_mode::value}}};
}

}  // namespace ulp::io
