// Whether a training goes on.
#ifndef ULP_MODEL_CAUSES_MOVING_LOSS_HPP
#define ULP_MODEL_CAUSES_MOVING_LOSS_HPP

#include <span>

namespace ulp {

// Whether losses, in their order, rise or fall by more than chance does, as they do not where the weights stand still: a line through them
// moves by four of its standard errors, which are larger where neighbours are alike. Never of fewer than 20, nor of some as smooth as a
// running mean, which goes on by itself. Those that are not finite are passed over.
[[nodiscard]] bool goes_on_moving(std::span<const double> losses);
// The same, and that they fall.
[[nodiscard]] bool goes_on_falling(std::span<const double> losses);
// Whether the mean of some is three standard errors above that of others, and by a tenth of it, with three values in each; all finite.
[[nodiscard]] bool lie_above(std::span<const double> some, std::span<const double> others);

}  // namespace ulp

#endif
