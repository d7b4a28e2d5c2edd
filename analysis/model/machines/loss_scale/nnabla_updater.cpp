// nnabla DynamicLossScalingUpdater: sony/nnabla @2814df0d python/src/nnabla/experimental/mixed_precision_training.py.
// One input row is one attempt: an overflow runs the same update again, and after 100 retries the update is given up.
// Reproduced: doubles; growth is tested before the counter is raised, so the first one comes on good step N + 2 and the
// next ones, the counter restarting at 1, after N + 1; a good step at scale 0 raises, because 1 / scale does.
#include "policy.hpp"

namespace ulp::scalers {
namespace {

struct nnabla_updater {
  double initial_scale = 8;
  double scaling_factor = 2;
  double n = 2000;

  template <typename Visitor>
  void fields(Visitor&& v) {
    v("scale", initial_scale, "scale of the first attempt");
    v("scaling_factor", scaling_factor, "factor of growth, divisor of backoff");
    v("N", n, "the scale grows on the first good step at which the counter is above this");
  }

  struct state {
    double scale = 0;
    std::int64_t counter = 0;
    std::int64_t recursive_count = 0;
    template <typename Visitor>
    void fields(Visitor&& v) {
      v("scale", scale);
      v("_counter", counter);
      v("_recursive_count", recursive_count);
    }
  };

  [[nodiscard]] state start() const { return {.scale = initial_scale}; }
  [[nodiscard]] double scale(const state& s) const { return s.scale; }

  [[nodiscard]] transition<state> next(state s, const scaler_input& input) const {
    constexpr std::int64_t max_recursive_count = 100;
    if (input.found_inf) {
      if (scaling_factor == 0) return {s, {.skipped = true, .error = "ZeroDivisionError: float division by zero"}};
      s.scale /= scaling_factor;
      s.counter = 0;
      if (++s.recursive_count > max_recursive_count) s.recursive_count = 0;
      return {s, {.skipped = true}};
    }
    s.recursive_count = 0;
    if (s.scale == 0) return {s, {.skipped = false, .error = "ZeroDivisionError: float division by zero"}};
    if (static_cast<double>(s.counter) > n) {
      s.scale *= scaling_factor;
      s.counter = 0;
    }
    ++s.counter;
    return {s, {}};
  }
};

}  // namespace

registration nnabla_updater_row() {
  return row<nnabla_updater>(
      {.aliases = {"nnabla"},
       .family = "own",
       .summary = "nnabla DynamicLossScalingUpdater; a row of the input is one attempt",
       .overflow_test = "element of the scaled gradients",
       .floor = "none; a good step at 0 raises",
       .ceiling = "none",
       .window = "N",
       .rules = "overflow: scale /= scaling_factor, counter = 0, the same update runs again, at most 100 times\n"
                "good step: if counter > N: scale *= scaling_factor, counter = 0; then counter += 1",
       .quirks = "grows first on good step N + 2, then every N + 1\n"
                 "no floor: a good step at scale 0 raises ZeroDivisionError",
       .source = "sony/nnabla python/src/nnabla/experimental/mixed_precision_training.py @2814df0d"});
}

}  // namespace ulp::scalers
