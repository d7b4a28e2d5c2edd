// MMCV's Python configurations, of MMDetection 2, MMSegmentation 0 and others: open-mmlab/mmcv (1.x)
// mmcv/runner/hooks/optimizer.py (Fp16OptimizerHook: a number stays as it is, "dynamic" is torch's GradScaler, a dictionary its
// arguments, or those of mmcv/runner/fp16_utils.py: LossScaler, as apex.fp16_utils has it).
#include "rows.hpp"

namespace ulp::io {
namespace {

constexpr std::string_view own = "float16 with MMCV's own LossScaler, of versions of torch before 1.6";

}  // namespace

program_row mmcv_program() {
  return {
      .name = "MMCV",
      .markers =
          "optimizer_config+lr_config optimizer_config.grad_clip checkpoint_config+lr_config fp16.loss_scale+optimizer_config",
      .holds = "DeepSpeed",
      .defaults = "optimizer_config.grad_clip.norm_type=2",
      .precision =
          {torch_scaled("fp16.loss_scale=dynamic"),
           {.when = "fp16.loss_scale.mode=static",
            .format = "float16",
            .scaler = "static",
            .parameters = "loss_scale=4294967296 skip_on_overflow=false",
            .weights = "float32",
            .meaning = "float16 with MMCV's own LossScaler, which is constant and skips no step"},
           {.when = "fp16.loss_scale.mode=dynamic",
            .format = "float16",
            .scaler = "apex_fp16_utils",
            .weights = "float32",
            .meaning = own},
           {.when = "fp16.loss_scale.scale_window",
            .format = "float16",
            .scaler = "apex_fp16_utils",
            .weights = "float32",
            .meaning = own},
           torch_scaled("fp16.loss_scale !fp16.loss_scale=*", "autocast to float16 with torch.amp.GradScaler"),
           {.when = "fp16.loss_scale",
            .format = "float16",
            .scaler = "static",
            .weights = "float32",
            .meaning = "autocast to float16 with a constant scale, overflowed steps are skipped"},
           {.when = "fp16",
            .format = "float16",
            .scaler = "static",
            .parameters = "loss_scale=512",
            .weights = "float32",
            .meaning = "autocast to float16 with the hook's constant scale of 512"},
           {.when = "_base_",
            .refused =
                "holds the configuration that this one changes, which is not read here; give it as the program writes it out whole"},
           {.format = "float32", .weights = "float32", .meaning = in_float32}},
      .scale = {{"pytorch_gradscaler", "fp16.loss_scale.init_scale", "init_scale", "scale of the first step"},
                {"pytorch_gradscaler", "fp16.loss_scale.growth_factor", "growth_factor", "factor of growth"},
                {"pytorch_gradscaler", "fp16.loss_scale.backoff_factor", "backoff_factor", "factor of backoff"},
                {"pytorch_gradscaler", "fp16.loss_scale.growth_interval", "growth_interval",
                 "good steps in a row before the scale grows"},
                {"apex_fp16_utils", "fp16.loss_scale.init_scale", "init_scale", "scale of the first step"},
                {"apex_fp16_utils", "fp16.loss_scale.scale_factor", "scale_factor", "factor of growth and backoff"},
                {"apex_fp16_utils", "fp16.loss_scale.scale_window", "scale_window",
                 "steps without overflow before the scale grows"},
                {"static", "fp16.loss_scale.init_scale", "loss_scale", "the scale"},
                {"static", "fp16.loss_scale", "loss_scale", "the scale"}},
      .clipping = {
          {.when = "_base_ !optimizer_config._delete_=true !optimizer_config.grad_clip.max_norm",
           .refused =
               "holds the configuration that this one changes, which is not read here; give it as the program writes it out whole"},
          {.key = "optimizer_config.grad_clip.max_norm", .when = "optimizer_config.grad_clip.norm_type=2|2.0"},
          {.when = "optimizer_config.grad_clip.norm_type",
           .refused = "is another norm than L2, which is not replayed"}}};
}

}  // namespace ulp::io
