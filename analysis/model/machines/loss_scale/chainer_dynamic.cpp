// chainer.Optimizer.loss_scaling(): chainer/chainer @a8e15cbe chainer/optimizer.py.
// Reproduced: doubles; the scale starts at 1 and doubles in every step until the first overflow of the run, after which
// good steps multiply it by 2^(1/interval), which leaves the powers of two; clamped to 1 and 65504 in every step. With
// a number for `scale` nothing is checked and nothing skipped.
#include <algorithm>
#include <cmath>

#include "policy.hpp"

namespace ulp::scalers {
namespace {

struct chainer_dynamic {
  double interval = 1000;
  std::optional<double> static_scale;

  template <typename Visitor>
  void fields(Visitor&& v) {
    v("interval", interval, "good steps in which the scale doubles, once an overflow was seen");
    v("scale", static_scale, "a constant scale instead, without any check; none: dynamic");
  }

  struct state {
    double loss_scale = 1;
    std::int64_t isnan_ever = 0;
    template <typename Visitor>
    void fields(Visitor&& v) {
      v("_loss_scale", loss_scale);
      v("_loss_scaling_isnan_ever", isnan_ever);
    }
  };

  [[nodiscard]] std::string refused() const {
    if (!(interval >= 1)) return "interval must be at least 1";
    if (static_scale && !(*static_scale > 0)) return "scale must be above 0";
    return {};
  }
  [[nodiscard]] state start() const { return {.loss_scale = static_scale.value_or(1)}; }
  [[nodiscard]] double scale(const state& s) const { return s.loss_scale; }

  [[nodiscard]] transition<state> next(state s, const scaler_input& input) const {
    if (static_scale) return {s, {}};
    if (input.found_inf) s.isnan_ever = 1;
    const double factor = input.found_inf ? 0.5 : s.isnan_ever != 0 ? std::pow(2.0, 1.0 / interval) : 2.0;
    s.loss_scale = std::max(1.0, std::min(65504.0, s.loss_scale * factor));
    return {s, {.skipped = input.found_inf}};
  }
};

}  // namespace

registration chainer_dynamic_row() {
  return row<chainer_dynamic>({.aliases = {"chainer"},
                               .family = "own",
                               .summary = "chainer.Optimizer.loss_scaling()",
                               .overflow_test = "element of the scaled gradients",
                               .floor = "1",
                               .ceiling = "65504",
                               .window = "interval",
                               .rules = "overflow: skip, scale /= 2\n"
                                        "good step before the first overflow of the run: scale *= 2\n"
                                        "good step after it: scale *= 2^(1/interval)\n"
                                        "always clamped to [1, 65504]",
                               .quirks =
                                   "starts at 1 and needs 16 good steps to its ceiling\n"
                                   "after the first overflow the scale changes in every step and is not a power of two",
                               .source = "chainer/chainer chainer/optimizer.py @a8e15cbe"});
}

}  // namespace ulp::scalers
