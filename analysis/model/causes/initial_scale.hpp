// The search for a loss scale that fits.
#ifndef ULP_MODEL_CAUSES_INITIAL_SCALE_HPP
#define ULP_MODEL_CAUSES_INITIAL_SCALE_HPP

#include <optional>
#include <vector>

#include <ulp/model/causes/diagnosis.hpp>

#include "places.hpp"

namespace ulp {

// The place, which the run comes back from, as a search for the scale: at the start of the run, or where the scale had
// jumped to far above what held just before.
[[nodiscard]] std::optional<initial_scale> search_of(const std::vector<step_survey>& steps, const lost_place& place);

}  // namespace ulp

#endif
