// torch.amp.GradScaler: pytorch/pytorch @0202916b torch/amp/grad_scaler.py, with the update kernel of
// @174170e8 aten/src/ATen/native/cpu/AmpGradScalerKernels.cpp (the CUDA kernel is the same text).
// Reproduced: the product of float32 scale and double factor is rounded to float32 once; growth that would leave
// float32 keeps the scale but resets the tracker; there is no floor, and a scale of 0 stays 0.
#include "gradscaler.hpp"

namespace ulp::scalers {
namespace {

struct pytorch_gradscaler : gradscaler_arguments {
  using machine = gradscaler_machine;
};

}  // namespace

registration pytorch_gradscaler_row() {
  return ruled_row<pytorch_gradscaler>(
      {.aliases = {"pytorch", "torch", "gradscaler", "accelerate", "lightning"},
       .family = "A",
       .summary = "torch.amp.GradScaler; Lightning 16-mixed, Accelerate and apex.transformer use it",
       .overflow_test = gradscaler_tests,
       .floor = "none; 0 stays",
       .ceiling = "kept finite",
       .window = "growth_interval",
       .rules = gradscaler_rules,
       .quirks = "no floor: from 2^16 the scale reaches 0 at the 166th overflow in a row and stays there\n"
                 "no ceiling but float32: growth that would be infinite is dropped, the tracker restarts\n"
                 "at scale 0 the gradients unscale to NaN although no overflow was found",
       .source = "pytorch/pytorch torch/amp/grad_scaler.py @0202916b, "
                 "aten/src/ATen/native/cpu/AmpGradScalerKernels.cpp @174170e8"});
}

}  // namespace ulp::scalers
