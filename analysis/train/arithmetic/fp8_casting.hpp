// FP8 training: what linear layers' products take is cast, each tensor by a policy of its own.
//
// As in TransformerEngine, the input, the weight and the gradient of the output of each linear layer are cast, the head's
// among them. All else stays float32: outputs, weight gradients, gradients of inputs, biases, norms, attention. A cast
// multiplies by the scale in float32 (divides, where the policy does) and rounds to the format with saturation; sums of
// products are multiplied by the float32 reciprocals of both scales (by the scales), as matrix units do it: what cancels
// in the sum is zero. The gradient of a bias is the sum of the cast gradient; TransformerEngine sums before the cast.
//
// Each tensor is cast once a step, and its policy steps with the amax of what came in. Of several micro-batches it is
// not settled here whether scales follow each of them: there is one.
#ifndef ULP_TRAIN_FP8_CASTING_HPP
#define ULP_TRAIN_FP8_CASTING_HPP

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <ulp/model/cells/cell_counter.hpp>
#include <ulp/model/cells/step.hpp>
#include <ulp/model/recipe/fp8_recipe.hpp>
#include <ulp/train/rounding_hook.hpp>

namespace ulp::train {

// What became of a tensor in one step.
struct fp8_cast {
  double amax = 0;  // as the policy was told
  fp8_scales scales;
  std::uint64_t nonzero = 0;    // finite values that are not zero
  std::uint64_t saturated = 0;  // of these, beyond the largest number
  std::uint64_t underflow = 0;  // of these, zero afterwards
};

class fp8_casting final : public rounding_hook {
 public:
  // nullopt: operands stay as they are.
  explicit fp8_casting(std::optional<fp8_recipe> recipe) : recipe_(std::move(recipe)) {}

  void round(const site& /*at*/, std::span<float> /*values*/) override {}
  float round_operand(const site& at, std::span<float> values) override;
  void start_step();

  // In the order in which they are cast, which is the same in each step.
  [[nodiscard]] const std::vector<tensor_info>& tensors() const noexcept { return tensors_; }
  // Of the step so far: what came in, as a recorder keeps it, and what became of it.
  [[nodiscard]] const std::vector<tensor_row>& rows() const noexcept { return rows_; }
  [[nodiscard]] const std::vector<fp8_cast>& casts() const noexcept { return casts_; }  // none without a recipe

 private:
  std::optional<fp8_recipe> recipe_;
  std::vector<tensor_info> tensors_;
  std::vector<fp8_scaler> policies_;  // of the tensors
  std::vector<tensor_row> rows_;
  std::vector<fp8_cast> casts_;
  cell_counter counter_;
};

}  // namespace ulp::train

#endif
