// torch.cuda.amp.GradScaler before its kernel got the guard against growth to infinity (pytorch/pytorch#98876):
// @5bde2162 aten/src/ATen/native/cuda/AmpKernels.cu, with torch/cuda/amp/grad_scaler.py of torch 1.13.
// Reproduced: as pytorch_gradscaler, but the scale grows to infinity and stays there, every step then being skipped.
#include "gradscaler.hpp"

namespace ulp::scalers {
namespace {

struct pytorch_gradscaler_preguard : gradscaler_arguments {
  std::string kernel = "noguard";

  using machine = engine<float32_by_double, rules{}>;

  template <typename Visitor>
  void fields(Visitor&& v) {
    gradscaler_arguments::fields(v);
    v("kernel", kernel, "noguard, the kernel that this policy is; the one with the guard is pytorch_gradscaler");
  }

  [[nodiscard]] std::string refused() const {
    if (kernel != "noguard") return "kernel is noguard here; pytorch_gradscaler has the kernel with the guard";
    return gradscaler_arguments::refused();
  }
};

}  // namespace

registration pytorch_gradscaler_preguard_row() {
  return ruled_row<pytorch_gradscaler_preguard>(
      {.aliases = {"pytorch_preguard"},
       .family = "A",
       .summary = "torch.cuda.amp.GradScaler of torch up to 2.0",
       .overflow_test = gradscaler_tests,
       .floor = "none; 0 stays",
       .ceiling = "none",
       .window = "growth_interval",
       .rules = gradscaler_rules,
       .quirks = "grows to infinity and stays there: infinity times backoff_factor is infinity\n"
                 "no floor: the scale can reach 0 and stays there",
       .source = "pytorch/pytorch aten/src/ATen/native/cuda/AmpKernels.cu @5bde2162"});
}

}  // namespace ulp::scalers
