// apex's update kernel with hysteresis: NVIDIA/apex @6424da3b csrc/update_scale_hysteresis.cu, as NeMo calls it.
// Reproduced: torch's kernel behind a budget of overflows that any good step refills and that keeps falling below 0.
#include <array>

#include "gradscaler.hpp"

namespace ulp::scalers {
namespace {

struct apex_update_scale_hysteresis : gradscaler_arguments {
  std::int64_t hysteresis = 1;
  bool amp_c = true;

  using machine = engine<float32_by_double, rules{.waits = patience::down, .stays_finite = true}>;

  template <typename Visitor>
  void fields(Visitor&& v) {
    gradscaler_arguments::fields(v);
    v("hysteresis", hysteresis, "overflows in a row before the scale is lowered");
    v("amp_c", amp_c, "true: the kernel, which this policy is; NeMo's own Python for it is nemo_gradscaler");
  }
  [[nodiscard]] std::string refused() const {
    if (!amp_c) return "amp_c is true here; nemo_gradscaler is the policy without apex's kernel";
    return gradscaler_arguments::refused();
  }
  [[nodiscard]] settings values() const {
    settings s = gradscaler_arguments::values();
    s.limit = hysteresis;
    s.refilled_by_good = true;
    return s;
  }
  template <typename State, typename Visitor>
  static void state_fields(State& s, Visitor&& v) {
    gradscaler_arguments::state_fields(s, v);
    v("_hysteresis_tracker", s.waited);
  }
};

constexpr std::array<std::string_view, 1> aliases{"apex_hysteresis"};

}  // namespace

registration apex_update_scale_hysteresis_row() {
  return {{.name = "apex_update_scale_hysteresis",
           .aliases = aliases,
           .family = "A / Hc",
           .summary = "apex's update kernel with hysteresis, amp_C.update_scale_hysteresis",
           .tests = gradscaler_tests,
           .rules =
               "overflow: skip, tracker = 0, hysteresis tracker -= 1; when it is 0 or below: scale *= backoff_factor\n"
               "good step: hysteresis tracker = hysteresis, tracker += 1; when it equals growth_interval: scale *= "
               "growth_factor, tracker = 0",
           .quirks = "the hysteresis is for overflows in a row: any good step refills it\n"
                     "no floor; growth that would leave float32 is dropped",
           .source = "NVIDIA/apex csrc/update_scale_hysteresis.cu @6424da3b",
           .parameters = parameters_of(apex_update_scale_hysteresis{})},
          &make_ruled<apex_update_scale_hysteresis>};
}

}  // namespace ulp::scalers
