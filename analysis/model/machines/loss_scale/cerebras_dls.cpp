// cerebras.pytorch.amp.GradScaler with loss_scale="dynamic": cerebras_pytorch 2.10.0 (dj707chen/cerebras-pytorch-src
// @0d187403) cerebras/pytorch/amp/grad_scaler.py, used by Cerebras/modelzoo @f1fd1e09 trainer/callbacks/precision.py.
// Reproduced: float32 arithmetic throughout; defaults by fp16_type; falsy arguments mean the default; strict
// comparisons, so growth comes on good step steps_per_increase + 1; every step since the last rescale counts toward
// growth, overflowed ones that were tolerated too; the finite test is on the sum of squares of the unscaled gradients.
// Not the scaler but the Trainer ends a run whose scale would have to fall below its floor (precision.py, from 2.5.0);
// raise_at_minimum does the same here.
#include <algorithm>
#include <limits>

#include "policy.hpp"

namespace ulp::scalers {
namespace {

struct cerebras_dls {
  std::string fp16_type = "float16";
  std::optional<double> init_scale;
  std::optional<double> steps_per_increase;
  std::optional<double> min_loss_scale;
  std::optional<double> max_loss_scale;
  double overflow_tolerance = 0;
  bool raise_at_minimum = false;

  template <typename Visitor>
  void fields(Visitor&& v) {
    v("fp16_type", fp16_type,
      "float16, bfloat16 or cbfloat16: chooses the defaults of init_scale and max_loss_scale only");
    v("init_scale", init_scale, "scale of the first step; none: 2^31 for cbfloat16, else 2^15");
    v("steps_per_increase", steps_per_increase, "steps after which the scale doubles; none: 2000");
    v("min_loss_scale", min_loss_scale, "floor of the scale; none: 2^-14, the least that is allowed");
    v("max_loss_scale", max_loss_scale, "ceiling of the scale; none: 2^31 for cbfloat16, else 2^15");
    v("overflow_tolerance", overflow_tolerance, "share of overflowed steps since the last change that is tolerated");
    v("raise_at_minimum", raise_at_minimum, "end the run with ApplianceNanError at the floor, as the Trainer does");
  }

  struct state {
    float loss_scale = 0;
    std::int64_t steps_since_rescale = 0;
    std::int64_t overflows_since_rescale = 0;
    std::int64_t num_skipped_steps = 0;
    template <typename Visitor>
    void fields(Visitor&& v) {
      v("loss_scale", loss_scale);
      v("steps_since_rescale", steps_since_rescale);
      v("overflows_since_rescale", overflows_since_rescale);
      v("num_skipped_steps", num_skipped_steps);
    }
  };

  [[nodiscard]] static double or_default(const std::optional<double>& given, double otherwise) {
    return given && *given != 0 ? *given : otherwise;
  }
  [[nodiscard]] double top() const { return fp16_type == "cbfloat16" ? 0x1p31 : 0x1p15; }
  [[nodiscard]] float maximum() const { return static_cast<float>(or_default(max_loss_scale, top())); }
  [[nodiscard]] float minimum() const { return static_cast<float>(or_default(min_loss_scale, 0x1p-14)); }

  [[nodiscard]] std::string refused() const {
    if (fp16_type != "float16" && fp16_type != "cbfloat16" && fp16_type != "bfloat16")
      return "fp16_type must be float16, bfloat16 or cbfloat16, not '" + fp16_type + "'";
    if (or_default(min_loss_scale, 0x1p-14) < 0x1p-14)
      return "min_loss_scale is too small: the least that is allowed is 2^-14 = 6.103515625e-05" +
             std::string{*min_loss_scale == 2e-14 ? "; the 2e-14 of the documentation means 2^-14" : ""};
    if (overflow_tolerance < 0) return "overflow_tolerance must not be negative";
    return {};
  }
  [[nodiscard]] state start() const {
    return {.loss_scale =
                static_cast<float>(std::min(or_default(max_loss_scale, top()), or_default(init_scale, top())))};
  }
  [[nodiscard]] double scale(const state& s) const { return static_cast<double>(s.loss_scale); }

  [[nodiscard]] transition<state> next(state s, const scaler_input& input) const {
    // norm < inf in float32: the sum of squares must not leave float32.
    const bool sum_overflows = squares_overflow(input.unscaled_norm, input.max_abs);
    const bool finite = !input.found_inf && !sum_overflows;
    if (!finite) ++s.num_skipped_steps;
    ++s.steps_since_rescale;
    if (!finite) ++s.overflows_since_rescale;
    const float ratio = static_cast<float>(s.overflows_since_rescale) / static_cast<float>(s.steps_since_rescale);
    const auto rescale = [&](float factor) {
      s.loss_scale *= factor;
      s.steps_since_rescale = 0;
      s.overflows_since_rescale = 0;
    };
    if (static_cast<float>(overflow_tolerance) < ratio) rescale(0.5F);
    if (or_default(steps_per_increase, 2000) < static_cast<double>(s.steps_since_rescale)) rescale(2);
    s.loss_scale = std::min(s.loss_scale, maximum());
    const bool below = s.loss_scale < minimum();
    s.loss_scale = std::max(s.loss_scale, minimum());
    scaler_verdict verdict{.skipped = !finite};
    if (raise_at_minimum && below)
      verdict.error = "ApplianceNanError: gradients still overflow at the least loss scale, min_loss_scale";
    return {s, std::move(verdict)};
  }
};

}  // namespace

registration cerebras_dls_row() {
  return row<cerebras_dls>(
      {.aliases = {"cerebras"},
       .family = "C",
       .summary = "cerebras.pytorch GradScaler, dynamic loss scaling",
       .overflow_test = "float32 sum of squares of the unscaled gradients",
       .floor = "min_loss_scale",
       .ceiling = "max_loss_scale",
       .window = "steps_per_increase",
       .rules = "every step: steps += 1; overflow: skip, overflows += 1\n"
                "overflow_tolerance < overflows / steps: scale /= 2, both counters = 0\n"
                "steps_per_increase < steps: scale *= 2, both counters = 0\n"
                "then scale is clamped to max_loss_scale and to min_loss_scale",
       .quirks = "grows on good step steps_per_increase + 1, and again after as many (2001 by default)\n"
                 "finite gradients with a norm above 1.8e19 count as overflow\n"
                 "with a tolerance, tolerated overflows still count toward growth\n"
                 "0 for a parameter means its default\n"
                 "the Trainer raises ApplianceNanError when the scale would fall below its floor, by default on the "
                 "30th overflow in a row (float16) or the 46th (cbfloat16): raise_at_minimum\n"
                 "loss_scale as a number is another policy: static with skip_on_overflow=false\n"
                 "the 2e15 and 2e-14 of the documentation mean 2^15 and 2^-14: the literal 2e15 would be stored as "
                 "1999999973982208, 2e-14 is refused",
       .source = "cerebras_pytorch 2.10.0 cerebras/pytorch/amp/grad_scaler.py "
                 "(dj707chen/cerebras-pytorch-src @0d187403), Cerebras/modelzoo "
                 "src/cerebras/modelzoo/trainer/callbacks/precision.py @f1fd1e09"});
}

}  // namespace ulp::scalers
