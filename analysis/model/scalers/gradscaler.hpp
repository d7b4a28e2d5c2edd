// What torch's GradScaler and its descendants share: arguments, the assertions on them, and the state they save.
#ifndef ULP_MODEL_SCALERS_GRADSCALER_HPP
#define ULP_MODEL_SCALERS_GRADSCALER_HPP

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
    return {.start = init_scale, .growth = growth_factor, .backoff = backoff_factor, .window = growth_interval};
  }

  template <typename State, typename Visitor>
  static void state_fields(State& s, Visitor&& v) {
    v("scale", s.scale);
    v("_growth_tracker", s.tracker);
  }
};

// The update kernel: torch's since the guard against growth to infinity.
using gradscaler_machine = engine<float32_by_double, rules{.stays_finite = true}>;

inline constexpr std::string_view gradscaler_tests = "an element of the scaled gradients is infinite or NaN";
inline constexpr std::string_view gradscaler_rules =
    "overflow: skip, scale *= backoff_factor, tracker = 0\n"
    "good step: tracker += 1; when it equals growth_interval: scale *= growth_factor, tracker = 0";

}  // namespace ulp::scalers

#endif
