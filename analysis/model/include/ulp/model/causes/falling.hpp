// Whether a training goes on.
#ifndef ULP_MODEL_CAUSES_FALLING_HPP
#define ULP_MODEL_CAUSES_FALLING_HPP

#include <span>

namespace ulp {

// Whether losses, in their order, fall by more than chance does, which they do not where the weights stand still: the mean of the second
// half is three standard errors below that of the first, with three values in each. Those that are not finite are passed over.
[[nodiscard]] bool goes_on_falling(std::span<const double> losses);

}  // namespace ulp

#endif
