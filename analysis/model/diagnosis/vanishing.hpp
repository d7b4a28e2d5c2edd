// Tensors whose gradients vanish: as training goes on, from layer to layer, or from the first step on.
#ifndef ULP_MODEL_DIAGNOSIS_VANISHING_HPP
#define ULP_MODEL_DIAGNOSIS_VANISHING_HPP

#include <cstdint>
#include <optional>
#include <vector>

#include <ulp/model/diagnosis.hpp>

namespace ulp {

// Each by what the steps up to `last` hold, after which the run was lost.
[[nodiscard]] std::optional<vanished_in_time> vanished_in_time_of(const survey& run,
                                                                  const std::vector<tensor_info>& tensors,
                                                                  std::int64_t last);
[[nodiscard]] std::optional<vanished_in_depth> vanished_in_depth_of(const survey& run,
                                                                    const std::vector<tensor_info>& tensors,
                                                                    std::int64_t last);
[[nodiscard]] std::optional<dead_tensors> dead_tensors_of(const survey& run, const std::vector<tensor_info>& tensors,
                                                          std::int64_t last);

}  // namespace ulp

#endif
