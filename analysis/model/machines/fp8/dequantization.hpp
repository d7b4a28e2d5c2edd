// The delayed scaling of Flax and Keras: the scale is what values are divided by, and follows from the history as it was
// before this step's amax entered it.
#ifndef ULP_MODEL_MACHINES_FP8_DEQUANTIZATION_HPP
#define ULP_MODEL_MACHINES_FP8_DEQUANTIZATION_HPP

#include <cmath>
#include <cstdint>
#include <string>

#include "amax_history.hpp"
#include "policy.hpp"

namespace ulp::fp8 {

template <bool CastsWithNew>
class dequantization_machine;

// Casts with the scale that this step gave, or with the one before it.
template <bool CastsWithNew>
struct dequantization : scaled_to {
  std::int64_t amax_history_len = 1024;
  std::int64_t margin = 0;
  double initial_scale = 1;

  using machine = dequantization_machine<CastsWithNew>;

  template <typename Visitor>
  void fields(Visitor&& v) {
    v("amax_history_len", amax_history_len, "steps that the scale is taken from");
    v("margin", margin, "binades that are kept free below the largest number");
    v("initial_scale", initial_scale, "what values are divided by at first");
    scaled_to::fields(v);
  }
  [[nodiscard]] std::string refused() const {
    if (amax_history_len < 1) return "amax_history_len must be at least 1";
    if (std::string why = refused_scale("initial_scale", initial_scale); !why.empty()) return why;
    return scaled_to::refused();
  }
};

template <bool CastsWithNew>
class dequantization_machine {
 public:
  dequantization_machine(const dequantization<CastsWithNew>& policy, float largest)
      : history_(policy.amax_history_len),
        largest_(largest),
        margin_factor_(std::pow(2.0F, static_cast<float>(policy.margin))),
        scale_(static_cast<float>(policy.initial_scale)) {}

  fp8_scales update(float amax) {
    const float before = scale_;
    const float decides = history_.largest();
    const bool held = !std::isfinite(decides);
    // Where nothing is decided the scale is inverted twice all the same, which may change its last bit.
    float quantization = 1 / scale_;
    if (!held && decides > 0) quantization = largest_ / decides / margin_factor_;
    scale_ = 1 / quantization;
    history_.push(amax);
    return {before, CastsWithNew ? scale_ : before, scale_, held};
  }
  [[nodiscard]] float scale() const { return scale_; }
  template <typename With>
  void exchange(With& with) {
    with(scale_);
    history_.exchange(with);
  }

 private:
  amax_history history_;
  float largest_;
  float margin_factor_;
  float scale_;
};

}  // namespace ulp::fp8

#endif
