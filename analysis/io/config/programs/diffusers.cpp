// The training scripts of diffusers: huggingface/diffusers examples/*/train_*.py (max_grad_norm is 1 where it is not given, and
// mixed_precision is Accelerate's).
#include "rows.hpp"

namespace ulp::io {

program_row diffusers_program() {
  return {
      .name = "diffusers",
      .started_by =
          R"(train_text_to_image*.py train_dreambooth*.py train_controlnet*.py textual_inversion*.py train_unconditional.py
          train_instruct_pix2pix*.py train_lcm_distill*.py train_t2i_adapter*.py)",
      .keys = {.not_read = "prior_generation_precision upcast_before_saving"},
      .defaults = "mixed_precision=no",
      .precision =
          {torch_scaled("mixed_precision=fp16"),
           {.when = "mixed_precision=bf16", .format = "bfloat16", .weights = "float32", .meaning = to_bfloat16},
           {.when = "mixed_precision=no", .format = "float32", .weights = "float32", .meaning = in_float32}},
      .clipping = {{.key = "max_grad_norm", .otherwise = 1, .clips_to_zero = true}},
      .microbatches = "gradient_accumulation_steps",
      .precision_of_launcher = true};
}

}  // namespace ulp::io
