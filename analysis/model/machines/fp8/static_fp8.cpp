// One scale that never changes, as calibrated checkpoints and static recipes have it. No original: the rule is the name.
#include "policy.hpp"

namespace ulp::fp8 {
namespace {

class constant_scale;

struct static_fp8 : scaled_to {
  double scale = 1;

  using machine = constant_scale;

  template <typename Visitor>
  void fields(Visitor&& v) {
    v("scale", scale, "what values are multiplied by");
    scaled_to::fields(v);
  }
  [[nodiscard]] std::string refused() const {
    if (std::string why = refused_scale("scale", scale); !why.empty()) return why;
    return scaled_to::refused();
  }
};

class constant_scale {
 public:
  constant_scale(const static_fp8& policy, float /*largest*/) : scale_(static_cast<float>(policy.scale)) {}

  fp8_scales update(float /*amax*/) { return {scale_, scale_, scale_, false}; }
  [[nodiscard]] float scale() const { return scale_; }
  template <typename With>
  void exchange(With& /*with*/) {}

 private:
  float scale_;
};

}  // namespace

registration static_fp8_row() {
  return row<static_fp8>({.summary = "a scale that never changes",
                          .nonfinite = "nothing",
                          .rules = "scale",
                          .quirks = "",
                          .source = "none"});
}

}  // namespace ulp::fp8
