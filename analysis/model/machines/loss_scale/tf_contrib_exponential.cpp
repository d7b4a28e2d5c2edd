// tf.contrib.mixed_precision.ExponentialUpdateLossScaleManager (TensorFlow 1): tensorflow/tensorflow @813c55a9
// tensorflow/contrib/mixed_precision/python/loss_scale_manager.py.
// Reproduced: float32; bad steps are accumulated, good steps between them do not reset the count, a change of the scale
// does; the floor of 1; growth to infinity is dropped and resets both counts.
#include "engine.hpp"

namespace ulp::scalers {
namespace {

struct tf_contrib_exponential {
  double init_loss_scale = 32768;
  std::int64_t incr_every_n_steps = 2000;
  std::int64_t decr_every_n_nan_or_inf = 2;
  double incr_ratio = 2;
  double decr_ratio = 0.8;

  using machine = engine<float32_arithmetic, rules{.grows = growth::tracker_reaches,
                                                   .waits = patience::up,
                                                   .restarts_when_spent = true,
                                                   .stays_finite = true}>;

  template <typename Visitor>
  void fields(Visitor&& v) {
    v("init_loss_scale", init_loss_scale, "scale of the first step (required by the framework)");
    v("incr_every_n_steps", incr_every_n_steps, "good steps in a row before the scale grows (required)");
    v("decr_every_n_nan_or_inf", decr_every_n_nan_or_inf, "overflows, accumulated, before the scale is lowered");
    v("incr_ratio", incr_ratio, "factor of growth");
    v("decr_ratio", decr_ratio, "factor of backoff");
  }
  [[nodiscard]] settings values() const {
    return {.start = init_loss_scale,
            .growth = incr_ratio,
            .backoff = decr_ratio,
            .window = static_cast<double>(incr_every_n_steps),
            .limit = decr_every_n_nan_or_inf,
            .floor = 1};
  }
  template <typename State, typename Visitor>
  static void state_fields(State& s, Visitor&& v) {
    v("loss_scale", s.scale);
    v("good_steps", s.tracker);
    v("bad_steps", s.waited);
  }
};

}  // namespace

registration tf_contrib_exponential_row() {
  return ruled_row<tf_contrib_exponential>(
      {.aliases = {"tf_contrib"},
       .family = "A / F",
       .summary = "tf.contrib.mixed_precision ExponentialUpdateLossScaleManager (TensorFlow 1)",
       .overflow_test = "what the caller passes as finite_grads; LossScaleOptimizer passes the unscaled gradients",
       .floor = "1",
       .ceiling = "kept finite",
       .window = "incr_every_n_steps",
       .rules = "overflow: skip, good = 0, bad += 1; when bad reaches decr_every_n_nan_or_inf: scale = max(scale * "
                "decr_ratio, 1), bad = 0\n"
                "good step: good += 1; when good reaches incr_every_n_steps: scale *= incr_ratio, good = bad = 0",
       .quirks = "every second overflow lowers the scale, however many good steps lie between\n"
                 "by 0.8: the scale leaves the powers of two\n"
                 "growth that would leave float32 is dropped, both counts restart",
       .source = "tensorflow/tensorflow tensorflow/contrib/mixed_precision/python/loss_scale_manager.py @813c55a9"});
}

}  // namespace ulp::scalers
