// NeMo's YAML of Megatron models, which has Lightning's `trainer` and a scaler of its own, or its overrides on a command line:
// NVIDIA/NeMo @00c4980f examples/nlp/language_modeling/conf, nemo/collections/nlp/parts/megatron_trainer_builder.py (defaults
// 2^32, 1000, 2).
#include "rows.hpp"

namespace ulp::io {
namespace {

// models/language_modeling/megatron_gpt_model.py. Versions have different defaults of the history, which is not taken for granted.
float8_case nemo_scaled(conditions when, std::string_view defaults) {
  return {.when = when,
          .recipe = "model.fp8_recipe",
          .otherwise = "delayed",
          .history = "model.fp8_amax_history_len",
          .algorithm = "model.fp8_amax_compute_algo",
          .margin = "model.fp8_margin",
          .defaults = defaults};
}

}  // namespace

program_row nemo_program() {
  return {
      .name = "NeMo",
      .markers =
          "trainer+model.native_amp_init_scale trainer+model.native_amp_growth_interval trainer+model.tensor_model_parallel_size "
          "trainer+model.megatron_amp_O2 model.native_amp_init_scale model.tensor_model_parallel_size+!train.train_iters",
      .settings = "config_name",
      .holds = "Lightning",
      .keys = {.not_read = R"(model.megatron_amp_O2 model.gradient_accumulation_fusion model.fp8_e4m3 model.fp8_hybrid
          model.fp8_margin model.fp8_interval model.fp8_amax_history_len model.fp8_amax_compute_algo model.fp8_recipe
          model.fp8_params model.fp8_wgrad model.reduce_amax)"},
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
      .clipping = {{.key = "trainer.gradient_clip_val"}},
      .float8 = {nemo_scaled("model.transformer_engine=true model.fp8=true model.fp8_e4m3=true",
                             "format=e4m3 margin=0"),
                 nemo_scaled("model.transformer_engine=true model.fp8=true model.fp8_hybrid=true",
                             "format=hybrid margin=0")},
      .remarks = {{.when = "model.transformer_engine=true model.fp8=true", .text = "matrix products are in float8"},
                  {.when = "model.fp8=true !model.transformer_engine=true",
                   .text = "model.fp8 counts for nothing without model.transformer_engine"}}};
}

}  // namespace ulp::io
