// ESPnet2's YAML: espnet/espnet espnet2/tasks/abs_task.py (keys; grad_clip 5 and use_amp false where they are not given),
// espnet2/train/trainer.py (torch's GradScaler).
#include "rows.hpp"

namespace ulp::io {

program_row espnet_program() {
  return {
      .name = "ESPnet",
      .markers = "batch_bins grad_clip+accum_grad optim_conf+scheduler_conf accum_grad+max_epoch keep_nbest_models",
      .started_by = "espnet2.bin.*_train espnet2/bin/*_train.py",
      .settings = "config",
      .keys =
          {.not_read =
               "encoder_conf decoder_conf frontend_conf specaug_conf preprocessor_conf model_conf ctc_conf normalize_conf"},
      .defaults = "use_amp=false train_dtype=float32 grad_clip_type=2",
      .precision = {{.when = "use_deepspeed=true", .refused = "hands the loss scale to DeepSpeed; give its JSON"},
                    {.when = "train_dtype=float16|bfloat16|float64",
                     .refused = "is not float32, in which the scaler is not known here"},
                    torch_scaled("use_amp=true"),
                    {.when = "use_amp=false", .format = "float32", .weights = "float32", .meaning = in_float32}},
      .clipping = {{.key = "grad_clip", .when = "grad_clip_type=2|2.0", .otherwise = 5, .clips_to_zero = true},
                   {.when = "grad_clip_type", .refused = "is another norm than L2, which is not replayed"}},
      .microbatches = "accum_grad"};
}

}  // namespace ulp::io
