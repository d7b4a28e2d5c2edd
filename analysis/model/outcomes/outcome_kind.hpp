// What becomes of a number, in ascending order of its magnitude.
#ifndef ULP_MODEL_OUTCOMES_OUTCOME_KIND_HPP
#define ULP_MODEL_OUTCOMES_OUTCOME_KIND_HPP

#include <cstdint>
#include <ulp/model/outcomes/outcome.hpp>

namespace ulp::detail {

enum outcome : std::uint8_t { underflow, subnormal, normal, overflow };

// n more numbers, of which it is known that they count or, unless `certain`, that they may.
inline void add(count_range& to, std::uint64_t n, bool certain) noexcept {
  to.high += n;
  if (certain) to.low += n;
}

}  // namespace ulp::detail

#endif
