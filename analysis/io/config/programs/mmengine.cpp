// MMEngine's Python configurations, of MMDetection 3, MMSegmentation 1, XTuner: open-mmlab/mmengine
// mmengine/optim/optimizer/amp_optimizer_wrapper.py (the scaler, also for bfloat16; a number stays as it is),
// optimizer_wrapper.py.
#include "rows.hpp"

namespace ulp::io {

program_row mmengine_program() {
  return {
      .name = "MMEngine",
      .markers = "optim_wrapper+!strategy.type=deepspeedstrategy",
      .takes_command = true,
      .settings = "command",
      .defaults =
          "optim_wrapper.type=optimwrapper optim_wrapper.loss_scale=dynamic optim_wrapper.dtype=float16 "
          "optim_wrapper.clip_grad.norm_type=2 optim_wrapper.clip_grad.type=norm",
      .precision =
          {{.when = "_base_ !optim_wrapper.type",
            .refused =
                "holds the configuration that this one changes, which is not read here; give it as the program writes it out whole"},
           {.when = "_base_ !optim_wrapper._delete_=true !optim_wrapper.loss_scale optim_wrapper.type=ampoptimwrapper",
            .refused =
                "holds the configuration that this one changes, which is not read here; give it as the program writes it out whole"},
           // tools/train.py makes it an AmpOptimWrapper.
           torch_scaled("amp=true optim_wrapper.type=optimwrapper optim_wrapper.dtype=float16"),
           {.when = "amp=true optim_wrapper.type=optimwrapper optim_wrapper.dtype=bfloat16",
            .format = "bfloat16",
            .scaler = "pytorch_gradscaler",
            .parameters = torch_grad_scaler,
            .weights = "float32",
            .meaning = "autocast to bfloat16 with torch.amp.GradScaler's defaults, as MMEngine has it"},
           {.when = "optim_wrapper.type=optimwrapper",
            .format = "float32",
            .weights = "float32",
            .meaning = in_float32},
           {.when =
                "optim_wrapper.loss_scale.enabled=false optim_wrapper.type=ampoptimwrapper optim_wrapper.dtype=float16",
            .format = "float16",
            .weights = "float32",
            .meaning = "autocast to float16, the loss is not scaled"},
           torch_scaled(
               "optim_wrapper.type=ampoptimwrapper optim_wrapper.loss_scale=dynamic optim_wrapper.dtype=float16"),
           {.when = "optim_wrapper.type=ampoptimwrapper optim_wrapper.loss_scale=dynamic optim_wrapper.dtype=bfloat16",
            .format = "bfloat16",
            .scaler = "pytorch_gradscaler",
            .parameters = torch_grad_scaler,
            .weights = "float32",
            .meaning = "autocast to bfloat16 with torch.amp.GradScaler's defaults, as MMEngine has it"},
           torch_scaled(
               "optim_wrapper.type=ampoptimwrapper optim_wrapper.loss_scale !optim_wrapper.loss_scale=* optim_wrapper.dtype=float16",
               "autocast to float16 with torch.amp.GradScaler"),
           {.when =
                "optim_wrapper.type=ampoptimwrapper optim_wrapper.loss_scale !optim_wrapper.loss_scale=* optim_wrapper.dtype=bfloat16",
            .format = "bfloat16",
            .scaler = "pytorch_gradscaler",
            .parameters = torch_grad_scaler,
            .weights = "float32",
            .meaning = "autocast to bfloat16 with torch.amp.GradScaler, as MMEngine has it"},
           {.when = "optim_wrapper.type=ampoptimwrapper optim_wrapper.loss_scale optim_wrapper.dtype=float16",
            .format = "float16",
            .scaler = "static",
            .weights = "float32",
            .meaning = "autocast to float16 with a constant scale, overflowed steps are skipped"},
           {.when = "optim_wrapper.type=apexoptimwrapper",
            .refused = "hands the loss scale to apex.amp; replay that by --scaler apex_amp"}},
      .scale = {{"pytorch_gradscaler", "optim_wrapper.loss_scale.init_scale", "init_scale", "scale of the first step"},
                {"pytorch_gradscaler", "optim_wrapper.loss_scale.growth_factor", "growth_factor", "factor of growth"},
                {"pytorch_gradscaler", "optim_wrapper.loss_scale.backoff_factor", "backoff_factor",
                 "factor of backoff"},
                {"pytorch_gradscaler", "optim_wrapper.loss_scale.growth_interval", "growth_interval",
                 "good steps in a row before the scale grows"},
                {"static", "optim_wrapper.loss_scale", "loss_scale", "the scale"}},
      .clipping =
          {{.when = "_base_ !optim_wrapper._delete_=true !optim_wrapper.clip_grad",
            .refused =
                "holds the configuration that this one changes, which is not read here; give it as the program writes it out whole"},
           {.key = "optim_wrapper.clip_grad.clip_value",
            .when = "optim_wrapper.clip_grad.type=value",
            .mode = clipping_mode::value},
           {.when = "optim_wrapper.clip_grad.clip_value",
            .refused = "needs type='value' beside it: the default is clipping by norm, where MMEngine refuses it"},
           {.key = "optim_wrapper.clip_grad.max_norm",
            .when = "optim_wrapper.clip_grad.norm_type=2|2.0",
            .clips_to_zero = true},
           {.when = "optim_wrapper.clip_grad.norm_type", .refused = "is another norm than L2, which is not replayed"}},
      .microbatches = "optim_wrapper.accumulative_counts"};
}

}  // namespace ulp::io
