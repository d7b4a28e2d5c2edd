// metaseq's arguments: facebookresearch/metaseq metaseq/dataclass/configs.py (4, 256, 2^-5), metaseq/optim/fp16_optimizer.py,
// metaseq/optim/dynamic_loss_scaler.py. They are named like fairseq's, and the scaler is another one.
#include "rows.hpp"

namespace ulp::io {

program_row metaseq_program() {
  return {
      .name = "metaseq",
      .markers = "task=streaming_language_modeling",
      .started_by = "metaseq-train metaseq/cli/train.py metaseq_cli/train.py metaseq.cli.train metaseq.launcher.*",
      .flags = "fp16 bf16 memory_efficient_fp16 memory_efficient_bf16 fp16_no_flatten_grads cpu",
      .holds = "fairseq",
      .keys = {.read = "fp16_no_flatten_grads cpu"},
      .defaults = "fp16=false bf16=false memory_efficient_fp16=false memory_efficient_bf16=false clip_norm_type=l2",
      .precision =
          {{.when = "bf16=true memory_efficient_fp16=true",
            .format = "bfloat16",
            .weights = "bfloat16",
            .meaning =
                "bfloat16 without a float32 copy of the weights, the loss is not scaled: bf16 counts more than fp16"},
           {.when = "bf16=true fp16=true",
            .format = "bfloat16",
            .weights = "float32",
            .meaning = "bfloat16, the loss is not scaled: bf16 counts more than fp16"},
           {.when = "memory_efficient_fp16=true",
            .format = "float16",
            .scaler = "metaseq_dynamic",
            .parameters = "init_scale=4 scale_window=256 min_loss_scale=0.03125",
            .weights = "float16",
            .meaning = "float16 without a float32 copy of the weights, the loss is scaled"},
           {.when = "memory_efficient_bf16=true",
            .format = "bfloat16",
            .weights = "bfloat16",
            .meaning = "bfloat16 without a float32 copy of the weights, the loss is not scaled"},
           {.when = "fp16=true",
            .format = "float16",
            .scaler = "metaseq_dynamic",
            .parameters = "init_scale=4 scale_window=256 min_loss_scale=0.03125",
            .weights = "float32",
            .meaning = "gradients in float16, the loss is scaled"},
           {.when = "bf16=true",
            .format = "bfloat16",
            .weights = "float32",
            .meaning = "bfloat16, the loss is not scaled"},
           {.when = "fp16=false bf16=false", .format = "float32", .weights = "float32", .meaning = in_float32}},
      .scale =
          {{"metaseq_dynamic", "fp16_init_scale", "init_scale", "scale of the first step"},
           {"metaseq_dynamic", "fp16_scale_window", "scale_window", "steps without overflow before the scale doubles"},
           {"metaseq_dynamic", "fp16_scale_tolerance", "tolerance", "share of overflows from which the scale halves"},
           {"metaseq_dynamic", "threshold_loss_scale", "threshold", "floor of the scale"},
           {"metaseq_dynamic", "min_loss_scale", "min_loss_scale", "the least scale: below it the scale is put back"}},
      .clipping = {{.key = "clip_norm", .when = "clip_norm_type=l2"},
                   {.when = "clip_norm_type", .refused = "is another norm than L2, which is not replayed"}},
      .microbatches = "update_freq"};
}

}  // namespace ulp::io
