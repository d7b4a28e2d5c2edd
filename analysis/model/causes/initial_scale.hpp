// The search for a loss scale that fits.
#ifndef ULP_MODEL_CAUSES_INITIAL_SCALE_HPP
#define ULP_MODEL_CAUSES_INITIAL_SCALE_HPP

#include <optional>
#include <vector>

#include <ulp/model/causes/diagnosis.hpp>

#include "places.hpp"

namespace ulp {

// The place, and those behind it at which the scale goes on falling, where the input tells of their steps how many were lost and
// not which: a search that an interval of a log cuts in two. At most as many finite steps lie between as were lost before.
[[nodiscard]] lost_place with_assumed_after(const std::vector<step_survey>& steps,
                                            const std::vector<lost_place>& places, std::size_t index);

// The place, which the run comes back from, as a search for the scale: at the start of the run, or where the scale had
// jumped to far above what held just before.
[[nodiscard]] std::optional<initial_scale> search_of(const std::vector<step_survey>& steps, const lost_place& place);

}  // namespace ulp

#endif
