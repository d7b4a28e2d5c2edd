// mindspore.amp.DynamicLossScaler: mindspore-ai/mindspore @01a30221 mindspore/python/mindspore/amp.py.
// Reproduced: float32; the rules of jmp with a floor of 1; growth to infinity is dropped and starts the count anew. All
// three arguments are required there; the defaults here are 2^16, 2 and 2000.
#include "engine.hpp"

namespace ulp::scalers {
namespace {

struct mindspore_amp_scaler {
  double scale_value = 65536;
  std::int64_t scale_factor = 2;
  std::int64_t scale_window = 2000;

  using machine =
      engine<float32_arithmetic, rules{.grows = growth::tracker_wraps, .divides = true, .stays_finite = true}>;

  template <typename Visitor>
  void fields(Visitor&& v) {
    v("scale_value", scale_value, "scale of the first step");
    v("scale_factor", scale_factor, "factor of growth, divisor of backoff");
    v("scale_window", scale_window, "good steps in a row before the scale grows");
  }
  [[nodiscard]] std::string refused() const {
    if (!(scale_value >= 1)) return "scale_value must be at least 1";
    if (scale_factor <= 0) return "scale_factor must be above 0";
    if (scale_window <= 0) return "scale_window must be above 0";
    return {};
  }
  [[nodiscard]] settings values() const {
    const auto factor = static_cast<double>(scale_factor);
    return {.start = scale_value,
            .growth = factor,
            .backoff = factor,
            .window = static_cast<double>(scale_window),
            .floor = 1};
  }
  template <typename State, typename Visitor>
  static void state_fields(State& s, Visitor&& v) {
    v("scale_value", s.scale);
    v("counter", s.tracker);
  }
};

}  // namespace

registration mindspore_amp_scaler_row() {
  return ruled_row<mindspore_amp_scaler>(
      {.aliases = {"mindspore_amp"},
       .family = "A",
       .summary = "mindspore.amp.DynamicLossScaler",
       .overflow_test = "what the caller passes; by its documentation an element of the unscaled gradients",
       .floor = "1",
       .ceiling = "kept finite",
       .window = "scale_window",
       .rules = "overflow: the caller skips, scale = max(scale / scale_factor, 1), counter = 0\n"
                "good step: counter += 1; when it equals scale_window: scale *= scale_factor, counter = 0",
       .quirks = "the floor of 1 is fixed\n"
                 "growth that would leave float32 is dropped, the counter restarts",
       .source = "mindspore-ai/mindspore mindspore/python/mindspore/amp.py @01a30221"});
}

}  // namespace ulp::scalers
