// torch.amp.GradScaler in loops that keep its scale from falling further: after update() they call update(min_scale) where
// get_scale() is below. GradScaler has no such argument; pytorch/pytorch issue 40497 asks for it. The tracker goes on.
#include "gradscaler.hpp"

namespace ulp::scalers {
namespace {

struct pytorch_gradscaler_floor : gradscaler_arguments {
  double min_scale = 1;

  using machine = gradscaler_machine;

  template <typename Visitor>
  void fields(Visitor&& v) {
    gradscaler_arguments::fields(v);
    v("min_scale", min_scale, "the loop sets the scale to this where it is below");
  }
  [[nodiscard]] std::string refused() const {
    return min_scale > 0 ? gradscaler_arguments::refused() : "min_scale must be above 0";
  }
  [[nodiscard]] settings values() const {
    settings s = gradscaler_arguments::values();
    s.floor = min_scale;
    return s;
  }
};

}  // namespace

registration pytorch_gradscaler_floor_row() {
  return ruled_row<pytorch_gradscaler_floor>(
      {.aliases = {"gradscaler_floor"},
       .family = "A",
       .summary = "torch.amp.GradScaler whose scale the loop keeps above a floor",
       .overflow_test = gradscaler_tests,
       .floor = "min_scale",
       .ceiling = "kept finite",
       .window = "growth_interval",
       .rules = "overflow: skip, scale = max(scale * backoff_factor, min_scale), tracker = 0\n"
                "good step: tracker += 1; when it equals growth_interval: scale *= growth_factor, tracker = 0",
       .quirks = "at the floor every overflow is skipped and none lowers the scale",
       .source = "pytorch/pytorch torch/amp/grad_scaler.py @0202916b (update(new_scale)), issue 40497"});
}

}  // namespace ulp::scalers
