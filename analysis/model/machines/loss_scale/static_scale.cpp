// A constant loss scale whose overflowed steps are skipped: Megatron-LM's ConstantGradScaler (NVIDIA/Megatron-LM
// @d98e8a64 megatron/core/optimizer/grad_scaler.py), MindSpore's FixedLossScaleManager(drop_overflow_update=True).
// With skip_on_overflow=false infinities reach the optimizer, as in apex.amp with a static scale
// (NVIDIA/apex 22.03 apex/amp/scaler.py).
#include "policy.hpp"

namespace ulp::scalers {
namespace {

struct static_scale {
  double loss_scale = 1;
  bool skip_on_overflow = true;

  template <typename Visitor>
  void fields(Visitor&& v) {
    v("loss_scale", loss_scale, "the scale of every step");
    v("skip_on_overflow", skip_on_overflow, "whether a step with inf or NaN is skipped");
  }

  struct state {
    double loss_scale = 0;
    template <typename Visitor>
    void fields(Visitor&& v) {
      v("loss_scale", loss_scale);
    }
  };

  [[nodiscard]] std::string refused() const { return loss_scale > 0 ? "" : "loss_scale must be above 0"; }
  [[nodiscard]] state start() const { return {.loss_scale = loss_scale}; }
  [[nodiscard]] double scale(const state& s) const { return s.loss_scale; }
  [[nodiscard]] transition<state> next(state s, const scaler_input& input) const {
    return {s, {.skipped = input.found_inf && skip_on_overflow}};
  }
};

}  // namespace

registration static_row() {
  return row<static_scale>(
      {.aliases = {"constant", "static_scale"},
       .family = "S",
       .summary = "a constant scale",
       .overflow_test = "element of the scaled gradients",
       .floor = "constant",
       .ceiling = "constant",
       .rules = "overflow: skip (unless skip_on_overflow is false); the scale never changes",
       .source = "NVIDIA/Megatron-LM megatron/core/optimizer/grad_scaler.py @d98e8a64 (ConstantGradScaler)"});
}

}  // namespace ulp::scalers
