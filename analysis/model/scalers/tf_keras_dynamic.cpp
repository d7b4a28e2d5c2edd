// tf.keras 2.x LossScaleOptimizer(dynamic=True): keras-team/tf-keras @dd0a7237
// tf_keras/mixed_precision/loss_scale_optimizer.py, class _DynamicLossScaleState.
// Reproduced: float32 arithmetic, growth by ">=", the floor of 1, growth dropped when it would be infinite.
#include <algorithm>
#include <array>
#include <cmath>

#include "policy.hpp"

namespace ulp::scalers {
namespace {

struct tf_keras_dynamic {
  double initial_loss_scale = 32768;
  std::int64_t growth_steps = 2000;
  double multiplier = 2;

  template <typename Visitor>
  void fields(Visitor&& v) {
    v("initial_loss_scale", initial_loss_scale, "scale of the first step");
    v("growth_steps", growth_steps, "good steps in a row before the scale grows");
    v("multiplier", multiplier, "factor of growth, divisor of backoff; 2 through the public interface");
  }

  struct state {
    float current_loss_scale = 0;
    std::int64_t counter = 0;
    template <typename Visitor>
    void fields(Visitor&& v) {
      v("current_loss_scale", current_loss_scale);
      v("counter", counter);
    }
  };

  [[nodiscard]] std::string refused() const { return {}; }
  [[nodiscard]] state start() const { return {.current_loss_scale = static_cast<float>(initial_loss_scale)}; }
  [[nodiscard]] double scale(const state& s) const { return static_cast<double>(s.current_loss_scale); }

  [[nodiscard]] transition<state> next(state s, const scaler_input& input) const {
    const auto factor = static_cast<float>(multiplier);
    if (input.found_inf) {
      s.counter = 0;
      s.current_loss_scale = std::max(s.current_loss_scale / factor, 1.0F);
      return {s, {.skipped = true, .error = {}}};
    }
    if (s.counter + 1 >= growth_steps) {
      const float grown = s.current_loss_scale * factor;
      if (std::isfinite(grown)) s.current_loss_scale = grown;
      s.counter = 0;
    } else {
      ++s.counter;
    }
    return {s, {}};
  }
};

constexpr std::array<std::string_view, 1> aliases{"tf_keras"};

}  // namespace

registration tf_keras_dynamic_row() {
  return {{.name = "tf_keras_dynamic",
           .aliases = aliases,
           .family = "A",
           .summary = "tf.keras 2.x LossScaleOptimizer, dynamic",
           .tests = "an element of the unscaled gradients is infinite or NaN",
           .rules = "overflow: skip, scale = max(scale / multiplier, 1), counter = 0\n"
                    "good step: counter += 1; when it reaches growth_steps: scale *= multiplier, counter = 0",
           .quirks = "the floor of 1 is fixed\n"
                     "a skipped step still advances optimizer.iterations, and with it learning-rate schedules",
           .source = "keras-team/tf-keras tf_keras/mixed_precision/loss_scale_optimizer.py @dd0a7237",
           .parameters = parameters_of(tf_keras_dynamic{})},
          &make<tf_keras_dynamic>};
}

}  // namespace ulp::scalers
