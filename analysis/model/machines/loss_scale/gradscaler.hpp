// What torch's GradScaler and its descendants share: arguments, the assertions on them, and the state they save.
#ifndef ULP_MODEL_MACHINES_LOSS_SCALE_GRADSCALER_HPP
#define ULP_MODEL_MACHINES_LOSS_SCALE_GRADSCALER_HPP

#include <string>

#include "engine.hpp"

namespace ulp::scalers {

struct gradscaler_arguments {
  double init_scale = 65536;
  double growth_factor = 2;
  double backoff_factor = 0.5;
  std::int64_t growth_interval = 2000;

  template <typename Visitor>
  void fields(Visitor&& v) {
    v("init_scale", init_scale, "scale of the first step");
    v("growth_factor", growth_factor, "scale is multiplied by this after growth_interval good steps in a row");
    v("backoff_factor", backoff_factor, "scale is multiplied by this after a step with inf or NaN");
    v("growth_interval", growth_interval, "good steps in a row before the scale grows");
  }

  [[nodiscard]] std::string refused() const {
    if (!(growth_factor > 1)) return "growth_factor must be above 1";
    if (!(backoff_factor < 1)) return "backoff_factor must be below 1";
    return {};
  }

  [[nodiscard]] settings values() const {
    return {.start = init_scale,
            .growth = growth_factor,
            .backoff = backoff_factor,
            .window = static_cast<double>(growth_interval)};
  }

  template <typename State, typename Visitor>
  static void state_fields(State& s, Visitor&& v) {
    v("scale", s.scale);
    v("_growth_tracker", s.tracker);
  }
};

// With a budget of overflows that any good step refills and that, once spent, keeps falling below 0.
struct hysteresis_arguments : gradscaler_arguments {
  std::int64_t hysteresis = 1;

  using machine = engine<float32_by_double, rules{.waits = patience::down, .stays_finite = true}>;

  template <typename Visitor>
  void fields(Visitor&& v) {
    gradscaler_arguments::fields(v);
    v("hysteresis", hysteresis, "overflows in a row before the scale is lowered");
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

// The update kernel: torch's since the guard against growth to infinity.
using gradscaler_machine = engine<float32_by_double, rules{.stays_finite = true}>;

inline constexpr std::string_view gradscaler_tests = "element of the scaled gradients";
inline constexpr std::string_view gradscaler_rules =
    "overflow: skip, scale *= backoff_factor, tracker = 0\n"
    "good step: tracker += 1; when it equals growth_interval: scale *= growth_factor, tracker = 0";
inline constexpr std::string_view hysteresis_rules =
    "overflow: skip, tracker = 0, hysteresis tracker -= 1; when it is 0 or below: scale *= backoff_factor\n"
    "good step: hysteresis tracker = hysteresis, tracker += 1; when it equals growth_interval: scale *= "
    "growth_factor, tracker = 0";

}  // namespace ulp::scalers

#endif
