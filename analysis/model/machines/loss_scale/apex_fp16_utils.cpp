// apex.fp16_utils.DynamicLossScaler: NVIDIA/apex 22.03 apex/fp16_utils/loss_scaler.py.
// Reproduced: doubles; growth where the steps since the last overflow are a multiple of the window, so growth itself
// does not start the count again; the floor of 1. (apex's FP16_Optimizer uses apex_amp's scaler instead.)
#include "engine.hpp"

namespace ulp::scalers {
namespace {

struct apex_fp16_utils {
  double init_scale = 0x1p32;
  double scale_factor = 2;
  double scale_window = 1000;

  using machine = engine<float64, rules{.grows = growth::window_divides, .divides = true}>;

  template <typename Visitor>
  void fields(Visitor&& v) {
    v("init_scale", init_scale, "scale of the first step");
    v("scale_factor", scale_factor, "factor of growth, divisor of backoff");
    v("scale_window", scale_window, "good steps in a row before the scale grows");
  }
  [[nodiscard]] settings values() const {
    return {.start = init_scale, .growth = scale_factor, .backoff = scale_factor, .window = scale_window, .floor = 1};
  }
  template <typename State, typename Visitor>
  static void state_fields(State& s, Visitor&& v) {
    v("cur_scale", s.scale);
    v("cur_iter", s.step);
    v("last_overflow_iter", s.last_overflow);
  }
};

}  // namespace

registration apex_fp16_utils_row() {
  return ruled_row<apex_fp16_utils>(
      {.family = "A",
       .summary = "apex.fp16_utils.DynamicLossScaler",
       .overflow_test = "float32 sum of the scaled gradients of a tensor",
       .floor = "1",
       .ceiling = "none",
       .window = "scale_window",
       .rules = "overflow: skip, scale = max(scale / scale_factor, 1), last overflow = this step\n"
                "good step: if (step - last overflow) mod scale_window is 0: scale *= scale_factor",
       .quirks = "the floor of 1 is fixed\n"
                 "no ceiling: the scale grows to infinity and stays there\n"
                 "a float32 sum can overflow where no element does",
       .source = "NVIDIA/apex apex/fp16_utils/loss_scaler.py @22.03"});
}

}  // namespace ulp::scalers
