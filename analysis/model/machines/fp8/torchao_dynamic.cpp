// torchao's float8 training, a scale for a whole tensor: pytorch/ao @36027d82 torchao/float8/float8_utils.py, amax_to_scale.
// Reproduced: the quotient is a reciprocal times the number in double, rounded to float32 once; the power of two goes
// by a log2 that is rounded to float32.
#include "policy.hpp"

namespace ulp::fp8 {
namespace {

struct torchao_dynamic : scaled_to {
  bool round_scales_to_power_of_2 = false;
  double eps = 1e-12;

  using machine = stateless<torchao_dynamic>;

  template <typename Visitor>
  void fields(Visitor&& v) {
    v("round_scales_to_power_of_2", round_scales_to_power_of_2, "the scale is lowered to a power of two");
    v("eps", eps, "the least amax");
    scaled_to::fields(v);
  }
  [[nodiscard]] std::string refused() const {
    return eps >= 0 ? scaled_to::refused() : "eps must be a number that is not below 0";
  }

  [[nodiscard]] float scale_for(float amax, float largest) const {
    const double least = static_cast<double>(amax) < eps ? eps : static_cast<double>(amax);  // NaN stays
    const auto scale = static_cast<float>(1 / least * static_cast<double>(largest));
    if (!round_scales_to_power_of_2) return scale;
    return std::exp2(std::floor(static_cast<float>(std::log2(static_cast<double>(scale)))));
  }
};

}  // namespace

registration torchao_dynamic_row() {
  return row<torchao_dynamic>(
      {.aliases = {"torchao"},
       .summary = "torchao float8, a scale for the tensor from this step",
       .nonfinite = "infinity gives 0, NaN NaN",
       .rules = "scale = fp8_max / max(amax, eps) of this step",
       .quirks = "an amax of 0 gives 4.48e14 (E4M3), of eps\n"
                 "with powers of two, scales just below one are rounded up to it; the values are clamped after that",
       .source = "pytorch/ao torchao/float8/float8_utils.py @36027d82"});
}

}  // namespace ulp::fp8
