// DINOv2's YAML, where it says the precision itself: facebookresearch/dinov2 dinov2/configs/ssl_default_config.yaml (defaults),
// dinov2/fsdp (param_dtype), dinov2/train/ssl_meta_arch.py (ShardedGradScaler), dinov2/train/train.py (clip_grad, of backbone and heads
// apart). DINOv3 has like keys and other precisions.
#include "rows.hpp"

namespace ulp::io {
namespace {

constexpr std::string_view dinov2_scaled =
    "compute_precision.grad_scaler=true compute_precision.student.backbone.mixed_precision.param_dtype=fp16 "
    "compute_precision.student.dino_head.mixed_precision.param_dtype=fp16 "
    "compute_precision.student.ibot_head.mixed_precision.param_dtype=fp16";
constexpr std::string_view dinov2_unscaled =
    "compute_precision.grad_scaler=false compute_precision.student.backbone.mixed_precision.param_dtype=fp16 "
    "compute_precision.student.dino_head.mixed_precision.param_dtype=fp16 "
    "compute_precision.student.ibot_head.mixed_precision.param_dtype=fp16";

}  // namespace

program_row dinov2_program() {
  return {.name = "DINOv2",
          .markers = "compute_precision.grad_scaler compute_precision.student.backbone",
          .keys = {.not_read = "MODEL dino ibot train student teacher crops evaluation compute_precision.teacher"},
          .defaults = dinov2_scaled,
          .precision = {{.when = "!compute_precision.student.dino_head.mixed_precision.param_dtype=fp16",
                         .refused = "is not fp16, which is not known here; give --scaler and --format"},
                        {.when = "!compute_precision.student.ibot_head.mixed_precision.param_dtype=fp16",
                         .refused = "is not fp16, which is not known here; give --scaler and --format"},
                        {.when = "!compute_precision.student.backbone.mixed_precision.param_dtype=fp16",
                         .refused = "is not fp16, which is not known here; give --scaler and --format"},
                        torch_scaled(dinov2_scaled, "FSDP in float16 with ShardedGradScaler's defaults"),
                        {.when = dinov2_unscaled,
                         .format = "float16",
                         .weights = "float32",
                         .meaning = "FSDP in float16, the loss is not scaled"}},
          .remarks = {{.when = "!optim.clip_grad=0|0.0",
                       .text = "optim.clip_grad (3) clips backbone and heads apart, which is not replayed"}},
          .place = written_in::files};
}

}  // namespace ulp::io
