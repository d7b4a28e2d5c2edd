// The share of a tensor's energy, its sum of squares, that a treatment loses: what underflows and what rounding
// changes.
//
// Of formats and of scales for a whole tensor it is that of noise.hpp, exact where the table has the error ladder. Of
// blocks it lies between two such figures. Their scales are powers of two that never rise as amax falls, so that what
// a block rounds to is a subset of the multiples that the fraction bits alone allow, and a superset of what the
// tensor's own scale would allow; each element is rounded to the nearest, so its error lies between its errors there.
// A block table narrows this: elements that it counts as normal have the first error exactly, the others at most half
// a step of the tensor's scale. docs/plan.md has the argument.
#ifndef ULP_MODEL_PLAN_LOST_ENERGY_HPP
#define ULP_MODEL_PLAN_LOST_ENERGY_HPP

#include <limits>
#include <optional>
#include <string>

#include <ulp/formats/block_formats.hpp>
#include <ulp/formats/treatment.hpp>
#include <ulp/model/cells/block_table.hpp>
#include <ulp/model/cells/ranges.hpp>
#include <ulp/model/cells/step.hpp>
#include <ulp/model/outcomes/block_outcomes.hpp>
#include <ulp/model/outcomes/outcome.hpp>
#include <ulp/model/outcomes/quantized_outcomes.hpp>

namespace ulp {

inline constexpr double no_bound = std::numeric_limits<double>::infinity();

struct lost_energy {
  value_range share{0, 0};  // of the energy; 0 of zeros alone; up to no_bound where nothing is known
  double estimate = 0;      // within it; the share itself where it is known
  // Values beyond the largest number: certainly, or not certainly none.
  bool saturates = false;
  bool may_saturate = false;
  bool makes_nonfinite = false;  // finite values become infinite or NaN
};

// Of the recorded finite values times `by`; of what saturates nothing else is told. Precondition: the rounding is not
// stochastic.
[[nodiscard]] lost_energy lost_energy_of(const tensor_row& row, const treatment& how, multiplier by);

// With a scale for the tensor that is found in the step itself: the greatest power of two that takes its amax to no
// more than the largest number, as TransformerEngine's current scaling has it with powers of two.
[[nodiscard]] lost_energy lost_energy_in_tensor_scale(const tensor_row& row, const format& to);

// As it was counted element by element. Precondition: with errors.
[[nodiscard]] lost_energy lost_energy_of(const quantized_outcomes& counted);

// Why tables bound no energy under this row; empty where they do: scales are powers of two that take amax to no more
// than the largest element, and elements are numbers rounded to the nearest.
[[nodiscard]] std::string why_tables_do_not_bound(const block_format& row);

// One row, for many tensors.
class block_energy {
 public:
  // Throws std::invalid_argument where tables do not bound it.
  explicit block_energy(const block_format& row);
  // `blocks`: of the row's extent; nullptr where there are none.
  [[nodiscard]] lost_energy operator()(const tensor_row& row, const block_table* blocks) const;

 private:
  block_format row_;
  std::optional<block_outcome_counter> counter_;  // of rows that block tables tell of
};

}  // namespace ulp

#endif
