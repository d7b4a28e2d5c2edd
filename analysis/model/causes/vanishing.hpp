// Tensors whose gradients vanish: as training goes on, or from layer to layer.
#ifndef ULP_MODEL_CAUSES_VANISHING_HPP
#define ULP_MODEL_CAUSES_VANISHING_HPP

#include <cstdint>
#include <optional>
#include <vector>

#include <ulp/model/causes/diagnosis.hpp>

namespace ulp {

// Each by what the steps up to `last` hold, after which the run was lost.
[[nodiscard]] std::optional<vanished_in_time> vanished_in_time_of(const survey& run,
                                                                  const std::vector<tensor_info>& tensors,
                                                                  std::int64_t last);
[[nodiscard]] std::optional<vanished_in_depth> vanished_in_depth_of(const survey& run,
                                                                    const std::vector<tensor_info>& tensors,
                                                                    std::int64_t last);
// Whether some tensor that had gradients before the step has almost none after it.
[[nodiscard]] bool units_die_at(const survey& run, const std::vector<tensor_info>& tensors, std::int64_t step);

}  // namespace ulp

#endif
