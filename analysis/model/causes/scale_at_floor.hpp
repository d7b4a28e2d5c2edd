// The least loss scale, where the scale stays at it.
#ifndef ULP_MODEL_CAUSES_SCALE_AT_FLOOR_HPP
#define ULP_MODEL_CAUSES_SCALE_AT_FLOOR_HPP

#include <optional>
#include <vector>

#include <ulp/model/causes/diagnosis.hpp>

namespace ulp {

// A least scale at which most steps overflow, though not all up to the end.
[[nodiscard]] std::optional<scale_at_floor> high_floor_of(const std::vector<step_survey>& steps);

}  // namespace ulp

#endif
