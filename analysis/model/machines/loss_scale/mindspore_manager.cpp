// MindSpore's DynamicLossScaleManager.update_loss_scale, on the host: mindspore-ai/mindspore @0b992d37
// mindspore/python/mindspore/train/loss_scale_manager.py.
// Reproduced: a Python number, which is an int as long as start and factor are and nothing overflowed, and then raises
// beyond the largest double; backoff multiplies by 1 / scale_factor; the floor of 1; the 1001st overflow in a row
// raises, its backoff done. A whole init_loss_scale is taken for an int.
#include "engine.hpp"

namespace ulp::scalers {
namespace {

struct mindspore_manager {
  double init_loss_scale = 0x1p24;
  double scale_factor = 2;
  std::int64_t scale_window = 2000;

  // The limit of 1 is always spent: the count is only for the error.
  using machine = engine<python, rules{.grows = growth::window_divides, .waits = patience::up, .first_step = 1}>;
  static constexpr std::int64_t bad_step_max = 1000;

  template <typename Visitor>
  void fields(Visitor&& v) {
    v("init_loss_scale", init_loss_scale, "scale of the first step");
    v("scale_factor", scale_factor, "factor of growth; backoff multiplies by its reciprocal");
    v("scale_window", scale_window, "good steps in a row before the scale grows");
  }
  [[nodiscard]] std::string refused() const {
    if (!(init_loss_scale >= 1)) return "init_loss_scale must be at least 1";
    if (scale_window <= 0) return "scale_window must be above 0";
    if (!(scale_factor > 0)) return "scale_factor must be above 0";
    return {};
  }
  [[nodiscard]] settings values() const {
    return {.start = init_loss_scale,
            .growth = scale_factor,
            .backoff = 1 / scale_factor,
            .window = static_cast<double>(scale_window),
            .refilled_by_good = true,
            .floor = 1};
  }
  template <typename State, typename Visitor>
  static void state_fields(State& s, Visitor&& v) {
    v("loss_scale", s.scale);
    v("cur_iter", s.step);
    v("last_overflow_iter", s.last_overflow);
    v("bad_step", s.waited);
  }
  [[nodiscard]] std::string_view error_after(const machine::state& s) const {
    if (s.waited > bad_step_max) return "RuntimeError: 1001 overflows in a row exceed the maximum of 1000";
    return s.scale.too_large() ? "OverflowError: int too large to convert to float" : "";
  }
};

}  // namespace

registration mindspore_manager_row() {
  return ruled_row<mindspore_manager>(
      {.aliases = {"mindspore"},
       .family = "A",
       .summary = "MindSpore DynamicLossScaleManager, updated on the host",
       .overflow_test = "what the caller passes",
       .floor = "1",
       .ceiling = "largest double; an int raises beyond, a float becomes infinite",
       .window = "scale_window",
       .rules = "overflow: skip, scale = max(scale * (1 / scale_factor), 1), last overflow = this step, bad += 1\n"
                "good step: bad = 0; if (step - last overflow) mod scale_window is 0: scale *= scale_factor\n"
                "bad above 1000: raises RuntimeError",
       .quirks = "the floor of 1 is fixed\n"
                 "the 1001st overflow in a row ends the run\n"
                 "a Python int until the first overflow: it grows beyond the largest double and then raises",
       .source = "mindspore-ai/mindspore mindspore/python/mindspore/train/loss_scale_manager.py @0b992d37"});
}

}  // namespace ulp::scalers
