// nanoGPT's configurations in Python, and options of its train.py: karpathy/nanoGPT @3adf61e1 train.py (defaults; the type depends on the
// GPU where it is not given; no autocast but on CUDA), configurator.py.
#include "rows.hpp"

namespace ulp::io {

program_row nanogpt_program() {
  return {.name = "nanoGPT",
          .markers =
              R"(always_save_checkpoint n_layer+n_head+n_embd lr_decay_iters+max_iters eval_interval+eval_iters+out_dir
          init_from+out_dir wandb_run_name+max_iters block_size+max_iters eval_interval+grad_clip+out_dir)",
          .takes_command = true,
          .settings = "command",
          .keys = {.read = "compile", .not_read = "gradient_accumulation_steps"},
          .defaults = "device=cuda",
          .precision =
              {{.when = "device=cpu|mps", .format = "float32", .weights = "float32", .meaning = "no autocast there"},
               torch_scaled("dtype=float16"),
               {.when = "dtype=bfloat16", .format = "bfloat16", .weights = "float32", .meaning = to_bfloat16},
               {.when = "dtype=float32", .format = "float32", .weights = "float32", .meaning = in_float32},
               {.when = "!dtype",
                .refused = "is not given, and depends on the GPU then: bfloat16, or float16 on older ones; write it"}},
          .clipping = {{.key = "grad_clip", .otherwise = 1}}};
}

}  // namespace ulp::io
