// Levanter's YAML: stanford-crfm/levanter src/levanter/trainer.py (TrainerConfig.mp, a policy of deepmind/jmp, "f32" by default),
// src/levanter/optim/config.py (AdamConfig.max_grad_norm). No loss is scaled in it.
#include "rows.hpp"

namespace ulp::io {

program_row levanter_program() {
  return {.name = "Levanter",
          .markers =
              "trainer.mp+trainer.train_batch_size trainer.mp+trainer.num_train_steps trainer.model_axis_size "
              "trainer.per_device_parallelism",
          .keys = {.not_read = "data model"},
          .defaults = "trainer.mp=f32",
          .precision = {{.when = "trainer.mp=p=f32,c=bfloat16|p=f32,c=bf16|params=float32,compute=bfloat16|"
                                 "params=float32,compute=bfloat16,output=float32",
                         .format = "bfloat16",
                         .weights = "float32",
                         .meaning = "float32 weights, computed in bfloat16; the loss is not scaled"},
                        {.when = "trainer.mp=bfloat16|bf16|p=bfloat16,c=bfloat16|p=bf16,c=bf16",
                         .format = "bfloat16",
                         .weights = "bfloat16",
                         .meaning = "weights in bfloat16 without a float32 copy, the loss is not scaled"},
                        {.when = "trainer.mp=f32|float32|p=f32,c=f32",
                         .format = "float32",
                         .weights = "float32",
                         .meaning = in_float32}},
          .clipping = {{.key = "optimizer.max_grad_norm", .when = "optimizer.max_grad_norm"},
                       {.key = "optimizer.max_grad_norm", .when = "!optimizer.type", .otherwise = 1},
                       {.key = "optimizer.max_grad_norm", .when = "optimizer.type=adam", .otherwise = 1},
                       {.when = "optimizer.type",
                        .refused = "has a clipping of its own where max_grad_norm is not given; write it"}},
          .place = written_in::files};
}

}  // namespace ulp::io
