// DeepSpeed's FP16_UnfusedOptimizer: microsoft/DeepSpeed @38327e07 deepspeed/runtime/fp16/unfused_optimizer.py.
// Reproduced: the rules of the fused one in doubles, growth to infinity included, with a floor of 0.25 of its own.
#include "engine.hpp"

namespace ulp::scalers {
namespace {

struct deepspeed_unfused {
  double cur_scale = 65536;
  double scale_window = 1000;
  double min_loss_scale = 0.25;

  using machine = engine<float64, rules{.grows = growth::window_divides_one_less, .divides = true}>;

  template <typename Visitor>
  void fields(Visitor&& v) {
    v("cur_scale", cur_scale, "scale of the first step (JSON: 2^initial_scale_power)");
    v("scale_window", scale_window, "good steps, less one, before the scale doubles (JSON: loss_scale_window)");
    v("min_loss_scale", min_loss_scale, "floor of the scale");
  }
  [[nodiscard]] settings values() const {
    return {.start = cur_scale, .growth = 2, .backoff = 2, .window = scale_window, .floor = min_loss_scale};
  }
  template <typename State, typename Visitor>
  static void state_fields(State& s, Visitor&& v) {
    v("cur_scale", s.scale);
    v("cur_iter", s.step);
    v("last_overflow_iter", s.last_overflow);
  }
};

}  // namespace

registration deepspeed_unfused_row() {
  return ruled_row<deepspeed_unfused>(
      {.family = "B",
       .summary = "DeepSpeed FP16_UnfusedOptimizer (LAMB)",
       .overflow_test = "element of the scaled gradients",
       .floor = "min_loss_scale",
       .ceiling = "none",
       .window = "scale_window",
       .rules = "overflow: skip, scale = max(scale / 2, min_loss_scale), last overflow = this step\n"
                "good step: with k = step - last overflow - 1: if k > 0 and k mod scale_window is 0: scale *= 2",
       .quirks = "grows on good step scale_window + 1, then 2 scale_window + 1, ...\n"
                 "the floor is 0.25 unless the JSON has a loss-scale key; the hysteresis of the JSON is ignored\n"
                 "gradients are divided by the new scale: on a step that grows it they are halved\n"
                 "no ceiling: the scale grows to infinity and stays there",
       .source = "microsoft/DeepSpeed deepspeed/runtime/fp16/unfused_optimizer.py @38327e07",
       .unscales_with_next = true});
}

}  // namespace ulp::scalers
