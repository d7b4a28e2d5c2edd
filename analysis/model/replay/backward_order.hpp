// In which order backward computes the gradients of a run.
#ifndef ULP_MODEL_REPLAY_BACKWARD_ORDER_HPP
#define ULP_MODEL_REPLAY_BACKWARD_ORDER_HPP

#include <cstdint>
#include <vector>

#include <ulp/model/cells/step.hpp>

namespace ulp {

// Of each tensor, by its index: how many come before it. Weight gradients are recorded in the order of the model, so backward
// reaches the last of them first. Those of activations come where the modules lie that they are named after, a module's
// output before its weights; between them stand others as they were recorded, by hooks in the order of backward or in that of the
// model, whichever the named ones show. Where none is named after a module, the last recorded comes first.
[[nodiscard]] std::vector<std::uint32_t> backward_ranks(const std::vector<tensor_info>& tensors);

}  // namespace ulp

#endif
