// torch.amp.GradScaler: pytorch/pytorch @0202916b torch/amp/grad_scaler.py, with the update kernel of
// @174170e8 aten/src/ATen/native/cpu/AmpGradScalerKernels.cpp (the CUDA kernel is the same text).
// Reproduced: the product of float32 scale and double factor is rounded to float32 once; growth that would leave
// float32 keeps the scale but resets the tracker; there is no floor, and a scale of 0 stays 0.
#include <array>
#include <cmath>

#include "policy.hpp"

namespace ulp::scalers {
namespace {

struct pytorch_gradscaler {
  double init_scale = 65536;
  double growth_factor = 2;
  double backoff_factor = 0.5;
  std::int64_t growth_interval = 2000;

  template <typename Visitor>
  void fields(Visitor&& v) {
    v("init_scale", init_scale, "scale of the first step");
    v("growth_factor", growth_factor, "scale is multiplied by this after growth_interval good steps in a row");
    v("backoff_factor", backoff_factor, "scale is multiplied by this after a step with inf or NaN");
    v("growth_interval", growth_interval, "good steps in a row before the scale grows");
  }

  struct state {
    float scale = 0;
    std::int64_t growth_tracker = 0;
    template <typename Visitor>
    void fields(Visitor&& v) {
      v("scale", scale);
      v("_growth_tracker", growth_tracker);
    }
  };

  [[nodiscard]] std::string refused() const {
    if (!(growth_factor > 1)) return "growth_factor must be above 1";
    if (!(backoff_factor < 1)) return "backoff_factor must be below 1";
    return {};
  }
  [[nodiscard]] state start() const { return {.scale = static_cast<float>(init_scale)}; }
  [[nodiscard]] double scale(const state& s) const { return static_cast<double>(s.scale); }

  [[nodiscard]] transition<state> next(state s, const scaler_input& input) const {
    if (input.found_inf) {
      s.scale = static_cast<float>(static_cast<double>(s.scale) * backoff_factor);
      s.growth_tracker = 0;
      return {s, {.skipped = true, .error = {}}};
    }
    if (s.growth_tracker + 1 == growth_interval) {
      const auto grown = static_cast<float>(static_cast<double>(s.scale) * growth_factor);
      if (std::isfinite(grown)) s.scale = grown;
      s.growth_tracker = 0;
    } else {
      ++s.growth_tracker;
    }
    return {s, {}};
  }
};

constexpr std::array<std::string_view, 3> aliases{"pytorch", "torch", "gradscaler"};

}  // namespace

registration pytorch_gradscaler_row() {
  return {{.name = "pytorch_gradscaler",
           .aliases = aliases,
           .family = "A",
           .summary = "torch.amp.GradScaler; Lightning 16-mixed, Accelerate and Composer use it",
           .tests = "an element of the scaled gradients is infinite or NaN",
           .rules = "overflow: skip, scale *= backoff_factor, tracker = 0\n"
                    "good step: tracker += 1; when it equals growth_interval: scale *= growth_factor, tracker = 0",
           .quirks = "no floor: from 2^16 the scale reaches 0 at the 166th overflow in a row and stays there\n"
                     "no ceiling but float32: growth that would be infinite is dropped, the tracker starts anew\n"
                     "at scale 0 the gradients unscale to NaN although no overflow was found",
           .source = "pytorch/pytorch torch/amp/grad_scaler.py @0202916b, "
                     "aten/src/ATen/native/cpu/AmpGradScalerKernels.cpp @174170e8",
           .parameters = parameters_of(pytorch_gradscaler{})},
          &make<pytorch_gradscaler>};
}

}  // namespace ulp::scalers
