// T5X's gin files: google-research/t5x t5x/examples/t5/network.py (T5Config.dtype is that of the activations, weights are float32),
// t5x/examples/t5/t5_1_1/base.gin. No loss is scaled in it.
#include "rows.hpp"

namespace ulp::io {

program_row t5x_program() {
  return {.name = "T5X",
          .markers = "network.T5Config train_script.train utils.DatasetConfig",
          .named_in_script = "t5x/",
          .started_by = "t5x/train.py t5x.train",
          .precision = {{.when = "network.T5Config.dtype=bfloat16",
                         .format = "bfloat16",
                         .weights = "float32",
                         .meaning = "bfloat16, the loss is not scaled"},
                        {.when = "network.T5Config.dtype=float32",
                         .format = "float32",
                         .weights = "float32",
                         .meaning = in_float32},
                        {.when = "!network.T5Config.dtype",
                         .refused = "is not given here: T5X takes it from the gin files that it includes; write it"}},
          .remarks = {{.text = "T5X clips in the optimizer that the gin file names, if at all: give --clip-norm"}}};
}

}  // namespace ulp::io
