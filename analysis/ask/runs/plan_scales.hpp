// The loss scales that a plan tries.
#ifndef ULP_ASK_RUNS_PLAN_SCALES_HPP
#define ULP_ASK_RUNS_PLAN_SCALES_HPP

#include <span>
#include <vector>

#include <ulp/formats/format.hpp>

namespace ulp {

// Exponents of 2, descending: from the greatest that leaves the largest gradient of some tensor finite in some of the
// formats, to some binades below the least of these. A lower scale is never better than a higher one that saturates
// nothing: the numbers that it rounds to, divided by it, are among those of the higher one. `largest`: of the true
// gradients of each tensor; 0 and infinities are passed over.
[[nodiscard]] std::vector<int> scales_to_try(std::span<const double> largest, std::span<const format> formats);

}  // namespace ulp

#endif
