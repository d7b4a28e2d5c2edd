// CSDynamicLossScale, the TensorFlow loss scaling of Cerebras/modelzoo R_1.6.0 to Release_1.8.0:
// modelzoo/common/tf/optimizers/LossScale.py.
// Reproduced: float32 scale; overflow_tolerance 0.05 by default, and both counters run over tolerated overflows; the
// number of steps beyond the period is what the scale grows by, so it doubles on step increment_period, and by more,
// with counters below zero, in a run resumed with a shorter period; the multiplier is not used except for a warning.
#include <algorithm>
#include <cmath>
#include <limits>

#include "policy.hpp"

namespace ulp::scalers {
namespace {

struct cerebras_tf_legacy {
  double initial_loss_scale = 0x1p15;
  std::int64_t increment_period = 2000;
  double multiplier = 2;
  double min_loss_scale = 0x1p-14;
  double max_loss_scale = 0x1p15;
  double overflow_tolerance = 0.05;

  template <typename Visitor>
  void fields(Visitor&& v) {
    v("initial_loss_scale", initial_loss_scale, "scale of the first step");
    v("increment_period", increment_period, "steps since the last change after which the scale doubles");
    v("multiplier", multiplier, "not used: the original warns of anything but 2 and takes 2");
    v("min_loss_scale", min_loss_scale, "floor of the scale; the least that is allowed is 2^-14");
    v("max_loss_scale", max_loss_scale, "ceiling of the scale");
    v("overflow_tolerance", overflow_tolerance, "share of overflowed steps since the last change that is tolerated");
  }

  struct state {
    float current_loss_scale = 0;
    std::int64_t steps_since_rescale = 0;
    std::int64_t overflows_since_rescale = 0;
    template <typename Visitor>
    void fields(Visitor&& v) {
      v("current_loss_scale", current_loss_scale);
      v("steps_since_rescale", steps_since_rescale);
      v("overflows_since_rescale", overflows_since_rescale);
    }
  };

  [[nodiscard]] std::string refused() const {
    if (min_loss_scale < 0x1p-14)
      return "min_loss_scale is too small: the least that is allowed is 2^-14 = 6.103515625e-05" +
             std::string{min_loss_scale == 2e-14 ? "; the 2e-14 of the documentation means 2^-14" : ""};
    if (max_loss_scale > static_cast<double>(std::numeric_limits<float>::max()))
      return "max_loss_scale is beyond float32";
    if (overflow_tolerance < 0) return "overflow_tolerance must not be negative";
    if (increment_period < 1) return "increment_period must be at least 1";
    return {};
  }
  [[nodiscard]] state start() const { return {.current_loss_scale = static_cast<float>(initial_loss_scale)}; }
  [[nodiscard]] double scale(const state& s) const { return static_cast<double>(s.current_loss_scale); }

  // Counters are int64 tensors: they wrap.
  [[nodiscard]] static std::int64_t wrapped_product(std::int64_t a, std::int64_t b) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
  }

  [[nodiscard]] transition<state> next(state s, const scaler_input& input) const {
    const bool finite = !input.found_inf && !squares_overflow(input.unscaled_norm, input.max_abs);
    ++s.steps_since_rescale;
    if (!finite) ++s.overflows_since_rescale;
    const float ratio = static_cast<float>(s.overflows_since_rescale) / static_cast<float>(s.steps_since_rescale);
    if (ratio > static_cast<float>(overflow_tolerance)) {
      s.steps_since_rescale = 0;
      s.overflows_since_rescale = 0;
      s.current_loss_scale /= 2;
    }
    const std::int64_t beyond = std::max<std::int64_t>(s.steps_since_rescale - increment_period + 1, 0);
    s.current_loss_scale *= static_cast<float>(beyond + 1);
    s.current_loss_scale = std::max(std::min(s.current_loss_scale, static_cast<float>(max_loss_scale)),
                                    static_cast<float>(min_loss_scale));
    s.steps_since_rescale = wrapped_product(s.steps_since_rescale, 1 - beyond);
    s.overflows_since_rescale = wrapped_product(s.overflows_since_rescale, 1 - beyond);
    return {s, {.skipped = !finite}};
  }
};

}  // namespace

registration cerebras_tf_legacy_row() {
  return row<cerebras_tf_legacy>(
      {.aliases = {"cerebras_tf"},
       .family = "own",
       .summary = "CSDynamicLossScale of Cerebras Model Zoo 1.6 to 1.8, TensorFlow",
       .overflow_test = "float32 norm of the unscaled gradients",
       .floor = "min_loss_scale",
       .ceiling = "max_loss_scale",
       .window = "increment_period",
       .rules = "every step: steps += 1; overflow: skip, overflows += 1\n"
                "overflows / steps > overflow_tolerance: scale /= 2, both counters = 0\n"
                "steps == increment_period: scale *= 2, both counters = 0\n"
                "then scale is clipped to [min_loss_scale, max_loss_scale]",
       .quirks = "an overflow in every 20th step (exactly 0.05) is tolerated, and the scale still doubles\n"
                 "doubles on step increment_period, where cerebras_dls needs one more\n"
                 "resumed with a shorter period the scale grows by more than 2 and the counters become negative\n"
                 "the 2e15 and 2e-14 of the documentation mean 2^15 and 2^-14",
       .source = "Cerebras/modelzoo R_1.6.0 to Release_1.8.0 modelzoo/common/tf/optimizers/LossScale.py"});
}

}  // namespace ulp::scalers
