// TransformerEngine's DelayedScaling: a step is cast with the scale that the amaxes before it gave.
//
// The three originals differ in when the history moves, in what a NaN does and in the order of float32 operations: a
// Rule says how, see te_delayed_bulk.cpp and its neighbours. An amax of infinity or (but with fmaxf) NaN keeps the scale
// for as long as it is in the history.
#ifndef ULP_MODEL_MACHINES_FP8_TE_DELAYED_HPP
#define ULP_MODEL_MACHINES_FP8_TE_DELAYED_HPP

#include <cmath>
#include <cstdint>
#include <string>

#include "amax_history.hpp"
#include "policy.hpp"

namespace ulp::fp8 {

template <typename Rule>
class te_delayed_machine;

template <typename Rule>
struct te_delayed : scaled_to {
  std::int64_t amax_history_len = 1024;
  std::int64_t margin = 0;
  std::string amax_compute_algo = "max";
  double initial_scale = 1;

  using machine = te_delayed_machine<Rule>;

  template <typename Visitor>
  void fields(Visitor&& v) {
    v("amax_history_len", amax_history_len, "steps that the scale is taken from, this one included");
    v("margin", margin, "binades that are kept free below the largest number");
    v("amax_compute_algo", amax_compute_algo, "max, the largest of the history, or most_recent, this step's");
    v("initial_scale", initial_scale, "the scale of the first step");
    scaled_to::fields(v);
  }
  [[nodiscard]] std::string refused() const {
    if (amax_history_len < 1) return "amax_history_len must be at least 1";
    if (amax_compute_algo != "max" && amax_compute_algo != "most_recent")
      return "amax_compute_algo is max or most_recent, not '" + amax_compute_algo + "'";
    if (std::string why = refused_scale("initial_scale", initial_scale); !why.empty()) return why;
    return scaled_to::refused();
  }
};

template <typename Rule>
class te_delayed_machine {
 public:
  te_delayed_machine(const te_delayed<Rule>& policy, float largest)
      : history_(policy.amax_history_len),
        is_of_history_(policy.amax_compute_algo == "max"),
        rule_(largest, static_cast<float>(policy.margin)),
        scale_(static_cast<float>(policy.initial_scale)) {}

  fp8_scales update(float amax) {
    const float before = scale_;
    if (Rule::stays_at_zero && amax == 0) return {before, before, before, false};
    history_.push(amax);
    const float decides = !is_of_history_         ? amax
                          : Rule::passes_over_nan ? history_.largest_number()
                                                  : history_.largest();
    const bool held = !std::isfinite(decides);
    if (!held && decides > 0) scale_ = rule_.scale_for(decides);
    return {before, before, scale_, held};
  }
  [[nodiscard]] float scale() const { return scale_; }
  template <typename With>
  void exchange(With& with) {
    with(scale_);
    history_.exchange(with);
  }

 private:
  amax_history history_;
  bool is_of_history_;
  Rule rule_;
  float scale_;
};

// 448 / amax as the kernels have it: the margin is in the dividend.
struct te_kernel_scale {
  te_kernel_scale(float largest, float margin) : scaled_largest(largest * std::pow(2.0F, -margin)) {}

  [[nodiscard]] float scale_for(float amax) const {
    const float scale = scaled_largest / amax;
    return std::isinf(scale) ? largest_float : scale;
  }
  float scaled_largest;
};

inline constexpr auto te_delayed_rules =
    "the step is cast with the scale as it is; then its amax enters the history, the oldest leaves\n"
    "amax of the history finite and above 0: scale = fp8_max / 2^margin / amax, else the scale stays";

}  // namespace ulp::fp8

#endif
