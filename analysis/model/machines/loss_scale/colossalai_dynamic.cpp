// Colossal-AI's DynamicGradScaler: hpcaitech/ColossalAI @4f9953be
// colossalai/amp/naive_amp/grad_scaler/dynamic_grad_scaler.py, with mixed_precision_mixin/fp16.py,
// mixed_precision_optimizer.py and zero/low_level/low_level_optim.py.
// Reproduced: float32; sticky hysteresis counted upwards, 0 being as good as 1; a min_scale or max_scale of 0 is none;
// gradients are divided by the scale after the update.
#include "engine.hpp"

namespace ulp::scalers {
namespace {

struct colossalai_dynamic {
  double initial_scale = 65536;
  double growth_factor = 2;
  double backoff_factor = 0.5;
  double growth_interval = 1000;
  std::optional<double> min_scale;
  std::optional<double> max_scale;
  std::int64_t hysteresis = 2;

  using machine = engine<float32_arithmetic, rules{.waits = patience::up}>;

  template <typename Visitor>
  void fields(Visitor&& v) {
    v("initial_scale", initial_scale, "scale of the first step");
    v("growth_factor", growth_factor, "scale is multiplied by this after growth_interval good steps in a row");
    v("backoff_factor", backoff_factor, "scale is multiplied by this when the hysteresis is spent");
    v("growth_interval", growth_interval, "good steps in a row before the scale grows");
    v("min_scale", min_scale, "floor of the scale; none or 0: no floor");
    v("max_scale", max_scale, "ceiling of the scale; none or 0: no ceiling");
    v("hysteresis", hysteresis, "overflows until the scale is lowered");
  }
  [[nodiscard]] static bool given(const std::optional<double>& x) { return x && static_cast<float>(*x) != 0; }
  [[nodiscard]] std::string refused() const {
    const auto scale = static_cast<float>(initial_scale);
    if (given(min_scale) && !(*min_scale > 0)) return "min_scale must be above 0";
    if (given(min_scale) && !(static_cast<float>(*min_scale) <= scale))
      return "min_scale must not be above initial_scale";
    if (given(max_scale) && !(*max_scale > 0)) return "max_scale must be above 0";
    if (given(max_scale) && !(static_cast<float>(*max_scale) >= scale))
      return "max_scale must not be below initial_scale";
    if (!(growth_factor > 1)) return "growth_factor must be above 1";
    if (!(backoff_factor > 0 && backoff_factor < 1)) return "backoff_factor must be between 0 and 1";
    if (hysteresis < 0) return "hysteresis must not be negative";
    return {};
  }
  [[nodiscard]] settings values() const {
    settings s{.start = initial_scale,
               .growth = growth_factor,
               .backoff = backoff_factor,
               .window = growth_interval,
               .limit = hysteresis};
    if (given(min_scale)) s.floor = *min_scale;
    if (given(max_scale)) s.ceiling = *max_scale;
    return s;
  }
  template <typename State, typename Visitor>
  static void state_fields(State& s, Visitor&& v) {
    v("scale", s.scale);
    v("growth_step", s.tracker);
    v("hysteresis_step", s.waited);
  }
};

}  // namespace

registration colossalai_dynamic_row() {
  return ruled_row<colossalai_dynamic>(
      {.aliases = {"colossalai", "colossal"},
       .family = "A / Hs",
       .summary = "Colossal-AI DynamicGradScaler, defaults of the class",
       .overflow_test = "element of the scaled gradients",
       .floor = "min_scale",
       .ceiling = "max_scale",
       .window = "growth_interval",
       .rules =
           "overflow: skip, growth step = 0, hysteresis step += 1; when it is hysteresis or more: scale = max(scale "
           "* backoff_factor, min_scale)\n"
           "good step: growth step += 1; when it equals growth_interval: scale = min(scale * growth_factor, "
           "max_scale), growth step = 0, hysteresis step = 0",
       .quirks = "hysteresis is sticky: once spent, every overflow lowers the scale until it grows again\n"
                 "hysteresis 0 is the same as 1\n"
                 "gradients are divided by the new scale: on a step that grows it they are halved\n"
                 "a checkpoint has neither growth step nor hysteresis step",
       .source = "hpcaitech/ColossalAI colossalai/amp/naive_amp/grad_scaler/dynamic_grad_scaler.py @4f9953be",
       .unscales_with_next = true});
}

registration colossalai_mixin_row() {
  colossalai_dynamic mixin;
  mixin.min_scale = 1;
  mixin.max_scale = 0x1p32;
  return preset(colossalai_dynamic_row(), "colossalai_dynamic as its fp16 optimizers build it", mixin);
}

}  // namespace ulp::scalers
