// timm's train.py, as the args.yaml that it writes or on a command line: huggingface/pytorch-image-models train.py,
// timm/utils/cuda.py (NativeScaler), timm/utils/clip_grad.py. It unscales, then clips.
#include "rows.hpp"

namespace ulp::io {

program_row timm_program() {
  return {
      .name = "timm",
      .markers =
          "amp_impl clip_mode native_amp apex_amp recovery_interval jsd_loss split_bn grad_accum_steps+opt amp+opt+sched amp+sched+model amp+remode amp+reprob",
      .flags = "amp native_amp apex_amp",
      .settings = "config c",
      .not_started_by = "main.py main_*.py run_*.py",
      .defaults =
          "amp=false amp_dtype=float16 amp_impl=native native_amp=false apex_amp=false model_dtype=float32 clip_mode=norm",
      .precision =
          {{.when = "apex_amp=true", .refused = "hands the loss scale to apex.amp; replay that by --scaler apex_amp"},
           {.when = "amp_impl=apex amp=true",
            .refused = "hands the loss scale to apex.amp; replay that by --scaler apex_amp"},
           {.when = "model_dtype=float16",
            .format = "float16",
            .weights = "float16",
            .meaning = "weights in float16, the loss is not scaled"},
           {.when = "model_dtype=bfloat16",
            .format = "bfloat16",
            .weights = "bfloat16",
            .meaning = "weights in bfloat16, the loss is not scaled"},
           {.when = "amp_dtype=bfloat16 amp=true", .format = "bfloat16", .weights = "float32", .meaning = to_bfloat16},
           {.when = "device=cpu amp=true amp_dtype=float16",
            .refused = "is cpu, where timm has no loss scaler; give --scaler none and the format"},
           torch_scaled("amp=true amp_dtype=float16 model_dtype=float32"),
           torch_scaled("native_amp=true model_dtype=float32"),
           {.when = "amp=false model_dtype=float32", .format = "float32", .weights = "float32", .meaning = in_float32}},
      .clipping = {{.key = "clip_grad", .when = "clip_mode=norm", .clips_to_zero = true},
                   {.key = "clip_grad", .when = "clip_mode=value", .mode = clipping_mode::value, .clips_to_zero = true},
                   {.when = "clip_mode=agc clip_grad",
                    .refused = "clips each unit by the norm of its weights, which is not replayed"},
                   {.when = "clip_mode=agc"}},
      .microbatches = "grad_accum_steps"};
}

}  // namespace ulp::io
