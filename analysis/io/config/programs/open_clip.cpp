// OpenCLIP's arguments: mlfoundations/open_clip src/open_clip_train/params.py (precision is amp where it is not given), main.py
// (a GradScaler for amp alone), train.py, src/open_clip/factory.py (which types weights have).
#include "rows.hpp"

namespace ulp::io {

program_row open_clip_program() {
  return {.name = "OpenCLIP",
          .markers =
              "train_num_samples+dataset_type imagenet_val zeroshot_frequency gather_with_grad local_loss "
              "precision=amp_bfloat16|pure_bf16|pure_fp16",
          .started_by = "open_clip_train.main training.main training/main.py open_clip_train/main.py",
          .keys = {.not_read = "force_quick_gelu"},
          .defaults = "precision=amp",
          .precision = {torch_scaled("precision=amp"),
                        {.when = "precision=amp_bf16|amp_bfloat16",
                         .format = "bfloat16",
                         .weights = "float32",
                         .meaning = to_bfloat16},
                        {.when = "precision=bf16|pure_bf16",
                         .format = "bfloat16",
                         .weights = "bfloat16",
                         .meaning = "weights in bfloat16, the loss is not scaled"},
                        {.when = "precision=fp16|pure_fp16",
                         .format = "float16",
                         .weights = "float16",
                         .meaning = "weights in float16, the loss is not scaled"},
                        {.when = "precision=fp32", .format = "float32", .weights = "float32", .meaning = in_float32}},
          .clipping = {{.key = "grad_clip_norm", .clips_to_zero = true}},
          .microbatches = "accum_freq"};
}

}  // namespace ulp::io
