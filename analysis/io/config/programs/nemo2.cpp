// NeMo 2's Python: NVIDIA/NeMo nemo/lightning/pytorch/plugins/mixed_precision.py (MegatronMixedPrecision and its defaults), and
// Megatron's OptimizerConfig (clip_grad is 1 where it is not given).
#include "rows.hpp"

namespace ulp::io {
namespace {

constexpr std::string_view window = "good steps in a row before the scale doubles";
constexpr std::string_view patience = "overflows since the scale last grew that halve it";

}  // namespace

program_row nemo2_program() {
  return {
      .name = "NeMo 2",
      .calls = "MegatronMixedPrecision",
      .beside = "clip_grad",
      .keys =
          {.read = "()  0",
           .not_read =
               R"(params_dtype pipeline_dtype autocast_dtype autocast_enabled grad_reduce_in_fp32 fp8 fp8_margin fp8_recipe
          fp8_amax_history_len fp8_amax_compute_algo fp8_params fp8_wgrad fp8_dot_product_attention fp8_multi_head_attention)"},
      .precision = {{.when = "!precision", .refused = "is not given"},
                    {.when = "precision=16-mixed|16",
                     .format = "float16",
                     .scaler = "megatron_dynamic",
                     .parameters = "initial_scale=4294967296 min_scale=1 growth_interval=1000 hysteresis=2",
                     .weights = "float32",
                     .meaning = "float16 with Megatron's scaler"},
                    {.when = "precision=bf16-mixed|bf16",
                     .format = "bfloat16",
                     .weights = "float32",
                     .meaning = "bfloat16, the loss is not scaled"},
                    {.when = "precision=32", .format = "float32", .meaning = in_float32}},
      .scale = {{"megatron_dynamic", "initial_loss_scale", "initial_scale", "scale of the first step"},
                {"megatron_dynamic", "fp16_initial_loss_scale", "initial_scale", "scale of the first step"},
                {"megatron_dynamic", "min_loss_scale", "min_scale", "floor of the scale"},
                {"megatron_dynamic", "fp16_min_loss_scale", "min_scale", "floor of the scale"},
                {"megatron_dynamic", "loss_scale_window", "growth_interval", window},
                {"megatron_dynamic", "fp16_loss_scale_window", "growth_interval", window},
                {"megatron_dynamic", "hysteresis", "hysteresis", patience},
                {"megatron_dynamic", "fp16_hysteresis", "hysteresis", patience}},
      .clipping = {{.when = "fp16_loss_scale",
                    .refused = "is a constant scale, which is not read here; give --scaler megatron_constant"},
                   {.when = "loss_scale",
                    .refused = "is a constant scale, which is not read here; give --scaler megatron_constant"},
                   {.key = "clip_grad", .otherwise = 1}},
      .remarks = {{.when = "fp8", .text = "matrix products are in float8, whose scales are not replayed"}}};
}

}  // namespace ulp::io
