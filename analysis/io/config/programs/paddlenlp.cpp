// PaddleNLP's TrainingArguments, as JSON or on a command line: PaddlePaddle/PaddleNLP paddlenlp/trainer/training_args.py
// (scale_loss is 2^15, max_grad_norm 1 where they are not given), trainer.py (paddle.amp.GradScaler for fp16; bf16 has none).
#include "rows.hpp"

namespace ulp::io {

program_row paddlenlp_program() {
  return {
      .name = "PaddleNLP",
      .markers =
          "amp_master_grad scale_loss+per_device_train_batch_size tensor_parallel_degree+per_device_train_batch_size "
          "sharding_parallel_degree pipeline_parallel_degree+per_device_train_batch_size recompute+per_device_train_batch_size "
          "sharding+per_device_train_batch_size",
      .holds = "Hugging Face",
      .keys =
          {.not_read =
               R"(fp16_full_eval bf16_full_eval fp16_opt_level amp_master_grad amp_custom_black_list amp_custom_white_list
          enable_linear_fused_grad_add)"},
      .defaults = "fp16=false bf16=false",
      .precision =
          {{.when = "fp16=true bf16=true", .refused = "and bf16 cannot both be true"},
           {.when = "fp16=true",
            .format = "float16",
            .scaler = "paddle_dygraph",
            .parameters = "init_loss_scaling=32768",
            .weights = "float32",
            .meaning = "float16 with paddle.amp.GradScaler"},
           {.when = "bf16=true", .format = "bfloat16", .weights = "float32", .meaning = to_bfloat16},
           {.when = "fp16=false bf16=false", .format = "float32", .weights = "float32", .meaning = in_float32}},
      .scale = {{"paddle_dygraph", "scale_loss", "init_loss_scaling", "scale of the first step"}},
      .clipping = {{.key = "max_grad_norm", .otherwise = 1}},
      .microbatches = "gradient_accumulation_steps"};
}

}  // namespace ulp::io
