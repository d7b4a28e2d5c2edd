// Tensors whose gradients vanish: as training goes on, from layer to layer, or from the first step on.
#ifndef ULP_MODEL_DIAGNOSIS_VANISHING_HPP
#define ULP_MODEL_DIAGNOSIS_VANISHING_HPP

#include <optional>
#include <vector>

#include <ulp/model/diagnosis.hpp>

namespace ulp {

// Each before `end`, the index of the step where the run was lost, or its length.
[[nodiscard]] std::optional<vanished_in_time> vanished_in_time_of(const survey& run,
                                                                  const std::vector<tensor_info>& tensors,
                                                                  std::size_t end);
[[nodiscard]] std::optional<vanished_in_depth> vanished_in_depth_of(const survey& run,
                                                                    const std::vector<tensor_info>& tensors);
[[nodiscard]] std::optional<dead_tensors> dead_tensors_of(const survey& run, const std::vector<tensor_info>& tensors);

}  // namespace ulp

#endif
