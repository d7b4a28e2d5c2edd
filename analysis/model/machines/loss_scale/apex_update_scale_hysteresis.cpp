// apex's update kernel with hysteresis: NVIDIA/apex @6424da3b csrc/update_scale_hysteresis.cu, as NeMo calls it.
// Reproduced: torch's kernel behind a budget of overflows that any good step refills and that keeps falling below 0.
#include "gradscaler.hpp"

namespace ulp::scalers {
namespace {

struct apex_update_scale_hysteresis : hysteresis_arguments {
  bool amp_c = true;

  template <typename Visitor>
  void fields(Visitor&& v) {
    hysteresis_arguments::fields(v);
    v("amp_c", amp_c, "true: the kernel, which this policy is; NeMo's own Python for it is nemo_gradscaler");
  }
  [[nodiscard]] std::string refused() const {
    if (!amp_c) return "amp_c is true here; nemo_gradscaler is the policy without apex's kernel";
    return gradscaler_arguments::refused();
  }
};

}  // namespace

registration apex_update_scale_hysteresis_row() {
  return ruled_row<apex_update_scale_hysteresis>(
      {.aliases = {"apex_hysteresis"},
       .family = "A / Hc",
       .summary = "apex's update kernel with hysteresis, amp_C.update_scale_hysteresis",
       .overflow_test = gradscaler_tests,
       .floor = "none; 0 stays",
       .ceiling = "kept finite",
       .window = "growth_interval",
       .rules = hysteresis_rules,
       .quirks = "the hysteresis is for overflows in a row: any good step refills it\n"
                 "no floor; growth that would leave float32 is dropped",
       .source = "NVIDIA/apex csrc/update_scale_hysteresis.cu @6424da3b"});
}

}  // namespace ulp::scalers
