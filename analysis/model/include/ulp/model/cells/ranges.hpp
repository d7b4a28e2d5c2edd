// What is known to lie between two numbers.
#ifndef ULP_MODEL_CELLS_RANGES_HPP
#define ULP_MODEL_CELLS_RANGES_HPP

#include <cstdint>

namespace ulp {

// A count known to lie in [low, high].
struct count_range {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  [[nodiscard]] constexpr bool exact() const noexcept { return low == high; }
  constexpr count_range& operator+=(const count_range& other) noexcept {
    low += other.low;
    high += other.high;
    return *this;
  }
  friend constexpr bool operator==(const count_range&, const count_range&) = default;
};

// A real number known to lie in [low, high], except for the rounding of these doubles.
struct value_range {
  double low = 0;
  double high = 0;
  [[nodiscard]] constexpr bool exact() const noexcept { return low == high; }
  constexpr value_range& operator+=(const value_range& other) noexcept {
    low += other.low;
    high += other.high;
    return *this;
  }
  friend constexpr bool operator==(const value_range&, const value_range&) = default;
};

}  // namespace ulp

#endif
