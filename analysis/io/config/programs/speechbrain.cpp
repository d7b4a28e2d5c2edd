// SpeechBrain's YAML, and options of its recipes: speechbrain/speechbrain @9c826ef3 speechbrain/core.py (the scaler; each optimizer's
// gradients are clipped by themselves), speechbrain/utils/run_opts.py (defaults).
#include "rows.hpp"

namespace ulp::io {

program_row speechbrain_program() {
  return {
      .name = "SpeechBrain",
      .markers =
          R"(epoch_counter+number_of_epochs __set_seed epoch_counter+checkpointer grad_accumulation_factor+max_grad_norm
          grad_accumulation_factor+precision auto_mix_prec bfloat16_mix_prec nonfinite_patience)",
      .takes_command = true,
      .settings = "command",
      .keys = {.not_read = "eval_precision"},
      .defaults = "precision=fp32 auto_mix_prec=false bfloat16_mix_prec=false skip_nonfinite_grads=false",
      .precision =
          {{.when = "device=cpu precision=fp16", .refused = "is cpu, where SpeechBrain refuses fp16"},
           {.when = "skip_nonfinite_grads=true !precision=fp16 auto_mix_prec=false",
            .refused = "leaves out tensors of gradients that are not finite, which is not replayed"},
           {.when = "bfloat16_mix_prec=true", .format = "bfloat16", .weights = "float32", .meaning = to_bfloat16},
           torch_scaled("auto_mix_prec=true"),
           torch_scaled("precision=fp16"),
           {.when = "precision=bf16", .format = "bfloat16", .weights = "float32", .meaning = to_bfloat16},
           {.when = "precision=fp32", .format = "float32", .weights = "float32", .meaning = in_float32}},
      .clipping = {{.key = "max_grad_norm", .otherwise = 5}},
      .microbatches = "grad_accumulation_factor",
      .remarks = {
          {.when = "",
           .text =
               "options of the command line (--precision, --max_grad_norm) take precedence over the file; a recipe with "
               "several optimizers clips the gradients of each by themselves"}}};
}

}  // namespace ulp::io
