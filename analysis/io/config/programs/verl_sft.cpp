// What verl trains with supervision, from its YAML or the overrides on a command line: volcengine/verl verl/trainer/fsdp_sft_trainer.py
// (autocast to bfloat16, gradients reduced in float32), verl/trainer/config/sft_trainer.yaml (clip_grad 1). There is no loss scale.
#include "rows.hpp"

namespace ulp::io {

program_row verl_sft_program() {
  return {.name = "verl SFT",
          .markers = "model.partial_pretrain",
          .started_by = "verl.trainer.fsdp_sft_trainer verl/trainer/fsdp_sft_trainer.py",
          .settings = "config_name",
          .keys = {.not_read = "data trainer model.lora_rank model.lora_alpha"},
          .defaults = "model.fsdp_config.model_dtype=fp32",
          .precision = {{.when = "model.fsdp_config.model_dtype=fp32|float32",
                         .format = "bfloat16",
                         .weights = "float32",
                         .meaning = to_bfloat16},
                        {.when = "model.fsdp_config.model_dtype=bf16|bfloat16",
                         .format = "bfloat16",
                         .weights = "bfloat16",
                         .meaning = "weights in bfloat16 without a float32 copy, the loss is not scaled"}},
          .clipping = {{.key = "optim.clip_grad", .otherwise = 1}}};
}

}  // namespace ulp::io
