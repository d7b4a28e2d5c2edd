// AllenNLP's JSON: allenai/allennlp allennlp/training/gradient_descent_trainer.py (keys and defaults; grad_clipping clamps gradients as
// they arise, while they are scaled).
#include "rows.hpp"

namespace ulp::io {

program_row allennlp_program() {
  return {
      .name = "AllenNLP",
      .markers = "dataset_reader+trainer train_data_path+trainer",
      .keys = {.not_read = "dataset_reader validation_dataset_reader model data_loader vocabulary"},
      .defaults =
          "trainer.type=gradient_descent trainer.use_amp=false trainer.grad_scaling=true trainer.grad_norm=false",
      .precision =
          {{.when = "!trainer.type=gradient_descent",
            .refused = "is not AllenNLP's own trainer, and is not known here"},
           {.when = "distributed.ddp_accelerator trainer.use_amp=true",
            .refused = "may have a scaler of its own, which is not known here; give --scaler and --format"},
           torch_scaled("trainer.use_amp=true trainer.grad_scaling=true"),
           {.when = "trainer.use_amp=true trainer.grad_scaling=false",
            .format = "float16",
            .weights = "float32",
            .meaning = "autocast to float16, the loss is not scaled"},
           {.when = "trainer.use_amp=false", .format = "float32", .weights = "float32", .meaning = in_float32}},
      .clipping = {{.when = "trainer.grad_clipping",
                    .refused = "clamps gradients as they arise, before they are unscaled, which is not replayed"},
                   {.when = "trainer.grad_norm=true",
                    .refused = "is true, with which the norm is only computed: leave it out; a limit of 1 is 1.0 here"},
                   {.when = "trainer.grad_norm=false"},
                   {.key = "trainer.grad_norm", .clips_to_zero = true}},
      .microbatches = "trainer.num_gradient_accumulation_steps",
      .place = written_in::files};
}

}  // namespace ulp::io
