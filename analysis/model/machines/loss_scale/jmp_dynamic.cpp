// jmp.DynamicLossScale: google-deepmind/jmp @9c1cdbbf jmp/_src/loss_scale.py.
// Reproduced: float32; growth to infinity is dropped and starts the count again. Under jit a pytree round trip puts
// min_loss_scale back to 1; a replay keeps what is set.
#include "engine.hpp"

namespace ulp::scalers {
namespace {

struct jmp_dynamic {
  double init_scale = 32768;
  std::int64_t period = 2000;
  double factor = 2;
  double min_loss_scale = 1;

  using machine =
      engine<float32_arithmetic, rules{.grows = growth::tracker_wraps, .divides = true, .stays_finite = true}>;

  template <typename Visitor>
  void fields(Visitor&& v) {
    v("init_scale", init_scale, "scale of the first step (loss_scale; required, 2^15 in its documentation)");
    v("period", period, "good steps in a row before the scale grows");
    v("factor", factor, "factor of growth, divisor of backoff");
    v("min_loss_scale", min_loss_scale, "floor of the scale");
  }
  [[nodiscard]] settings values() const {
    return {.start = init_scale,
            .growth = factor,
            .backoff = factor,
            .window = static_cast<double>(period),
            .floor = min_loss_scale};
  }
  template <typename State, typename Visitor>
  static void state_fields(State& s, Visitor&& v) {
    v("loss_scale", s.scale);
    v("counter", s.tracker);
  }
};

}  // namespace

registration jmp_dynamic_row() {
  return ruled_row<jmp_dynamic>(
      {.aliases = {"jmp"},
       .family = "A",
       .summary = "jmp.DynamicLossScale (Haiku)",
       .overflow_test = "what the caller passes; by its documentation an element of the unscaled gradients",
       .floor = "min_loss_scale",
       .ceiling = "kept finite",
       .window = "period",
       .rules = "overflow: the caller skips, scale = max(scale / factor, min_loss_scale), counter = 0\n"
                "good step: counter += 1; when it equals period: scale *= factor, counter = 0",
       .quirks = "growth that would leave float32 is dropped, the counter restarts\n"
                 "any jit or pytree round trip resets min_loss_scale to 1",
       .source = "google-deepmind/jmp jmp/_src/loss_scale.py @9c1cdbbf"});
}

}  // namespace ulp::scalers
