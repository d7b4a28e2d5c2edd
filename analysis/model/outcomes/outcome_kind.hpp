// What becomes of a number, in ascending order of its magnitude.
#pragma once

#include <cstdint>
#include <ulp/model/outcomes/outcome.hpp>

namespace ulp::detail {

enum outcome : std::uint8_t { underflow, subnormal, normal, overflow };

// Counts n numbers, which surely belong to it if `certain`.
inline void add(count_range& to, std::uint64_t n, bool certain) noexcept {
  to.high += n;
  if (certain) to.low += n;
}

}  // namespace ulp::detail
