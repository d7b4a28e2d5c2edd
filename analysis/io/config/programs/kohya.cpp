// kohya's sd-scripts, on a command line or as TOML: kohya-ss/sd-scripts library/train_util.py (arguments; max_grad_norm 1, and
// mixed_precision no where it is not given), train_network.py, sdxl_train.py. full_fp16 unscales float16 gradients of float16
// weights. library/deepspeed_utils.py @2374f400 (what --deepspeed passes on).
#include "rows.hpp"

namespace ulp::io {

program_row kohya_program() {
  return {
      .name = "sd-scripts",
      .markers = "full_fp16 full_bf16 network_module+network_dim save_model_as+mixed_precision",
      .started_by =
          R"(sdxl_train.py train_network.py sdxl_train_network.py fine_tune.py train_db.py train_textual_inversion.py
          sdxl_train_textual_inversion.py flux_train.py flux_train_network.py sd3_train.py sd3_train_network.py
          train_controlnet_sd.py lumina_train.py lumina_train_network.py)",
      .settings = "config_file",
      .has_any_sections = true,
      .keys = {.not_read = "save_precision no_half_vae fp8_base fp8_base_unet fp8_base_text_encoder clip_skip clip_l"},
      .defaults = "mixed_precision=no full_fp16=false full_bf16=false zero_stage=2",
      .precision =
          {{.when = "deepspeed=true mixed_precision=fp16 full_fp16=true",
            .refused = "with full_fp16 keeps float16 weights or not, as DeepSpeed's offloading decides; leave one out"},
           {.when = "deepspeed=true mixed_precision=fp16 zero_stage=1|2|3",
            .format = "float16",
            .scaler = "deepspeed_dynamic",
            .parameters = "init_scale=1 scale_window=1000 delayed_shift=2 consecutive_hysteresis=false min_scale=1",
            .weights = "float32",
            .meaning = "DeepSpeed's ZeRO, which sd-scripts lets start at the scale 1 (initial_scale_power 0)",
            .words = "sd-scripts with DeepSpeed"},
           {.when = "deepspeed=true mixed_precision=fp16",
            .refused = "without ZeRO leaves the loss scale to the optimizer's wrapper in DeepSpeed; give --scaler "
                       "deepspeed_fused_nonzero or deepspeed_unfused"},
           {.when = "full_fp16=true mixed_precision=fp16",
            .format = "float16",
            .scaler = "pytorch_gradscaler",
            .parameters = torch_grad_scaler,
            .weights = "float16",
            .meaning = "weights and gradients in float16 without a float32 copy, with torch.amp.GradScaler's defaults"},
           {.when = "full_fp16=true", .refused = "needs --mixed_precision fp16: sd-scripts refuses it without"},
           {.when = "full_bf16=true mixed_precision=bf16",
            .format = "bfloat16",
            .weights = "bfloat16",
            .meaning = "weights in bfloat16 without a float32 copy, the loss is not scaled"},
           {.when = "full_bf16=true", .refused = "needs --mixed_precision bf16: sd-scripts refuses it without"},
           torch_scaled("mixed_precision=fp16"),
           {.when = "mixed_precision=bf16", .format = "bfloat16", .weights = "float32", .meaning = to_bfloat16},
           {.when = "mixed_precision=no", .format = "float32", .weights = "float32", .meaning = in_float32}},
      .clipping = {{.when = "fused_backward_pass=true max_grad_norm=0|0.0"},
                   {.when = "fused_backward_pass=true",
                    .refused = "clips each parameter by itself, which is not replayed"},
                   {.key = "max_grad_norm", .otherwise = 1}},
      .microbatches = "gradient_accumulation_steps"};
}

}  // namespace ulp::io
