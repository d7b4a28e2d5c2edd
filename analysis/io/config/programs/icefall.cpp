// icefall's arguments: k2-fsa/icefall egs/librispeech/ASR/zipformer/train.py. Its GradScaler starts at 1, and the program
// itself doubles a small scale, which no scaler of the catalogue does.
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
            .refused =
                "is icefall's GradScaler(init_scale=1.0), whose scale the program doubles itself: every 100 batches below 8, every "
                "400 below 32; there is no such scaler here. The nearest is --scaler pytorch_gradscaler --set init_scale=1"},
           {.when = "use_bf16=true", .refused = "is bfloat16 with icefall's own scaler, which is not replayed"},
           {.when = "use_fp16=false", .format = "float32", .weights = "float32", .meaning = in_float32}},
      .clipping = {{}},
      .remarks = {{.text = "icefall's ScaledAdam clips by a rule of its own (clipping_scale), which is not replayed"}}};
}

}  // namespace ulp::io
