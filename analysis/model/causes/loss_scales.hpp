// The path of the loss scale: searches, jumps, floors.
#ifndef ULP_MODEL_CAUSES_LOSS_SCALES_HPP
#define ULP_MODEL_CAUSES_LOSS_SCALES_HPP

#include <cstddef>
#include <optional>
#include <vector>

#include <ulp/model/causes/diagnosis.hpp>

#include "places.hpp"

namespace ulp {

// The place, which the run comes back from, as a search for the scale: at the start of the run, or where the scale had
// jumped to far above what held just before.
[[nodiscard]] std::optional<high_initial_scale> search_of(const std::vector<step_survey>& steps,
                                                          const lost_place& place);
// From the index `begin` on.
[[nodiscard]] std::optional<scale_at_floor> floor_of(const std::vector<step_survey>& steps, std::size_t begin);
// A least scale at which most steps overflow, though not all up to the end.
[[nodiscard]] std::optional<scale_at_floor> high_floor_of(const std::vector<step_survey>& steps);

}  // namespace ulp

#endif
