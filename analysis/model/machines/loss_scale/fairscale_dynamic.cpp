// fairscale's experimental DynamicLossScaler: facebookresearch/fairscale @146f1602
// fairscale/experimental/optim/dynamic_loss_scaler.py, in a loop written as for torch: step() and update() every step.
// Reproduced: fairseq's rules, but update() also follows a skipped step, so that the iteration advances by two and
// growth after an overflow comes one step early.
#include "fairseq.hpp"

namespace ulp::scalers {

registration fairscale_dynamic_row() {
  return row<fairseq_arguments, fairseq_runner<fairseq_copy::fairscale>>(
      {.aliases = {"fairscale"},
       .family = "E",
       .summary = "fairscale's experimental DynamicLossScaler",
       .overflow_test = "norm of the scaled gradients",
       .floor = "threshold; else min_loss_scale, which raises",
       .ceiling = "none",
       .window = "scale_window",
       .rules = "overflow: skip, last overflow = this iteration, overflows += 1\n"
                "if overflows / iterations since the last change >= tolerance: scale = max(scale / scale_factor, "
                "threshold), overflows = 0\n"
                "if then scale <= min_loss_scale: the scale is put back and FloatingPointError raised\n"
                "every step then: if (iteration - last overflow) mod scale_window is 0: scale *= scale_factor",
       .quirks = "a skipped step counts as two iterations: growth comes on good step scale_window - 1 after it\n"
                 "with scale_window 1 a skipped step lowers the scale and raises it again",
       .source = "facebookresearch/fairscale fairscale/experimental/optim/dynamic_loss_scaler.py @146f1602"});
}

}  // namespace ulp::scalers
