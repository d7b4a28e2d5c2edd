// What turns gradients into weights.
#ifndef ULP_TRAIN_OPTIMIZER_HPP
#define ULP_TRAIN_OPTIMIZER_HPP

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <ulp/train/training.hpp>

#include "networks/parameter.hpp"

namespace ulp::train {

// Operation for operation; states, updates and weights pass the hook under PyTorch's names of them.
class optimizer {
 public:
  optimizer() = default;
  optimizer(const optimizer&) = delete;
  optimizer& operator=(const optimizer&) = delete;
  virtual ~optimizer() = default;
  // Once, before the first update: the weights become what is kept of them.
  virtual void begin(const std::vector<std::unique_ptr<parameter<float>>>& /*parameters*/) {}
  // One update of all: the gradients are unscaled.
  virtual void apply(const std::vector<std::unique_ptr<parameter<float>>>& parameters, const pass<float>& in) = 0;
};

[[nodiscard]] std::unique_ptr<optimizer> make_optimizer(const training_options& options);
// The options have a recipe.
[[nodiscard]] std::unique_ptr<optimizer> make_recipe_optimizer(const training_options& options);

}  // namespace ulp::train

#endif
