// How much of a tensor underflow loses: sums of |x| and of x^2 over the values that become zero.
//
// Exact, as far as doubles go, where the table has exact sums and the threshold is the edge of a binade: nearest and
// toward-zero roundings and flushing before rounding, at multipliers that are powers of two. Elsewhere the cells of the
// binade that the threshold cuts give bounds. Under stochastic rounding the mean over all draws.
#ifndef ULP_MODEL_OUTCOMES_LOST_MASS_HPP
#define ULP_MODEL_OUTCOMES_LOST_MASS_HPP

#include <ulp/formats/treatment.hpp>
#include <ulp/model/cells/cell_table.hpp>
#include <ulp/model/cells/step.hpp>
#include <ulp/model/outcomes/expectation.hpp>
#include <ulp/model/outcomes/outcome.hpp>

namespace ulp {

// Of the recorded values divided by their factor.
struct lost_mass {
  value_range magnitudes;  // sum of |x|
  value_range squares;     // sum of x^2; its square root is the L2 norm of what is lost
  value_range kept;        // sum of |x| of the other finite values
  lost_mass& operator+=(const lost_mass& other) noexcept {
    magnitudes += other.magnitudes;
    squares += other.squares;
    kept += other.kept;
    return *this;
  }
};

// The lost share of the sum of |x|, which is `all` (see magnitudes_bounds): 0 where that is 0. Narrower than a quotient of
// the two: what is not known of a value that is surely lost is not known of either, and is no doubt about the share.
[[nodiscard]] value_range share_of_magnitude(const lost_mass& lost, const value_range& all) noexcept;

// Multiplier and `recorded` as for outcomes_of. Infinite upper ends where values are in no cell and no sum is known.
[[nodiscard]] lost_mass lost_to_underflow(const cell_table& table, const treatment& how, multiplier by,
                                          dtype recorded = dtype::unknown);

// What the sum of |x| of the recorded finite values may be: magnitudes_sum, but where that is estimated what the cells and
// buckets leave open. Infinite upper end where values are in neither.
[[nodiscard]] value_range magnitudes_bounds(const cell_table& table);

}  // namespace ulp

#endif
