// How many binades elements lie from the scale of their block, or from the largest number there.
#ifndef ULP_MODEL_OUTCOMES_BLOCK_EXPONENTS_HPP
#define ULP_MODEL_OUTCOMES_BLOCK_EXPONENTS_HPP

#include <cstdint>
#include <map>

#include <ulp/model/cells/block_table.hpp>
#include <ulp/model/cells/cell_table.hpp>
#include <ulp/model/cells/ranges.hpp>

namespace ulp {

struct block_exponents {
  std::map<int, count_range> by_exponent;  // finite nonzero elements of [2^k, 2^(k+1)) times that, by k
  std::uint64_t numel = 0;
  std::uint64_t zeros = 0;
  std::uint64_t nonfinite = 0;  // infinite or NaN
  std::uint64_t unplaced = 0;   // finite, not zero, in blocks with an infinity or a NaN
  count_range lost;             // likewise in other blocks, under a scale that is NaN

  block_exponents& operator+=(const block_exponents& other);
  friend bool operator==(const block_exponents&, const block_exponents&) = default;
};

// What a table has outside of its classes: zeros, and blocks with something infinite or NaN.
[[nodiscard]] block_exponents exponents_outside_classes(const block_table& table);

// Over 2^k of the largest number of the block, 2^k (1 + f): from 0 downward, exactly.
[[nodiscard]] block_exponents exponents_below_amax(const block_table& table);

// Over `unit`, which is above zero and finite. A cell whose ends fall into two binades may be in either, a bucket in none.
[[nodiscard]] block_exponents exponents_over(const cell_table& table, double unit);

}  // namespace ulp

#endif
