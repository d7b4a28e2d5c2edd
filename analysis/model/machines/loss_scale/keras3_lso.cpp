// Keras 3 LossScaleOptimizer: keras-team/keras @3422977a keras/src/optimizers/loss_scale_optimizer.py.
// Reproduced: float32; factors 2 and 0.5 are fixed; neither floor nor ceiling, so 0 and infinity are forever.
#include "engine.hpp"

namespace ulp::scalers {
namespace {

struct keras3_lso {
  double initial_scale = 32768;
  std::int64_t dynamic_growth_steps = 2000;

  using machine = engine<float32_arithmetic, rules{}>;

  template <typename Visitor>
  void fields(Visitor&& v) {
    v("initial_scale", initial_scale, "scale of the first step");
    v("dynamic_growth_steps", dynamic_growth_steps, "good steps in a row before the scale doubles");
  }
  [[nodiscard]] settings values() const {
    return {.start = initial_scale, .window = static_cast<double>(dynamic_growth_steps)};
  }
  template <typename State, typename Visitor>
  static void state_fields(State& s, Visitor&& v) {
    v("dynamic_scale", s.scale);
    v("step_counter", s.tracker);
  }
};

}  // namespace

registration keras3_lso_row() {
  return ruled_row<keras3_lso>(
      {.aliases = {"keras", "keras3"},
       .family = "A",
       .summary = "Keras 3 LossScaleOptimizer",
       .overflow_test = "element of the scaled gradients",
       .floor = "none; 0 stays",
       .ceiling = "none",
       .window = "dynamic_growth_steps",
       .rules = "overflow: skip, scale /= 2, counter = 0\n"
                "good step: counter += 1; when it equals dynamic_growth_steps: scale *= 2, counter = 0",
       .quirks = "no floor: the scale can reach 0 and stays there\n"
                 "no ceiling: the scale grows to infinity and stays there\n"
                 "a skipped step does not advance iterations, unlike in tf.keras 2",
       .source = "keras-team/keras keras/src/optimizers/loss_scale_optimizer.py @3422977a"});
}

}  // namespace ulp::scalers
