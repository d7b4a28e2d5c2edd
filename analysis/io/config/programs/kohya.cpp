// kohya's sd-scripts, on a command line or as TOML: kohya-ss/sd-scripts library/train_util.py (arguments; max_grad_norm 1, and
// mixed_precision no where it is not given), train_network.py, sdxl_train.py. full_fp16 unscales float16 gradients of float16
// weights.
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
      .keys = {.not_read = "save_precision no_half_vae fp8_base fp8_base_unet fp8_base_text_encoder clip_skip clip_l"},
      .defaults = "mixed_precision=no full_fp16=false full_bf16=false",
      .precision =
          {{.when = "deepspeed=true mixed_precision=fp16",
            .refused = "hands the loss scale to DeepSpeed; replay that by --scaler deepspeed_dynamic"},
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
           {.when = "mixed_precision=fp16",
            .format = "float16",
            .scaler = "pytorch_gradscaler",
            .parameters = torch_grad_scaler,
            .weights = "float32",
            .meaning = with_torch_grad_scaler},
           {.when = "mixed_precision=bf16", .format = "bfloat16", .weights = "float32", .meaning = to_bfloat16},
           {.when = "mixed_precision=no", .format = "float32", .weights = "float32", .meaning = in_float32}},
      .clipping = {{.when = "fused_backward_pass=true",
                    .refused = "clips each parameter by itself, which is not replayed"},
                   {.key = "max_grad_norm", .otherwise = 1}},
      .microbatches = "gradient_accumulation_steps"};
}

}  // namespace ulp::io
