// nanotron's YAML: huggingface/nanotron @2411b022 src/nanotron/config/config.py (keys; dtype bfloat16 where it is not given), helpers.py
// and optim/gradient_accumulator.py (accumulate_grad_in_fp32 keeps float32 weights, too), optim/clip_grads.py. There is no loss scale.
#include "rows.hpp"

namespace ulp::io {

program_row nanotron_program() {
  return {
      .name = "nanotron",
      .markers = R"(optimizer.accumulate_grad_in_fp32 model.ddp_bucket_cap_mb
          tokens.batch_accumulation_per_replica parallelism.tp_linear_async_communication)",
      .settings = "config_file",
      .keys = {.not_read = "model.model_config model.init_method general checkpoints logging lighteval tokenizer"},
      .defaults = "model.dtype=bfloat16",
      .precision =
          {{.when = "model.dtype=bfloat16 optimizer.accumulate_grad_in_fp32=true",
            .format = "bfloat16",
            .weights = "float32",
            .sums = "float32",
            .meaning = "bfloat16 with float32 weights and sums, the loss is not scaled"},
           {.when = "model.dtype=bfloat16 optimizer.accumulate_grad_in_fp32=false",
            .format = "bfloat16",
            .weights = "bfloat16",
            .sums = "bfloat16",
            .meaning = "weights and gradients in bfloat16 without a float32 copy, the loss is not scaled"},
           {.when = "model.dtype=float16 optimizer.accumulate_grad_in_fp32=true",
            .format = "float16",
            .weights = "float32",
            .sums = "float32",
            .meaning = "float16 with float32 weights and sums, the loss is not scaled"},
           {.when = "model.dtype=float16 optimizer.accumulate_grad_in_fp32=false",
            .format = "float16",
            .weights = "float16",
            .sums = "float16",
            .meaning = "weights and gradients in float16 without a float32 copy, the loss is not scaled"},
           {.when = "model.dtype=float32",
            .format = "float32",
            .weights = "float32",
            .sums = "float32",
            .meaning = in_float32},
           {.when = "model.dtype=bfloat16|float16",
            .refused = "does not say what weights are kept in without optimizer.accumulate_grad_in_fp32; write that"}},
      .clipping = {{.key = "optimizer.clip_grad"}},
      .microbatches = "tokens.batch_accumulation_per_replica"};
}

}  // namespace ulp::io
