// One layer of fairscale's LayerwiseGradientScaler: facebookresearch/fairscale @146f1602
// fairscale/optim/layerwise_gradient_scaler.py.
// Reproduced: doubles; the scale is clamped after each change. Every scaled layer is a machine of its own, and a layer
// without overflow counts the step as good although another layer's overflow skips it.
#include <limits>

#include "engine.hpp"

namespace ulp::scalers {
namespace {

struct fairscale_layerwise {
  double init_scale = 65536;
  double growth_factor = 2;
  double backoff_factor = 0.5;
  std::int64_t growth_interval = 10000;
  double min_scale = static_cast<double>(std::numeric_limits<float>::min());
  double max_scale = static_cast<double>(std::numeric_limits<float>::max());

  using machine = engine<float64, rules{.clamps_both_ways = true}>;

  template <typename Visitor>
  void fields(Visitor&& v) {
    v("init_scale", init_scale, "scale of the first step; the framework has it per layer, in layer_scale_dict");
    v("growth_factor", growth_factor, "scale is multiplied by this after growth_interval good steps in a row");
    v("backoff_factor", backoff_factor, "scale is multiplied by this after a step with inf or NaN in the layer");
    v("growth_interval", growth_interval, "good steps of the layer in a row before its scale grows");
    v("min_scale", min_scale, "floor of the scale");
    v("max_scale", max_scale, "ceiling of the scale");
  }
  [[nodiscard]] std::string refused() const {
    if (!(growth_factor > 1)) return "growth_factor must be above 1";
    if (!(backoff_factor < 1)) return "backoff_factor must be below 1";
    return {};
  }
  [[nodiscard]] settings values() const {
    return {.start = init_scale,
            .growth = growth_factor,
            .backoff = backoff_factor,
            .window = static_cast<double>(growth_interval),
            .floor = min_scale,
            .ceiling = max_scale};
  }
  template <typename State, typename Visitor>
  static void state_fields(State& s, Visitor&& v) {
    v("scaling_factor", s.scale);
    v("growth_tracker", s.tracker);
  }
};

}  // namespace

registration fairscale_layerwise_row() {
  return ruled_row<fairscale_layerwise>(
      {.aliases = {"layerwise"},
       .family = "A",
       .summary = "fairscale LayerwiseGradientScaler, a scale for each layer",
       .overflow_test = "element of the layer's scaled gradients",
       .floor = "min_scale",
       .ceiling = "max_scale",
       .window = "growth_interval",
       .rules = "overflow in the layer: skip the whole step, scale *= backoff_factor, tracker = 0\n"
                "good step of the layer: tracker += 1; when it equals growth_interval: scale *= growth_factor, "
                "tracker = 0\n"
                "after each change the scale is clamped to min_scale and max_scale",
       .quirks = "one layer's overflow skips the step of all; the other layers still count it as good",
       .source = "facebookresearch/fairscale fairscale/optim/layerwise_gradient_scaler.py @146f1602",
       .scope = machine_scope::tensor});
}

}  // namespace ulp::scalers
