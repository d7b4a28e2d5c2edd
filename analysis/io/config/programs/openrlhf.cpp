// OpenRLHF's arguments: OpenRLHF/OpenRLHF openrlhf/cli/train_*.py, openrlhf/utils/deepspeed/deepspeed_utils.py (bf16 and
// gradient_clipping of DeepSpeed's configuration, which has no fp16 section).
#include "rows.hpp"

namespace ulp::io {

program_row openrlhf_program() {
  return {.name = "OpenRLHF",
          .markers = "micro_train_batch_size pretrain+zero_stage micro_rollout_batch_size",
          .started_by = "openrlhf.cli.*",
          .keys = {.not_read = "value_clip eps_clip flash_attn load_in_4bit vllm_num_engines"},
          .defaults = "bf16=false",
          .precision = {{.when = "bf16=true grad_accum_dtype=fp32",
                         .format = "bfloat16",
                         .weights = "float32",
                         .sums = "float32",
                         .meaning = "DeepSpeed's bf16, the loss is not scaled"},
                        {.when = "bf16=true grad_accum_dtype=bf16",
                         .format = "bfloat16",
                         .weights = "float32",
                         .sums = "bfloat16",
                         .meaning = "DeepSpeed's bf16, the loss is not scaled"},
                        {.when = "bf16=true !grad_accum_dtype",
                         .format = "bfloat16",
                         .weights = "float32",
                         .meaning = "DeepSpeed's bf16, the loss is not scaled"},
                        {.when = "param_dtype=bf16",
                         .format = "bfloat16",
                         .weights = "float32",
                         .meaning = "DeepSpeed's bf16, the loss is not scaled"},
                        {.when = "param_dtype", .refused = "is not a type whose scaler is known here"},
                        {.when = "bf16=false",
                         .refused = "is off: then the model's own file says the type, which is not read here"}},
          .clipping = {{.key = "max_norm", .otherwise = 1}}};
}

}  // namespace ulp::io
