// DeepSpeed's FP16_Optimizer, fused and without ZeRO: microsoft/DeepSpeed @38327e07
// deepspeed/runtime/fp16/fused_optimizer.py.
// Reproduced: the steps since the last overflow are counted from one too late, so growth comes on good step window + 1
// and then every window; the factor is the int 2, so a whole scale stays an int until the first overflow, and beyond
// the largest double raises instead of becoming infinite; hysteresis is not looked at; no error at the minimum;
// gradients are divided by the scale after the update. Defaults are the class's; JSON gives those of `deepspeed_fused`.
#include "engine.hpp"

namespace ulp::scalers {
namespace {

struct deepspeed_fused_nonzero {
  double cur_scale = 0x1p32;
  double scale_window = 1000;
  double min_loss_scale = 1;

  using machine = engine<python, rules{.grows = growth::window_divides_one_less, .divides = true}>;
  static constexpr bool raises_after_step = true;

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
  [[nodiscard]] std::string_view error_after(const machine::state& s) const {
    return s.scale.too_large() ? "OverflowError: int too large to convert to float" : "";
  }
};

}  // namespace

registration deepspeed_fused_nonzero_row() {
  return ruled_row<deepspeed_fused_nonzero>(
      {.family = "B",
       .summary = "DeepSpeed FP16_Optimizer, fused, without ZeRO, defaults of the class",
       .overflow_test = "element of the scaled gradients",
       .floor = "min_loss_scale",
       .ceiling = "largest double; an int raises beyond, a float becomes infinite",
       .window = "scale_window",
       .rules = "overflow: skip, scale = max(scale / 2, min_loss_scale), last overflow = this step\n"
                "good step: with k = step - last overflow - 1: if k > 0 and k mod scale_window is 0: scale *= 2",
       .quirks = "grows on good step scale_window + 1, then 2 scale_window + 1, ...\n"
                 "the hysteresis of the JSON is ignored\n"
                 "no error at the minimum\n"
                 "gradients are divided by the new scale: on a step that grows it they are halved\n"
                 "a Python int until the first overflow: it grows beyond the largest double and then raises",
       .source = "microsoft/DeepSpeed deepspeed/runtime/fp16/fused_optimizer.py @38327e07",
       .unscales_with_next = true});
}

registration deepspeed_fused_row() {
  deepspeed_fused_nonzero json;
  json.cur_scale = 65536;
  return preset(deepspeed_fused_nonzero_row(), "deepspeed_fused_nonzero with the defaults of DeepSpeed's JSON", json);
}

}  // namespace ulp::scalers
