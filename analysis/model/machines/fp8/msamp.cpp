// MS-AMP's scaling tensors: Azure/MS-AMP @9746ea85 msamp/common/tensor/meta.py, compute_scaling_factor and
// is_in_time_scaling, with msamp/optim/optimizer.py, _update_scaling_factors.
// Reproduced: number / tensor is the tensor's reciprocal times the number; log2 is rounded to float32, which takes
// numbers just below a power of two for it; where the exponent is below 0 the scale is inverted, also a scale that was
// to be kept.
#include <cstdint>

#include "amax_history.hpp"
#include "policy.hpp"

namespace ulp::fp8 {
namespace {

class msamp_machine;

struct msamp {
  std::int64_t window_size = 16;
  std::int64_t margin = 0;
  bool in_time_scaling = true;
  double initial_scale = 1;
  std::string rule = "meta";
  std::optional<double> fp_max;

  using machine = msamp_machine;

  template <typename Visitor>
  void fields(Visitor&& v) {
    v("window_size", window_size, "steps that the scale is taken from; of weight gradients MS-AMP has 1");
    v("margin", margin, "binades that are kept free below the largest number");
    v("in_time_scaling", in_time_scaling,
      "the first window_size steps (all, where that is 1) are cast by their own amax");
    v("initial_scale", initial_scale, "the scale of the first step");
    v("rule", rule, "meta, or compute_scaling_factor: each step by its own amax, from initial_scale");
    v("fp_max", fp_max, "what amax is scaled to; none: the largest number of the format");
  }
  [[nodiscard]] float largest(float of_format) const { return fp_max ? static_cast<float>(*fp_max) : of_format; }
  [[nodiscard]] std::string refused() const {
    if (window_size < 1) return "window_size must be at least 1";
    if (rule != "meta" && rule != "compute_scaling_factor")
      return "rule is meta or compute_scaling_factor, not '" + rule + "'";
    if (fp_max && !refused_scale("fp_max", *fp_max).empty()) return refused_scale("fp_max", *fp_max);
    return refused_scale("initial_scale", initial_scale);
  }
};

class msamp_machine {
 public:
  msamp_machine(const msamp& policy, float largest)
      : policy_(policy),
        largest_(largest),
        history_(policy.window_size),
        scale_(static_cast<float>(policy.initial_scale)) {}

  fp8_scales update(float amax) {
    const bool finite = std::isfinite(amax);
    const float before = scale_;
    if (policy_.rule == "compute_scaling_factor") {
      const float given = factor_for(amax, before);
      return {before, given, given, !finite && given == before};
    }
    if (policy_.in_time_scaling && (policy_.window_size == 1 || steps_ < policy_.window_size))
      scale_ = factor_for(amax, before);
    const float used = scale_;
    ++steps_;
    // The optimizer's step takes what is not finite for 0 and counts anew.
    if (!finite) steps_ = 0;
    history_.push(finite ? amax : 0);
    scale_ = factor_for(history_.largest_number(), scale_);
    return {before, used, scale_, !finite && used == before && scale_ == before};
  }
  [[nodiscard]] float scale() const { return scale_; }
  template <typename With>
  void exchange(With& with) {
    with(scale_);
    with(steps_);
    history_.exchange(with);
  }

 private:
  [[nodiscard]] float factor_for(float amax, float old) const {
    const float reciprocal = 1 / amax;
    const auto log2_of = static_cast<float>(std::log2(static_cast<double>(reciprocal * largest_)));
    const float exponent = std::floor(log2_of) - static_cast<float>(policy_.margin);
    const float factor = amax > 0 && std::isfinite(amax) ? std::exp2(std::fabs(exponent)) : old;
    return exponent < 0 ? 1 / factor : factor;
  }

  msamp policy_;
  float largest_;
  amax_history history_;
  float scale_;
  std::int64_t steps_ = 0;
};

}  // namespace

registration msamp_row() {
  return row<msamp>(
      {.aliases = {"ms_amp"},
       .summary = "MS-AMP's scaling tensors",
       .nonfinite = "kept, or inverted where the step is cast by its own amax: 8 becomes 0.125",
       .rules = "in-time steps: scale = 2^(floor(log2(fp_max / amax)) - margin) before the cast\n"
                "after the step the same of the largest amax of the window; an amax that is not finite counts as 0",
       .quirks = "an infinite amax inverts the scale that was to be kept, where the step is scaled in time\n"
                 "log2 is float32: fp_max / amax some units in the last place below 2^k counts as 2^k\n"
                 "a tensor of subnormals gets an infinite scale",
       .source = "Azure/MS-AMP msamp/common/tensor/meta.py, msamp/optim/optimizer.py @9746ea85"});
}

}  // namespace ulp::fp8
