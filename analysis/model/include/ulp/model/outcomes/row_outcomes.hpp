// What a recorded row decides: as the functions on its table do, and exactly, value by value, where these leave a range and
// the row has the complete histogram of its codes. Then every count is exact at every scale and in every format, under
// stochastic rounding with any number of random bits too (as far as the products with the scale are doubles), and errors
// are exact, except for the rounding of sums, in all deterministic roundings at factors that are powers of two.
#ifndef ULP_MODEL_OUTCOMES_ROW_OUTCOMES_HPP
#define ULP_MODEL_OUTCOMES_ROW_OUTCOMES_HPP

#include <ulp/formats/treatment.hpp>
#include <ulp/model/cells/step.hpp>
#include <ulp/model/outcomes/clamping.hpp>
#include <ulp/model/outcomes/expectation.hpp>
#include <ulp/model/outcomes/lost_mass.hpp>
#include <ulp/model/outcomes/noise.hpp>
#include <ulp/model/outcomes/outcome.hpp>

namespace ulp {

[[nodiscard]] outcome_counts outcomes_of(const tensor_row& row, const treatment& how, multiplier by);
[[nodiscard]] count_range count_above(const tensor_row& row, double edge, multiplier by);
[[nodiscard]] expected_outcomes expected_outcomes_of(const tensor_row& row, const treatment& how, multiplier by);
[[nodiscard]] lost_mass lost_to_underflow(const tensor_row& row, const treatment& how, multiplier by);
[[nodiscard]] rounding_noise noise_of(const tensor_row& row, const treatment& how, multiplier by);
[[nodiscard]] clamping clamping_of(const tensor_row& row, double bound, multiplier by);

}  // namespace ulp

#endif
