// Gradient clipping as the frameworks do it.
#ifndef ULP_MODEL_CLIPPING_HPP
#define ULP_MODEL_CLIPPING_HPP

#include <cmath>
#include <limits>
#include <optional>

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

}  // namespace ulp

#endif
