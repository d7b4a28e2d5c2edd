// NeMo 2's Python: NVIDIA/NeMo nemo/lightning/pytorch/plugins/mixed_precision.py (MegatronMixedPrecision and its defaults),
// nemo/collections/llm/recipes/precision/mixed_precision.py (bf16_mixed and its like), and Megatron's OptimizerConfig (clip_grad is 1
// where it is not given).
#include "rows.hpp"

namespace ulp::io {
namespace {

constexpr std::string_view window = "good steps in a row before the scale doubles";
constexpr std::string_view patience = "overflows since the scale last grew that halve it";
constexpr std::string_view by_default = "initial_scale=4294967296 min_scale=1 growth_interval=1000 hysteresis=2";
constexpr std::string_view with_megatron = "float16 with Megatron's scaler";
constexpr std::string_view nemo2_unscaled = "bfloat16, the loss is not scaled";
constexpr std::string_view in_float8 = "matrix products are in float8";
constexpr std::string_view ends_kept =
    "the first and the last transformer layers stay in 16 bits (first_last_layers_bf16): --tensor REGEX leaves them out";

}  // namespace

program_row nemo2_program() {
  return {
      .name = "NeMo 2",
      .calls =
          R"(MegatronMixedPrecision FabricMegatronMixedPrecision bf16_mixed fp16_mixed bf16_with_fp8_mixed fp16_with_fp8_mixed
          bf16_with_mxfp8_mixed fp16_with_mxfp8_mixed bf16_with_fp8_current_scaling_mixed
          fp16_with_fp8_current_scaling_mixed)",
      .beside = "clip_grad",
      .holds = "Lightning",
      .keys =
          {.read = "() 0",
           .not_read =
               R"(params_dtype pipeline_dtype autocast_dtype autocast_enabled grad_reduce_in_fp32 fp8 fp8_margin fp8_recipe
          fp8_amax_history_len fp8_amax_compute_algo fp8_params fp8_param_gather
          fp8_interval fp8_wgrad fp8_dot_product_attention fp8_multi_head_attention)"},
      .precision =
          {{.when = "fp16_loss_scale !fp16_loss_scale=0|0.0 precision=16-mixed|16|fp16|fp16-mixed",
            .format = "float16",
            .scaler = "megatron_constant",
            .weights = "float32",
            .meaning = "float16 with a constant scale"},
           {.when = "precision=16-mixed|16|fp16|fp16-mixed",
            .format = "float16",
            .scaler = "megatron_dynamic",
            .parameters = by_default,
            .weights = "float32",
            .meaning = with_megatron},
           {.when = "precision=bf16-mixed|bf16", .format = "bfloat16", .weights = "float32", .meaning = nemo2_unscaled},
           {.when = "precision=32|fp32", .format = "float32", .meaning = in_float32},
           {.when = "precision", .refused = "is none that is known here"},
           {.when = "()=fp16_mixed|fp16_with_fp8_mixed|fp16_with_mxfp8_mixed|fp16_with_fp8_current_scaling_mixed "
                    "fp16_loss_scale !fp16_loss_scale=0|0.0",
            .format = "float16",
            .scaler = "megatron_constant",
            .weights = "float32",
            .meaning = "float16 with a constant scale"},
           {.when = "()=fp16_mixed|fp16_with_fp8_mixed|fp16_with_mxfp8_mixed|fp16_with_fp8_current_scaling_mixed",
            .format = "float16",
            .scaler = "megatron_dynamic",
            .parameters = by_default,
            .weights = "float32",
            .meaning = with_megatron},
           {.when = "()=bf16_mixed|bf16_with_fp8_mixed|bf16_with_mxfp8_mixed|bf16_with_fp8_current_scaling_mixed",
            .format = "bfloat16",
            .weights = "float32",
            .meaning = nemo2_unscaled},
           {.when = "!precision", .refused = "is not given"}},
      .scale = {{"megatron_constant", "fp16_loss_scale", "initial_scale", "the scale"},
                {"megatron_dynamic", "initial_loss_scale", "initial_scale", "scale of the first step"},
                {"megatron_dynamic", "fp16_initial_loss_scale", "initial_scale", "scale of the first step"},
                {"megatron_dynamic", "min_loss_scale", "min_scale", "floor of the scale"},
                {"megatron_dynamic", "fp16_min_loss_scale", "min_scale", "floor of the scale"},
                {"megatron_dynamic", "loss_scale_window", "growth_interval", window},
                {"megatron_dynamic", "fp16_loss_scale_window", "growth_interval", window},
                {"megatron_dynamic", "hysteresis", "hysteresis", patience},
                {"megatron_dynamic", "fp16_hysteresis", "hysteresis", patience}},
      .clipping = {{.when = "loss_scale",
                    .refused = "is a constant scale, which is not read here; give --scaler megatron_constant"},
                   {.key = "clip_grad", .otherwise = 1}},
      .float8 = {{.when = "fp8",
                  .recipe = "fp8_recipe",
                  .otherwise = "delayed",
                  .format = "fp8",
                  .history = "fp8_amax_history_len",
                  .algorithm = "fp8_amax_compute_algo",
                  .margin = "fp8_margin",
                  .defaults = "margin=0"},
                 {.when = "()=bf16_with_fp8_mixed|fp16_with_fp8_mixed",
                  .otherwise = "delayed",
                  .defaults = "format=hybrid history=1024 algorithm=max margin=0"},
                 {.when = "()=bf16_with_mxfp8_mixed|fp16_with_mxfp8_mixed",
                  .otherwise = "mxfp8",
                  .defaults = "format=hybrid"},
                 {.when = "()=bf16_with_fp8_current_scaling_mixed|fp16_with_fp8_current_scaling_mixed",
                  .otherwise = "tensorwise",
                  .defaults = "format=hybrid"}},
      .remarks = {
          {.when = "fp8", .text = in_float8},
          {.when = "()=bf16_with_fp8_current_scaling_mixed|fp16_with_fp8_current_scaling_mixed", .text = ends_kept},
          {.when = "()=bf16_with_fp8_mixed|fp16_with_fp8_mixed|bf16_with_mxfp8_mixed|fp16_with_mxfp8_mixed|"
                   "bf16_with_fp8_current_scaling_mixed|fp16_with_fp8_current_scaling_mixed",
           .text = in_float8}}};
}

}  // namespace ulp::io
