// In which order backward computes the gradients of a run.
#ifndef ULP_MODEL_REPLAY_BACKWARD_ORDER_HPP
#define ULP_MODEL_REPLAY_BACKWARD_ORDER_HPP

#include <cstdint>
#include <vector>

#include <ulp/model/cells/step.hpp>

namespace ulp {

// Of each tensor, by its index: how many come before it. Weight gradients are recorded in the order of the model, so backward
// reaches the last of them first. Gradients of activations come from hooks, which run in the order of backward, but where the
// modules that they are named after show that they were recorded in the order of the model; the gradient of a module's
// output comes before those of its weights.
[[nodiscard]] std::vector<std::uint32_t> backward_ranks(const std::vector<tensor_info>& tensors);

}  // namespace ulp

#endif
