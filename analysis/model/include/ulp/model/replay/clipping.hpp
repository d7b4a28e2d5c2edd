// Gradient clipping as the frameworks do it.
#ifndef ULP_MODEL_REPLAY_CLIPPING_HPP
#define ULP_MODEL_REPLAY_CLIPPING_HPP

#include <cmath>
#include <limits>
#include <optional>
#include <string_view>

namespace ulp {

// By the global L2 norm of the unscaled gradients. NaN norm gives NaN; infinite norm gives 0.
struct norm_clipping {
  double max_norm = 1;

  // Source: torch.nn.utils.clip_grad_norm_ (pytorch/pytorch, torch/nn/utils/clip_grad.py): max_norm / (norm + 1e-6).
  [[nodiscard]] double coefficient(double norm) const noexcept { return max_norm / (norm + 1e-6); }
  // Gradients are multiplied by the coefficient where it is below one.
  [[nodiscard]] bool triggers(double norm) const noexcept { return coefficient(norm) < 1; }
};

// By value: each unscaled gradient is clamped to [-max_value, max_value] (torch.nn.utils.clip_grad_value_).
struct value_clipping {
  double max_value = 1;
  [[nodiscard]] bool triggers(double max_abs) const noexcept { return max_abs > max_value; }
};

// In which order a step unscales its gradients, looks for overflow and clips. The frameworks' own is unscale, check, clip.
// What clips before it unscales compares scaled gradients with its bound, which is then bound / scale on the true ones.
// Clamping each value before the check hides infinities, which become the bound, but not NaN; scaling by the norm hides
// neither, since an infinite norm makes 0 * inf.
struct step_order {
  bool clip_before_unscale = false;
  bool clip_before_check = false;
  friend bool operator==(const step_order&, const step_order&) = default;
};

// "unscale,check,clip" in any order; nullopt for anything else.
[[nodiscard]] std::optional<step_order> parse_step_order(std::string_view text);

}  // namespace ulp

#endif
