// Megatron-LM's ConstantGradScaler, what --loss-scale gives: NVIDIA/Megatron-LM @d98e8a64
// megatron/core/optimizer/grad_scaler.py.
// Reproduced: a float32 scale that nothing changes; a step that overflows is skipped all the same.
#include "policy.hpp"

namespace ulp::scalers {
namespace {

struct megatron_constant {
  double initial_scale = 1;

  template <typename Visitor>
  void fields(Visitor&& v) {
    v("initial_scale", initial_scale, "the scale of every step (--loss-scale)");
  }
  struct state {
    float scale = 0;
    template <typename Visitor>
    void fields(Visitor&& v) {
      v("scale", scale);
    }
  };
  [[nodiscard]] std::string refused() const { return initial_scale > 0 ? "" : "initial_scale must be above 0"; }
  [[nodiscard]] state start() const { return {.scale = static_cast<float>(initial_scale)}; }
  [[nodiscard]] double scale(const state& s) const { return static_cast<double>(s.scale); }
  [[nodiscard]] transition<state> next(state s, const scaler_input& input) const {
    return {s, {.skipped = input.found_inf}};
  }
};

}  // namespace

registration megatron_constant_row() {
  return row<megatron_constant>(
      {.family = "S",
       .summary = "Megatron-LM ConstantGradScaler",
       .overflow_test = "element of the scaled gradients; the main gradients",
       .floor = "constant",
       .ceiling = "constant",
       .rules = "overflow: skip; the scale never changes",
       .source = "NVIDIA/Megatron-LM megatron/core/optimizer/grad_scaler.py @d98e8a64 (ConstantGradScaler)"});
}

}  // namespace ulp::scalers
