// torchtune's YAML: pytorch/torchtune recipes/full_finetune_*.py and lora_finetune_*.py (dtype is that of weights, gradients
// and optimizer; half precision is refused; clip_grad_norm is off where it is not given), recipes/configs.
#include "rows.hpp"

namespace ulp::io {

program_row torchtune_program() {
  return {
      .name = "torchtune",
      .markers = "tokenizer._component_ model._component_ optimizer._component_ optimizer_in_bwd",
      .started_by = "tune",
      .settings = "config",
      .keys = {.not_read = "dataset checkpointer metric_logger profiler tokenizer model loss lr_scheduler"},
      .precision =
          {{.when = "!dtype", .refused = "is not given, and decides on the type of the weights"},
           {.when = "dtype=bf16",
            .format = "bfloat16",
            .weights = "bfloat16",
            .sums = "bfloat16",
            .meaning = "weights, gradients and their sums in bfloat16 without a float32 copy, the loss is not scaled"},
           {.when = "dtype=fp32", .format = "float32", .weights = "float32", .sums = "float32", .meaning = in_float32},
           {.when = "dtype=fp16", .refused = "is fp16, which torchtune's recipes refuse"}},
      .clipping = {{.key = "clip_grad_norm"}},
      .microbatches = "gradient_accumulation_steps",
      .remarks = {
          {.when = "optimizer._component_=pagedadamw8bit|adamw8bit|adam8bit|pagedadam8bit|lion8bit|pagedlion8bit",
           .text = "the optimizer keeps its own state in 8 bits, which is not replayed"},
          {.when = "enable_fp8_training=true",
           .text = "matrix products are in float8, whose scales are not replayed"}}};
}

}  // namespace ulp::io
