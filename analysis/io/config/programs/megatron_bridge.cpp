// Megatron Bridge's YAML, which changes a recipe: NVIDIA-NeMo/Megatron-Bridge src/megatron/bridge/training/mixed_precision.py
// (2^32, 1000, hysteresis 2, least scale 1), tutorials/recipes/llama/conf.
#include "rows.hpp"

namespace ulp::io {

program_row megatron_bridge_program() {
  return {.name = "Megatron Bridge",
          .markers = "train.train_iters+model.tensor_model_parallel_size train.train_iters+train.global_batch_size",
          .keys = {.not_read = "model dataset logger checkpoint scheduler peft rng"},
          .precision = {{.when = "!mixed_precision",
                         .refused = "is not given: it is then that of the recipe which this file changes; write it"},
                        {.when = "mixed_precision=bf16_mixed|bf16-mixed",
                         .format = "bfloat16",
                         .weights = "float32",
                         .meaning = "bfloat16, the loss is not scaled"},
                        {.when = "mixed_precision=fp16_mixed|fp16-mixed",
                         .format = "float16",
                         .scaler = "megatron_dynamic",
                         .parameters = "initial_scale=4294967296 min_scale=1 growth_interval=1000 hysteresis=2",
                         .weights = "float32",
                         .meaning = "float16 with Megatron-LM's scaler"}},
          .clipping = {{.key = "optimizer.clip_grad", .otherwise = 1}}};
}

}  // namespace ulp::io
