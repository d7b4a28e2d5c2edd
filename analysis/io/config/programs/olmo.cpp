// OLMo's YAML: allenai/OLMo olmo/config.py (TrainConfig: precision, max_grad_norm without a default; FSDPConfig), olmo/train.py (autocast,
// without a scaler), olmo/optim.py (clipping; Scheduler.get_max_grad_norm).
#include "rows.hpp"

namespace ulp::io {

program_row olmo_program() {
  return {
      .name = "OLMo",
      .markers =
          "fsdp.wrapping_strategy+device_train_microbatch_size save_interval_unsharded "
          "max_grad_norm_ratio+device_train_microbatch_size scheduler.grad_clip_warmup_steps",
      .holds = "LLM Foundry",
      .keys = {.not_read =
                   "model tokenizer data evaluators wandb speed_monitor compile scheduler.grad_clip_warmup_factor"},
      .precision = {{.when = "!precision", .refused = "is not given, and has no default; write it"},
                    {.when = "precision=amp_bf16", .format = "bfloat16", .weights = "float32", .meaning = to_bfloat16},
                    {.when = "precision=amp_fp16",
                     .format = "float16",
                     .weights = "float32",
                     .meaning = "autocast to float16, and the loss is not scaled"},
                    {.when = "precision=fp32", .format = "float32", .weights = "float32", .meaning = in_float32}},
      .clipping = {{.when = "max_grad_norm_ratio",
                    .refused = "clips each gradient by the mean of its norms before, which is not replayed"},
                   {.key = "max_grad_norm"}},
      .remarks =
          {{.when = "fsdp.precision=pure",
            .text = "FSDP reduces gradients between GPUs in the low format too (pure), which is not replayed"},
           {.when = "scheduler.grad_clip_warmup_steps",
            .text = "gradients are clipped to a higher norm in the first steps (grad_clip_warmup_factor), which is not "
                    "replayed"}},
      .place = written_in::files};
}

}  // namespace ulp::io
