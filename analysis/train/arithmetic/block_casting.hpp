// Training in blocks that share a scale: what linear layers' products take is quantized along the axis that each product
// sums over, as matrix units read it.
//
// So each operand is quantized twice: along its rows for one product, along its columns for another. Outputs, weight
// gradients, gradients of inputs, biases, norms and attention stay float32; the gradient of a bias is the sum of what the
// gradient of the input takes.
#ifndef ULP_TRAIN_BLOCK_CASTING_HPP
#define ULP_TRAIN_BLOCK_CASTING_HPP

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <ulp/formats/block_formats.hpp>
#include <ulp/model/cells/step.hpp>
#include <ulp/train/rounding_hook.hpp>

namespace ulp::train {

// What a tensor loses where it is quantized along its rows.
struct lost_in_blocks {
  std::string name;
  tensor_kind kind = tensor_kind::unknown;
  std::uint64_t steps = 0;
  double shares = 0;  // of its energy, summed over the steps; infinite where a finite value became none

  [[nodiscard]] double share() const noexcept { return shares / static_cast<double>(steps); }
};

class block_casting final : public rounding_hook {
 public:
  // Without `applies` operands stay as they are, and what they would lose is counted.
  block_casting(const block_format& row, bool applies) : row_(row), applies_(applies) {}

  void round(const site& /*at*/, std::span<float> /*values*/) override {}
  float round_operand(const site& at, std::span<float> values) override;
  bool round_across(const site& at, std::span<float> values) override;

  // In the order in which they first come.
  [[nodiscard]] const std::vector<lost_in_blocks>& tensors() const noexcept { return tensors_; }

 private:
  block_format row_;
  bool applies_;
  std::vector<lost_in_blocks> tensors_;
};

}  // namespace ulp::train

#endif
