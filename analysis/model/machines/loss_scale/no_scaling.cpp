// No loss scaling at all: what float32 and bfloat16 training does. Infinities reach the optimizer.
#include "policy.hpp"

namespace ulp::scalers {
namespace {

struct no_scaling {
  template <typename Visitor>
  void fields(Visitor&&) {}
  struct state {
    template <typename Visitor>
    void fields(Visitor&&) {}
  };
  [[nodiscard]] state start() const { return {}; }
  [[nodiscard]] double scale(const state&) const { return 1; }
  [[nodiscard]] transition<state> next(state s, const scaler_input&) const { return {s, {}}; }
};

}  // namespace

registration none_row() {
  return row<no_scaling>({.family = "S",
                          .summary = "no loss scaling",
                          .overflow_test = "nothing",
                          .floor = "constant",
                          .ceiling = "constant",
                          .rules = "the scale is 1 and no step is skipped"});
}

}  // namespace ulp::scalers
