// LLM Foundry's YAML, and the arguments of Composer's Trainer: mosaicml/llm-foundry llmfoundry/command_utils/train.py,
// mosaicml/composer composer/trainer/trainer.py (the scaler), composer/core/precision.py,
// composer/algorithms/gradient_clipping.
#include "rows.hpp"

namespace ulp::io {

program_row llm_foundry_program() {
  return {
      .name = "LLM Foundry",
      .markers =
          "device_train_microbatch_size algorithms.gradient_clipping precision=amp_fp16|amp_bf16|amp_fp8+max_duration",
      .takes_command = true,
      .settings = "command",
      .keys =
          {.not_read =
               "model tokenizer train_loader eval_loader callbacks loggers icl_tasks variables fsdp_config.mixed_precision"},
      .precision = {{.when = "!precision",
                     .refused = "is not given: Composer takes amp_fp16 on GPUs and fp32 on CPUs; write it"},
                    torch_scaled("precision=amp_fp16",
                                 "autocast to float16 with Composer's GradScaler, which has torch's defaults"),
                    {.when = "precision=amp_bf16", .format = "bfloat16", .weights = "float32", .meaning = to_bfloat16},
                    {.when = "precision=amp_fp8",
                     .format = "bfloat16",
                     .weights = "float32",
                     .meaning =
                         "bfloat16 with 8-bit layers, whose own scales are not replayed; the loss is not scaled"},
                    {.when = "precision=fp32", .format = "float32", .weights = "float32", .meaning = in_float32}},
      .clipping = {{.key = "algorithms.gradient_clipping.clipping_threshold",
                    .when = "algorithms.gradient_clipping.clipping_type=norm"},
                   {.key = "algorithms.gradient_clipping.clipping_threshold",
                    .when = "algorithms.gradient_clipping.clipping_type=value",
                    .mode = clipping_mode::value},
                   {.when = "algorithms.gradient_clipping.clipping_type",
                    .refused = "is adaptive: each unit is clipped by the norm of its weights, which is not replayed"},
                   {}},
      .remarks = {{.when = "fsdp_config.mixed_precision=pure",
                   .text = "FSDP reduces gradients between GPUs in the low format too (PURE), which is not replayed"}}};
}

}  // namespace ulp::io
