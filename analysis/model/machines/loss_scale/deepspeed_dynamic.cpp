// DeepSpeed's DynamicLossScaler, for ZeRO 1 to 3: microsoft/DeepSpeed @38327e07 deepspeed/runtime/fp16/loss_scaler.py,
// with config.py, constants.py, zero/stage_1_and_2.py and zero/stage3.py.
// Reproduced: doubles; sticky hysteresis, refilled by growth only, or consecutive with consecutive_hysteresis; an
// overflow at min_scale raises and leaves the state; the message of an overflow at an infinite scale raises; gradients
// are divided by the scale after the update. Defaults are the class's: JSON with any loss-scale key has those of
// `deepspeed`.
#include <algorithm>
#include <cmath>

#include "engine.hpp"

namespace ulp::scalers {
namespace {

struct deepspeed_dynamic {
  double init_scale = 0x1p32;
  double scale_factor = 2;
  double scale_window = 1000;
  double min_scale = 1;
  std::int64_t delayed_shift = 1;
  bool consecutive_hysteresis = false;
  bool raise_error_at_min_scale = true;

  using machine =
      engine<float64, rules{.grows = growth::window_divides, .waits = patience::down_to_one, .divides = true}>;

  template <typename Visitor>
  void fields(Visitor&& v) {
    v("init_scale", init_scale, "scale of the first step (JSON: 2^initial_scale_power)");
    v("scale_factor", scale_factor, "factor of growth, divisor of backoff");
    v("scale_window", scale_window, "good steps in a row before the scale grows (JSON: loss_scale_window)");
    v("min_scale", min_scale, "floor of the scale (JSON: min_loss_scale)");
    v("delayed_shift", delayed_shift, "overflows until the scale is lowered (JSON: hysteresis)");
    v("consecutive_hysteresis", consecutive_hysteresis, "whether any good step refills the hysteresis");
    v("raise_error_at_min_scale", raise_error_at_min_scale, "whether an overflow at min_scale ends the run");
  }
  [[nodiscard]] settings values() const {
    return {.start = init_scale,
            .growth = scale_factor,
            .backoff = scale_factor,
            .window = scale_window,
            .limit = delayed_shift,
            .refilled_by_good = consecutive_hysteresis,
            .floor = min_scale};
  }
  template <typename State, typename Visitor>
  static void state_fields(State& s, Visitor&& v) {
    v("cur_scale", s.scale);
    v("cur_iter", s.step);
    v("last_overflow_iter", s.last_overflow);
    v("cur_hysteresis", s.waited);
  }
  [[nodiscard]] std::string_view error_before(const machine::state& s, bool overflow) const {
    if (!overflow) return {};
    const bool lowers = delayed_shift == 1 || s.waited == 1;
    if (lowers && s.scale == min_scale && raise_error_at_min_scale)
      return "Exception: the loss scale is already at its minimum and cannot decrease";
    // Its message holds int(scale) before and after.
    const double next = lowers ? std::max(s.scale / scale_factor, min_scale) : s.scale;
    return std::isinf(s.scale) || std::isinf(next) ? "OverflowError: cannot convert float infinity to integer" : "";
  }
};

}  // namespace

registration deepspeed_dynamic_row() {
  return ruled_row<deepspeed_dynamic>(
      {.family = "A / Hs / Hc",
       .summary = "DeepSpeed with ZeRO, defaults of the class (those of the JSON: deepspeed)",
       .overflow_test = "element of the scaled gradients",
       .floor = "min_scale; an overflow there raises",
       .ceiling = "none; an overflow at infinity raises",
       .window = "scale_window",
       .rules = "overflow: skip, last overflow = this step; if the hysteresis left is 1: scale = max(scale / "
                "scale_factor, min_scale), and an error if it was min_scale; else hysteresis left -= 1\n"
                "good step: if (step - last overflow) mod scale_window is 0: scale *= scale_factor, hysteresis left = "
                "delayed_shift\n"
                "consecutive_hysteresis: each good step sets hysteresis left = delayed_shift",
       .quirks = "hysteresis is sticky: once spent, every overflow lowers the scale until it grows again\n"
                 "gradients are divided by the new scale: on a step that grows it they are halved\n"
                 "with no loss-scale key in the JSON these defaults hold, with any one key those of deepspeed\n"
                 "an overflow at an infinite scale raises OverflowError",
       .source = "microsoft/DeepSpeed deepspeed/runtime/fp16/loss_scaler.py @38327e07",
       .unscales_with_next = true});
}

registration deepspeed_row() {
  deepspeed_dynamic json;
  json.init_scale = 65536;
  json.delayed_shift = 2;
  return preset(deepspeed_dynamic_row(), "deepspeed_dynamic with the defaults of DeepSpeed's JSON", json);
}

}  // namespace ulp::scalers
