// icefall's arguments: k2-fsa/icefall egs/librispeech/ASR/zipformer/train.py. Its GradScaler starts at 1, and the program
// itself doubles a small scale.
#include "rows.hpp"

namespace ulp::io {

program_row icefall_program() {
  return {
      .name = "icefall",
      .markers =
          "use_fp16+max_duration use_bf16+max_duration use_fp16+exp_dir max_duration+base_lr max_duration+bucketing_sampler",
      .started_by =
          "zipformer/*.py pruned_transducer_stateless*.py conformer_ctc*.py lstm_transducer_stateless*.py zipformer_ctc*.py",
      .defaults = "use_fp16=false use_bf16=false",
      .precision =
          {{.when = "use_fp16=true",
            .format = "float16",
            .scaler = "icefall_gradscaler",
            .weights = "float32",
            .meaning =
                "autocast to float16 with GradScaler(init_scale=1.0), whose scale the program doubles while it is small"},
           {.when = "use_bf16=true", .refused = "is bfloat16 with icefall's own scaler, which is not replayed"},
           {.when = "use_fp16=false", .format = "float32", .weights = "float32", .meaning = in_float32}},
      .clipping = {{}},
      .remarks = {
          {.when = "use_fp16=true",
           .text =
               "the scale is doubled below 8, and below 32 every 400 batches, as zipformer does; "
               "pruned_transducer_stateless7 has 1 and 8, ZipVoice 1024 and 4096: repeat them by --set double_below "
               "and --set double_seldom_below"},
          {.text = "icefall's ScaledAdam clips by a rule of its own (clipping_scale), which is not replayed"}}};
}

}  // namespace ulp::io
