// Lightning's Fabric in a script: Lightning-AI/pytorch-lightning src/lightning/fabric/fabric.py (precision 32-true by default;
// clip_gradients), connector.py (which precision plugin), plugins/precision/amp.py (torch's GradScaler).
#include "rows.hpp"

namespace ulp::io {

std::vector<precision_case> fabric_precision(std::vector<precision_case> all) {
  const std::vector<precision_case> known{
      torch_scaled("precision=16-mixed|16"),
      {.when = "precision=bf16-mixed|bf16", .format = "bfloat16", .weights = "float32", .meaning = to_bfloat16},
      {.when = "precision=16-true",
       .format = "float16",
       .weights = "float16",
       .meaning = "weights and gradients in float16, the loss is not scaled"},
      {.when = "precision=bf16-true",
       .format = "bfloat16",
       .weights = "bfloat16",
       .meaning = "weights and gradients in bfloat16, the loss is not scaled"},
      {.when = "precision=32-true|32", .format = "float32", .weights = "float32", .meaning = in_float32}};
  all.insert(all.end(), known.begin(), known.end());
  return all;
}

program_row fabric_program() {
  return {.name = "Fabric",
          .calls = "Fabric",
          .beside = "max_norm clip_val",
          .keys = {.read = "()", .not_read = "loggers callbacks devices num_nodes"},
          .defaults = "precision=32-true",
          .precision = fabric_precision(
              {{.when = "plugins",
                .refused = "may hold a precision plugin, which decides on the scaler; give --scaler and --format"},
               {.when = "strategy !strategy=auto|ddp|dp|ddp_spawn|ddp_notebook|ddp_find_unused_parameters_true",
                .refused = "may keep the loss scale; give --scaler and --format"},
               {.when = "precision=16-mixed|16 accelerator=cpu|tpu",
                .refused = "is not autocast to float16 on CPUs and TPUs; write what it is there"}}),
          .clipping = {{.key = "clip_val", .when = "clip_val", .mode = clipping_mode::value},
                       {.key = "max_norm", .clips_to_zero = true}},
          .place = written_in::files};
}

}  // namespace ulp::io
