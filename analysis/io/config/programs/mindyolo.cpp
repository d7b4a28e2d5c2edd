// MindYOLO's YAML, and options of its train.py: mindspore-lab/mindyolo @67288e57 train.py (keys and defaults),
// mindyolo/utils/train_step_factory.py (the scalers; an overflowed step is applied all the same where overflow_still_update is true).
#include "rows.hpp"

namespace ulp::io {

program_row mindyolo_program() {
  return {
      .name = "MindYOLO",
      .markers =
          "ms_amp_level ms_loss_scaler ms_loss_scaler_value overflow_still_update keep_loss_fp32 ms_datasink ms_jit",
      .settings = "config",
      .keys = {.read = "keep_loss_fp32", .not_read = "network data loss optimizer"},
      .defaults = "ms_amp_level=o0 ms_loss_scaler=static overflow_still_update=true clip_grad=false",
      .precision = {{.when = "ms_loss_scaler=dynamic ms_amp_level=o1|o2|o3",
                     .format = "float16",
                     .scaler = "mindspore_amp_scaler",
                     .parameters = "scale_value=1024 scale_factor=2 scale_window=2000",
                     .meaning = "float16 with mindspore.amp.DynamicLossScaler"},
                    {.when = "ms_loss_scaler=dynamic ms_amp_level=o0",
                     .format = "float32",
                     .scaler = "mindspore_amp_scaler",
                     .parameters = "scale_value=1024 scale_factor=2 scale_window=2000",
                     .meaning = "float32 with mindspore.amp.DynamicLossScaler"},
                    {.when = "ms_loss_scaler=static ms_amp_level=o1|o2|o3 overflow_still_update=true",
                     .format = "float16",
                     .scaler = "static",
                     .parameters = "loss_scale=1024 skip_on_overflow=false",
                     .meaning = "float16 with a constant scale, overflowed steps are applied all the same"},
                    {.when = "ms_loss_scaler=static ms_amp_level=o1|o2|o3",
                     .format = "float16",
                     .scaler = "static",
                     .parameters = "loss_scale=1024",
                     .meaning = "float16 with a constant scale, overflowed steps are skipped"},
                    {.when = "ms_loss_scaler=none ms_amp_level=o1|o2|o3",
                     .format = "float16",
                     .meaning = "float16, the loss is not scaled"},
                    {.when = "ms_amp_level=o0",
                     .format = "float32",
                     .meaning = "float32, where a constant scale changes nothing"}},
      .scale = {{"mindspore_amp_scaler", "ms_loss_scaler_value", "scale_value", "scale of the first step"},
                {"static", "ms_loss_scaler_value", "loss_scale", "the scale"}},
      .clipping = {{.key = "clip_grad_value", .when = "clip_grad=true", .otherwise = 10}, {.when = "clip_grad=false"}},
      .remarks = {
          {.when = "ms_loss_scaler=dynamic overflow_still_update=true",
           .text =
               "overflow_still_update is true, as by default: the program applies steps that overflow, which the replay skips"}}};
}

}  // namespace ulp::io
