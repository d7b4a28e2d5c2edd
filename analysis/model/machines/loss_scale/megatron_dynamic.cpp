// Megatron-LM's DynamicGradScaler: NVIDIA/Megatron-LM @d98e8a64 megatron/core/optimizer/grad_scaler.py, defaults of
// optimizer_config.py and the command line.
// Reproduced: float32 throughout; the hysteresis is refilled by growth only, although its text says "consecutive", and
// once spent falls below 0; no ceiling and no guard, so the scale grows to infinity.
#include "engine.hpp"

namespace ulp::scalers {
namespace {

struct megatron_dynamic {
  double initial_scale = 0x1p32;
  double min_scale = 1;
  double growth_factor = 2;
  double backoff_factor = 0.5;
  double growth_interval = 1000;
  std::int64_t hysteresis = 2;

  using machine = engine<float32_arithmetic, rules{.waits = patience::down}>;

  template <typename Visitor>
  void fields(Visitor&& v) {
    v("initial_scale", initial_scale, "scale of the first step (--initial-loss-scale)");
    v("min_scale", min_scale, "floor of the scale (--min-loss-scale)");
    v("growth_factor", growth_factor, "scale is multiplied by this after growth_interval good steps in a row");
    v("backoff_factor", backoff_factor, "scale is multiplied by this when the hysteresis is spent");
    v("growth_interval", growth_interval, "good steps in a row before the scale grows (--loss-scale-window)");
    v("hysteresis", hysteresis, "overflows until the scale is lowered (--hysteresis)");
  }
  [[nodiscard]] std::string refused() const {
    if (!(initial_scale > 0)) return "initial_scale must be above 0";
    if (!(min_scale > 0)) return "min_scale must be above 0";
    if (!(min_scale <= initial_scale)) return "min_scale must not be above initial_scale";
    if (!(growth_factor > 1)) return "growth_factor must be above 1";
    if (!(backoff_factor > 0 && backoff_factor < 1)) return "backoff_factor must be between 0 and 1";
    if (growth_interval <= 0) return "growth_interval must be above 0";
    if (hysteresis <= 0) return "hysteresis must be above 0";
    return {};
  }
  [[nodiscard]] settings values() const {
    return {.start = initial_scale,
            .growth = growth_factor,
            .backoff = backoff_factor,
            .window = growth_interval,
            .limit = hysteresis,
            .floor = min_scale};
  }
  template <typename State, typename Visitor>
  static void state_fields(State& s, Visitor&& v) {
    v("scale", s.scale);
    v("growth_tracker", s.tracker);
    v("hysteresis_tracker", s.waited);
  }
};

}  // namespace

registration megatron_dynamic_row() {
  return ruled_row<megatron_dynamic>(
      {.aliases = {"megatron"},
       .family = "A / Hs",
       .summary = "Megatron-LM DynamicGradScaler",
       .overflow_test = "element of the scaled gradients; the main gradients",
       .floor = "min_scale",
       .ceiling = "none",
       .window = "growth_interval",
       .rules = "overflow: skip, tracker = 0, hysteresis tracker -= 1; when it is 0 or below: scale = max(scale * "
                "backoff_factor, min_scale)\n"
                "good step: tracker += 1; when it equals growth_interval: scale *= growth_factor, tracker = 0, "
                "hysteresis tracker = hysteresis",
       .quirks = "hysteresis is sticky, not consecutive as documented: a good step does not refill it, growth does\n"
                 "from 2^32 the first sixteen or so steps are usually skipped\n"
                 "no ceiling: the scale grows to infinity and stays there",
       .source = "NVIDIA/Megatron-LM megatron/core/optimizer/grad_scaler.py @d98e8a64 (DynamicGradScaler)"});
}

}  // namespace ulp::scalers
