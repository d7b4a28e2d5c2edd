// apex.amp's LossScaler, dynamic: NVIDIA/apex 22.03 apex/amp/scaler.py, with frontend.py and handle.py.
// Reproduced: doubles; the start is clamped to the ceiling; min_loss_scale 0 is none; scale_factor is accepted and not
// used; without a floor the scale reaches 0, and then unscaling divides by it.
#include <algorithm>

#include "engine.hpp"

namespace ulp::scalers {
namespace {

struct apex_amp {
  double init_scale = 65536;
  double scale_factor = 2;
  std::int64_t scale_window = 2000;
  std::optional<double> min_loss_scale;
  double max_loss_scale = 0x1p24;

  using machine = engine<float64, rules{.grows_on_overflow = true}>;

  template <typename Visitor>
  void fields(Visitor&& v) {
    v("init_scale", init_scale, "scale of the first step, if it is not above max_loss_scale");
    v("scale_factor", scale_factor, "accepted and not used: the scale doubles and halves");
    v("scale_window", scale_window, "good steps in a row before the scale doubles");
    v("min_loss_scale", min_loss_scale, "floor of the scale; none or 0: no floor");
    v("max_loss_scale", max_loss_scale, "ceiling of the scale");
  }
  [[nodiscard]] settings values() const {
    settings s{.start = std::min(max_loss_scale, init_scale),
               .window = static_cast<double>(scale_window),
               .ceiling = max_loss_scale};
    if (min_loss_scale && *min_loss_scale != 0) s.floor = *min_loss_scale;
    return s;
  }
  template <typename State, typename Visitor>
  static void state_fields(State& s, Visitor&& v) {
    v("loss_scale", s.scale);
    v("unskipped", s.tracker);
  }
  [[nodiscard]] std::string_view error_before(const machine::state& s, bool) const {
    return s.scale == 0 ? "ZeroDivisionError: float division by zero" : "";
  }
};

}  // namespace

registration apex_amp_row() {
  return ruled_row<apex_amp>(
      {.aliases = {"apex"},
       .family = "A",
       .summary = "apex.amp, dynamic loss scaling of opt levels O1 and O2",
       .overflow_test = "float32 sum of the scaled gradients of a tensor; in its Python path",
       .floor = "min_loss_scale; at 0 it raises",
       .ceiling = "max_loss_scale",
       .window = "scale_window",
       .rules = "a scale of 0: raises ZeroDivisionError\n"
                "overflow: skip, scale = max(scale / 2, min_loss_scale), unskipped = 0\n"
                "good step: unskipped += 1; when it equals scale_window: scale = min(scale * 2, max_loss_scale), "
                "unskipped = 0",
       .quirks = "no floor by default: 0 after 1091 overflows in a row from 2^16, and the next step raises\n"
                 "scale_factor is not used\n"
                 "a float32 sum can overflow where no element does\n"
                 "with a static loss scale overflows are not skipped: static with skip_on_overflow=false",
       .source = "NVIDIA/apex apex/amp/scaler.py @22.03"});
}

}  // namespace ulp::scalers
