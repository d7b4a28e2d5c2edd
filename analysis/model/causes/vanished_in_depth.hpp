// Gradients that vanish from layer to layer.
#ifndef ULP_MODEL_CAUSES_VANISHED_IN_DEPTH_HPP
#define ULP_MODEL_CAUSES_VANISHED_IN_DEPTH_HPP

#include <cstdint>
#include <optional>
#include <vector>

#include <ulp/model/causes/diagnosis.hpp>

namespace ulp {

// By what the steps up to `last` hold, after which the run was lost.
[[nodiscard]] std::optional<vanished_in_depth> vanished_in_depth_of(const survey& run,
                                                                    const std::vector<tensor_info>& tensors,
                                                                    std::int64_t last);

}  // namespace ulp

#endif
