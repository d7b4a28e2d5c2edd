// Cells as the kernels count them: where a value's counter is. docs/recording-format.md says what a cell is.
#ifndef ULP_DEVICE_CELLS_HPP
#define ULP_DEVICE_CELLS_HPP

#include "both.hpp"

#ifndef __CUDA_ARCH__
#include <bit>
#endif

namespace ulp::device {

// The place of the highest bit that is set.
ULP_BOTH constexpr std::uint32_t top_bit(std::uint32_t x) {
#ifdef __CUDA_ARCH__
  return 31 - __clz(static_cast<int>(x));
#else
  return 31 - static_cast<std::uint32_t>(std::countl_zero(x));
#endif
}
ULP_BOTH constexpr std::uint32_t top_bit(std::uint64_t x) {
#ifdef __CUDA_ARCH__
  return 63 - __clzll(static_cast<long long>(x));
#else
  return 63 - static_cast<std::uint32_t>(std::countl_zero(x));
#endif
}

// Of a row, one or two for each slot, as it is told fastest. An odd number: equal counters of two rows lie in different banks of
// shared memory.
constexpr std::uint32_t counters = 27;

// The slot that a counter counts.
ULP_BOTH constexpr std::uint32_t slot_of_counter(std::uint32_t counter) {
  if (counter > 24) return counter - 19;  // 13/16, and above
  if (counter > 21) return counter < 24 ? 24 : 25;
  return counter > 5 ? counter + 2 : counter;
}

// An IEEE type of as many bits. There is a row for each sign and exponent field, as bits have them, then for each binade of positive
// subnormal values, smallest first, then of negative ones.
template <typename Bits, int fraction_bits>
struct cells {
  using bits = Bits;
  static constexpr int fraction = fraction_bits;
  static constexpr int width = 8 * sizeof(Bits);
  static constexpr std::uint32_t exponents = std::uint32_t{1} << (width - 1 - fraction);
  static constexpr std::uint32_t subnormals = 2 * exponents;  // the first of their rows
  static constexpr std::uint32_t rows = subnormals + 2 * fraction;
  static constexpr std::uint32_t size = rows * counters;
  static constexpr Bits low = (Bits{1} << fraction) - 1;
  static constexpr Bits most = ~Bits{0} >> 1;
  static constexpr Bits infinity = most & ~low;

  // Of (1 + f / 2^fraction) in its row.
  ULP_BOTH static constexpr std::uint32_t counter(Bits f) {
    // 2^fraction * (1 - f) has as many leading zeros as f has leading ones, and is a power of two just where f is an edge.
    const Bits rest = low + 1 - f;
    const std::uint32_t above = (rest & (low - f)) != 0 ? 1 : 0;
    const std::uint32_t u = 2 * fraction - 2 * top_bit(rest) - above;
    constexpr Bits edge = Bits{13} << (fraction - 4);  // splits what is above 3/4
    if (u == 5 && f >= edge) return f > edge ? 26 : 25;
    return u < 24 ? u : 24;
  }
  // Of a subnormal value: its binade, from that of the smallest; the fraction of its normalised significand.
  ULP_BOTH static constexpr std::uint32_t binade_of(Bits magnitude) { return top_bit(magnitude); }
  ULP_BOTH static constexpr Bits fraction_of(Bits magnitude, std::uint32_t binade) {
    return (magnitude << (fraction - binade)) & low;
  }
};

using float32_cells = cells<std::uint32_t, 23>;
using float64_cells = cells<std::uint64_t, 52>;

}  // namespace ulp::device

#endif
