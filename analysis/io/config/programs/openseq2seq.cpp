// OpenSeq2Seq's Python configurations: NVIDIA/OpenSeq2Seq open_seq2seq/models/model.py (keys),
// open_seq2seq/optimizers/optimizers.py (clipping by the global norm), automatic_loss_scaler.py. The key was
// automatic_loss_scaling in the first versions.
#include "rows.hpp"

namespace ulp::io {

program_row openseq2seq_program() {
  return {
      .name = "OpenSeq2Seq",
      .markers =
          "base_params.dtype base_params.loss_scaling base_params.automatic_loss_scaling base_params.use_horovod",
      .keys = {.not_read = "train_params eval_params infer_params interactive_infer_params"},
      .defaults = "base_params.dtype=float32",
      .precision =
          {{.when = "base_params.dtype=mixed base_params.loss_scaling=backoff",
            .format = "float16",
            .scaler = "openseq2seq_backoff",
            .weights = "float32",
            .meaning = "float16 with float32 weights, the loss is scaled"},
           {.when = "base_params.dtype=mixed base_params.automatic_loss_scaling=backoff",
            .format = "float16",
            .scaler = "openseq2seq_backoff",
            .weights = "float32",
            .meaning = "float16 with float32 weights, the loss is scaled"},
           {.when = "base_params.dtype=mixed base_params.loss_scaling=logmax",
            .format = "float16",
            .scaler = "openseq2seq_logmax",
            .weights = "float32",
            .meaning = "float16 with float32 weights, the loss is scaled"},
           {.when = "base_params.dtype=mixed base_params.automatic_loss_scaling=logmax",
            .format = "float16",
            .scaler = "openseq2seq_logmax",
            .weights = "float32",
            .meaning = "float16 with float32 weights, the loss is scaled"},
           {.when = "base_params.dtype=mixed base_params.loss_scaling",
            .format = "float16",
            .scaler = "static",
            .parameters = "skip_on_overflow=false",
            .weights = "float32",
            .meaning = "float16 with float32 weights and a constant scale: overflow is not looked for"},
           {.when = "base_params.dtype=mixed",
            .format = "float16",
            .weights = "float32",
            .meaning = "float16 with float32 weights, the loss is not scaled"},
           {.when = "base_params.dtype=float32", .format = "float32", .weights = "float32", .meaning = in_float32},
           {.when = "base_params.dtype=float16",
            .format = "float16",
            .weights = "float16",
            .meaning = "float16 without a float32 copy, the loss is not scaled"}},
      .scale = {{"openseq2seq_backoff", "base_params.loss_scaling_params.scale_min", "scale_min", "floor of the scale"},
                {"openseq2seq_backoff", "base_params.loss_scaling_params.scale_max", "scale_max",
                 "ceiling, and scale of the first step"},
                {"openseq2seq_backoff", "base_params.loss_scaling_params.step_factor", "step_factor",
                 "factor of growth and backoff"},
                {"openseq2seq_backoff", "base_params.loss_scaling_params.step_window", "step_window",
                 "good steps before the scale grows"},
                {"static", "base_params.loss_scaling", "loss_scale", "the scale"}},
      .clipping = {{.key = "base_params.max_grad_norm"}},
      .microbatches = "base_params.iter_size"};
}

}  // namespace ulp::io
