// fairseq's DynamicLossScaler: facebookresearch/fairseq @3d262bb2 fairseq/optim/dynamic_loss_scaler.py, with
// fp16_optimizer.py, trainer.py and the defaults of dataclass/configs.py.
// Reproduced: doubles; the share of overflows is counted since the scale last changed, and growth does not reset the
// count; the minimum is checked after lowering, restores the scale and raises; a run that catches that and goes on
// divides by zero at every further overflow. Defaults are the class's; the command line has those of `fairseq_cli`.
#include "fairseq.hpp"

namespace ulp::scalers {

registration fairseq_dynamic_row() {
  return row<fairseq_arguments, fairseq_runner<fairseq_copy::fairseq>>(
      {.aliases = {"fairseq"},
       .family = "A",
       .summary = "fairseq DynamicLossScaler, defaults of the class",
       .overflow_test = "norm of the scaled gradients; not averaged",
       .floor = "threshold; else min_loss_scale, which raises",
       .ceiling = "none",
       .window = "scale_window",
       .rules = "overflow: skip, last overflow = this step, overflows += 1\n"
                "if overflows / steps since the last change >= tolerance: scale = max(scale / scale_factor, "
                "threshold), overflows = 0\n"
                "if then scale <= min_loss_scale: the scale is put back and FloatingPointError raised\n"
                "good step: if (step - last overflow) mod scale_window is 0: scale *= scale_factor",
       .quirks = "a norm can overflow where no element does\n"
                 "growth does not reset the count of tolerated overflows\n"
                 "going on after the error, every overflow raises ZeroDivisionError\n"
                 "a threshold below min_loss_scale has no effect",
       .source = "facebookresearch/fairseq fairseq/optim/dynamic_loss_scaler.py @3d262bb2"});
}

registration fairseq_cli_row() {
  fairseq_arguments cli;
  cli.init_scale = 128;
  cli.scale_window = 16384;
  return preset(fairseq_dynamic_row(), "fairseq_dynamic as fairseq-train --fp16 builds it on one GPU", cli);
}

}  // namespace ulp::scalers
