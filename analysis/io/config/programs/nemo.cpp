// NeMo's YAML of Megatron models, which has Lightning's `trainer` and a scaler of its own, or its overrides on a command line:
// NVIDIA/NeMo @00c4980f examples/nlp/language_modeling/conf, nemo/collections/nlp/parts/megatron_trainer_builder.py (defaults
// 2^32, 1000, 2).
#include "rows.hpp"

namespace ulp::io {

program_row nemo_program() {
  return {
      .name = "NeMo",
      .markers =
          "trainer+model.native_amp_init_scale trainer+model.native_amp_growth_interval trainer+model.tensor_model_parallel_size "
          "trainer+model.megatron_amp_O2 model.native_amp_init_scale model.tensor_model_parallel_size+!train.train_iters",
      .settings = "config_name",
      .holds = "Lightning",
      .keys = {.not_read = "model.megatron_amp_O2 model.gradient_accumulation_fusion"},
      .defaults = "trainer.precision=32",
      .precision = {{.when = "trainer.precision=16|16-mixed",
                     .format = "float16",
                     .scaler = "nemo_megatron",
                     .weights = "float32",
                     .meaning = "float16 with NeMo's GradScaler"},
                    {.when = "trainer.precision=bf16|bf16-mixed",
                     .format = "bfloat16",
                     .weights = "float32",
                     .meaning = "bfloat16, the loss is not scaled"},
                    {.when = "trainer.precision=bf16-true",
                     .format = "bfloat16",
                     .meaning = "bfloat16, the loss is not scaled"},
                    {.when = "trainer.precision=32|32-true", .format = "float32", .meaning = in_float32}},
      .scale = {{"nemo_megatron", "model.native_amp_init_scale", "init_scale", "scale of the first step"},
                {"nemo_megatron", "model.native_amp_growth_interval", "growth_interval",
                 "good steps in a row before the scale doubles"},
                {"nemo_megatron", "model.hysteresis", "hysteresis", "overflows in a row that halve it"}},
      .clipping = {{.key = "trainer.gradient_clip_val"}}};
}

}  // namespace ulp::io
