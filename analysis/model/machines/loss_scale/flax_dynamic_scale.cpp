// flax.training.dynamic_scale.DynamicScale: google/flax @18f8f311 flax/training/dynamic_scale.py.
// Reproduced: float32 arithmetic; the counter is compared before it is raised, so growth comes on good step
// growth_interval + 1; growth saturates at FLT_MAX, and from there on the scale is no power of two; the test is on the
// gradients after division by the scale. That division makes infinities of its own from 2^-128 down, where only
// minimum_scale=none lets the scale go. What it gives follows from the largest gradient; where that is not known a
// scaled gradient of 1 is assumed.
#include <algorithm>
#include <cmath>
#include <limits>

#include "policy.hpp"

namespace ulp::scalers {
namespace {

struct flax_dynamic_scale {
  double initial_scale = 65536;
  double growth_factor = 2;
  double backoff_factor = 0.5;
  std::int64_t growth_interval = 2000;
  std::int64_t fin_steps = 0;
  std::optional<double> minimum_scale = static_cast<double>(std::numeric_limits<float>::min());

  template <typename Visitor>
  void fields(Visitor&& v) {
    v("scale", initial_scale, "scale of the first step");
    v("growth_factor", growth_factor, "scale is multiplied by this after growth_interval + 1 finite steps in a row");
    v("backoff_factor", backoff_factor, "scale is multiplied by this after a step with inf or NaN");
    v("growth_interval", growth_interval, "finite steps in a row after which the next one grows the scale");
    v("fin_steps", fin_steps, "finite steps in a row before the first one");
    v("minimum_scale", minimum_scale, "floor of the scale; none: it falls to 0");
  }

  struct state {
    float scale = 0;
    std::int64_t fin_steps = 0;
    template <typename Visitor>
    void fields(Visitor&& v) {
      v("scale", scale);
      v("fin_steps", fin_steps);
    }
  };

  [[nodiscard]] state start() const { return {.scale = static_cast<float>(initial_scale), .fin_steps = fin_steps}; }
  [[nodiscard]] double scale(const state& s) const { return static_cast<double>(s.scale); }

  [[nodiscard]] static bool stays_finite_unscaled(float scale, double max_abs) {
    const float scaled = std::isfinite(max_abs) ? static_cast<float>(static_cast<double>(scale) * max_abs) : 1.0F;
    return std::isfinite(scaled / scale);
  }

  [[nodiscard]] transition<state> next(state s, const scaler_input& input) const {
    if (input.found_inf || !stays_finite_unscaled(s.scale, input.max_abs)) {
      s.scale *= static_cast<float>(backoff_factor);
      if (minimum_scale) s.scale = std::max(s.scale, static_cast<float>(*minimum_scale));
      s.fin_steps = 0;
      return {s, {.skipped = true}};
    }
    if (s.fin_steps == growth_interval) {
      s.scale = std::min(s.scale * static_cast<float>(growth_factor), std::numeric_limits<float>::max());
      s.fin_steps = 0;
    } else {
      ++s.fin_steps;
    }
    return {s, {}};
  }
};

}  // namespace

registration flax_dynamic_scale_row() {
  return row<flax_dynamic_scale>(
      {.aliases = {"flax"},
       .family = "C",
       .summary = "flax.training.dynamic_scale.DynamicScale",
       .overflow_test = "element of the unscaled gradients",
       .floor = "minimum_scale",
       .ceiling = "largest float32",
       .window = "growth_interval",
       .rules = "overflow: skip, scale = max(scale * backoff_factor, minimum_scale), fin_steps = 0\n"
                "good step with fin_steps == growth_interval: scale = min(scale * growth_factor, FLT_MAX), "
                "fin_steps = 0\n"
                "other good steps: fin_steps += 1",
       .quirks = "grows on good step growth_interval + 1; growth_interval=0 grows on every one\n"
                 "at FLT_MAX the scale leaves the powers of two forever\n"
                 "with minimum_scale=none, from 2^-128 down the division by the scale makes infinities of finite "
                 "gradients, and 0 is forever",
       .source = "google/flax flax/training/dynamic_scale.py @18f8f311"});
}

}  // namespace ulp::scalers
