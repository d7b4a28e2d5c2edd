// What stochastic rounding to a format does to the values of a cell table: means and variances over all draws, each value
// drawn for itself.
//
// With all discarded bits as random bits a value y between two neighbours goes up with the probability (y - low) / (high
// - low). Where the table has exact sums and the multiplier is a power of two, mean and variance of the underflow count
// are exact, since the smallest number above zero is the edge of a binade: with p = y / smallest, sum 1 - p and
// sum p - p^2. Elsewhere, and for the counts next to the smallest normal and the largest number, cells bound p. With N
// random bits p is cut to N bits (stochastic_definition): the same for values that have no more, else a range of 2^-N a
// value. Source of the closed forms: sums of Bernoulli variables; docs/numerics.md.
#ifndef ULP_MODEL_OUTCOMES_EXPECTATION_HPP
#define ULP_MODEL_OUTCOMES_EXPECTATION_HPP

#include <cstdint>

#include <ulp/formats/treatment.hpp>
#include <ulp/model/cells/cell_table.hpp>
#include <ulp/model/cells/step.hpp>
#include <ulp/model/outcomes/outcome.hpp>

namespace ulp {

// How many values have an outcome.
struct expected_count {
  value_range mean;
  value_range variance;
  expected_count& operator+=(const expected_count& other) noexcept;
  // Its square root.
  [[nodiscard]] value_range deviation() const noexcept;
};

// As outcome_counts.
struct expected_outcomes {
  std::uint64_t numel = 0;
  std::uint64_t zero = 0;
  std::uint64_t nonfinite = 0;
  expected_count underflow;
  expected_count subnormal;
  expected_count overflow;
  expected_outcomes& operator+=(const expected_outcomes& other) noexcept;
};

// Precondition: how.rounding.direction is stochastic. Multiplier and `recorded` as for outcomes_of; `recorded` also tells how many
// bits the values' significands have (24 where it is unknown).
[[nodiscard]] expected_outcomes expected_outcomes_of(const cell_table& table, const treatment& how, multiplier by,
                                                     dtype recorded = dtype::unknown);

}  // namespace ulp

#endif
