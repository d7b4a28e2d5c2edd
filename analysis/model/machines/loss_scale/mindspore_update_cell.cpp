// MindSpore's DynamicLossScaleUpdateCell, on the device: mindspore-ai/mindspore @017f26fc
// mindspore/python/mindspore/nn/wrap/loss_scale.py.
// Reproduced: float32; backoff multiplies by the float32 reciprocal of the factor; growth counts as the last overflow;
// the floor of 1; no ceiling.
#include "engine.hpp"

namespace ulp::scalers {
namespace {

struct mindspore_update_cell {
  double loss_scale_value = 0x1p24;
  double scale_factor = 2;
  std::int64_t scale_window = 2000;

  using machine = engine<float32_arithmetic, rules{.grows = growth::window_reached, .first_step = 1}>;

  template <typename Visitor>
  void fields(Visitor&& v) {
    v("loss_scale_value", loss_scale_value, "scale of the first step");
    v("scale_factor", scale_factor, "factor of growth; backoff multiplies by its reciprocal");
    v("scale_window", scale_window, "good steps in a row before the scale grows");
  }
  [[nodiscard]] settings values() const {
    return {.start = loss_scale_value,
            .growth = scale_factor,
            .backoff = static_cast<double>(1 / static_cast<float>(scale_factor)),
            .window = static_cast<double>(scale_window),
            .floor = 1};
  }
  template <typename State, typename Visitor>
  static void state_fields(State& s, Visitor&& v) {
    v("scale_sense", s.scale);
    v("current_iterator_step", s.step);
    v("last_overflow_iterator_step", s.last_overflow);
  }
};

}  // namespace

registration mindspore_update_cell_row() {
  return ruled_row<mindspore_update_cell>(
      {.family = "A",
       .summary = "MindSpore DynamicLossScaleUpdateCell, updated on the device",
       .overflow_test = "element of the unscaled gradients",
       .floor = "1",
       .ceiling = "none",
       .window = "scale_window",
       .rules = "overflow: skip, scale = max(scale * (1 / scale_factor), 1), last change = this step\n"
                "good step: if step - last change >= scale_window: scale *= scale_factor, last change = this step",
       .quirks = "the floor of 1 is fixed\n"
                 "no ceiling: the scale grows to infinity and stays there",
       .source = "mindspore-ai/mindspore mindspore/python/mindspore/nn/wrap/loss_scale.py @017f26fc"});
}

}  // namespace ulp::scalers
