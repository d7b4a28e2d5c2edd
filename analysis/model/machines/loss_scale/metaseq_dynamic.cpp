// metaseq's DynamicLossScaler: facebookresearch/metaseq @f7ffa5fd metaseq/optim/dynamic_loss_scaler.py.
// Reproduced: fairseq's rules; the window is multiplied and divided along with the scale (a float after growth, cut to
// an int after backoff); at the minimum the scale stays and steps go on being skipped, the window still shrinking.
#include "fairseq.hpp"

namespace ulp::scalers {
namespace {

struct metaseq_dynamic : fairseq_arguments {
  metaseq_dynamic() {
    init_scale = 4;
    scale_window = 256;
    min_loss_scale = 0x1p-5;
  }
};

}  // namespace

registration metaseq_dynamic_row() {
  return row<metaseq_dynamic, fairseq_runner<fairseq_copy::metaseq>>(
      {.aliases = {"metaseq"},
       .family = "D",
       .summary = "metaseq DynamicLossScaler (OPT)",
       .overflow_test = "norm of the scaled gradients",
       .floor = "min_loss_scale; or threshold",
       .ceiling = "none",
       .window = "scale_window",
       .rules = "overflow: skip, last overflow = this step, overflows += 1\n"
                "if overflows / steps since the last change >= tolerance: scale = max(scale / scale_factor, "
                "threshold), window = max(int(window / scale_factor), 1), overflows = 0\n"
                "if then scale < min_loss_scale: the scale is put back\n"
                "good step: if (step - last overflow) mod window is 0: scale *= scale_factor, window *= scale_factor",
       .quirks = "the window follows the scale: after a burst of overflows the scale comes back quickly, and the "
                 "higher it is the longer it takes to grow\n"
                 "no error at the minimum",
       .source = "facebookresearch/metaseq metaseq/optim/dynamic_loss_scaler.py @f7ffa5fd"});
}

}  // namespace ulp::scalers
