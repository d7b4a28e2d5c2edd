// tf.keras 2.x LossScaleOptimizer(dynamic=True): keras-team/tf-keras @dd0a7237
// tf_keras/mixed_precision/loss_scale_optimizer.py, class _DynamicLossScaleState.
// Reproduced: float32 arithmetic, growth by ">=", the floor of 1, growth dropped when it would be infinite.
#include "engine.hpp"

namespace ulp::scalers {
namespace {

struct tf_keras_dynamic {
  double initial_loss_scale = 32768;
  std::int64_t growth_steps = 2000;
  double multiplier = 2;

  using machine =
      engine<float32_arithmetic, rules{.grows = growth::tracker_reaches, .divides = true, .stays_finite = true}>;

  template <typename Visitor>
  void fields(Visitor&& v) {
    v("initial_loss_scale", initial_loss_scale, "scale of the first step");
    v("growth_steps", growth_steps, "good steps in a row before the scale grows");
    v("multiplier", multiplier, "factor of growth, divisor of backoff; 2 through the public interface");
  }
  [[nodiscard]] settings values() const {
    return {.start = initial_loss_scale,
            .growth = multiplier,
            .backoff = multiplier,
            .window = static_cast<double>(growth_steps),
            .floor = 1};
  }
  template <typename State, typename Visitor>
  static void state_fields(State& s, Visitor&& v) {
    v("current_loss_scale", s.scale);
    v("counter", s.tracker);
  }
};

}  // namespace

registration tf_keras_dynamic_row() {
  return ruled_row<tf_keras_dynamic>(
      {.aliases = {"tf_keras"},
       .family = "A",
       .summary = "tf.keras 2.x LossScaleOptimizer, dynamic",
       .overflow_test = "element of the unscaled gradients",
       .floor = "1",
       .ceiling = "kept finite",
       .window = "growth_steps",
       .rules = "overflow: skip, scale = max(scale / multiplier, 1), counter = 0\n"
                "good step: counter += 1; when it reaches growth_steps: scale *= multiplier, counter = 0",
       .quirks = "the floor of 1 is fixed\n"
                 "growth that would leave float32 is dropped, the counter restarts\n"
                 "a skipped step still advances optimizer.iterations, and with it learning-rate schedules",
       .source = "keras-team/tf-keras tf_keras/mixed_precision/loss_scale_optimizer.py @dd0a7237"});
}

}  // namespace ulp::scalers
