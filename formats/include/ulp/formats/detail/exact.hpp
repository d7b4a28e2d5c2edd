// Exact results of operations on finite values, as unpacked: to 128 bits and a sticky bit, or to as many as rounding
// can see. Operands are exact values of at most 53 significand bits, as decode gives them; signs of products, quotients
// and roots are the caller's.
#ifndef ULP_FORMATS_DETAIL_EXACT_HPP
#define ULP_FORMATS_DETAIL_EXACT_HPP

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include <ulp/formats/codec.hpp>

namespace ulp::detail {

__extension__ typedef unsigned __int128 uint128;

// The most bits that stochastic rounding looks at below the last kept one: 32 random ones and the next.
inline constexpr int stochastic_bits = 33;

// Operations whose results have no end have no exact_probability.
constexpr rounding with_finite_bits(rounding mode) noexcept {
  if (mode.random_bits == exact_probability) mode.random_bits = 32;
  return mode;
}

constexpr int leading_zeros(uint128 x) noexcept {
  const auto high = static_cast<std::uint64_t>(x >> 64);
  return high != 0 ? std::countl_zero(high) : 64 + std::countl_zero(static_cast<std::uint64_t>(x));
}

// Whether x can be an operand of exact_sum<std::uint64_t>: at most 62 bits.
constexpr bool fits_62_bits(const unpacked& x) noexcept { return x.low == 0 && (x.significand & 3) == 0; }

// Whether exact_sum<uint128> loses nothing: no bit of the smaller operand is more than 126 below the top of the larger.
constexpr bool fits_128_bits(const unpacked& x, const unpacked& y) noexcept {
  return std::max(x.exponent, y.exponent) + 1 - std::min(lsb_exponent(x), lsb_exponent(y)) < 128;
}

// x + y, its last bit standing for itself and everything below ("jamming"). That bit is far below what rounding looks
// at: operands more than a binade apart cancel at most one bit, and others are added without loss. A zero sum of
// opposite signs is negative if minus_zero.
template <class Word>
[[gnu::always_inline]] constexpr unpacked exact_sum(const unpacked& x, const unpacked& y, bool minus_zero) noexcept {
  constexpr int width = 8 * sizeof(Word);
  const auto word_of = [](const unpacked& z) -> Word {
    if constexpr (width == 64)
      return z.significand;
    else
      return (Word{z.significand} << 64) | z.low;
  };
  // No branch depends on signs or exponents: they are as good as random.
  const bool swapped = y.exponent > x.exponent;
  const int exponent = swapped ? y.exponent : x.exponent;
  const int distance = exponent - (swapped ? x.exponent : y.exponent) + 1;  // with one bit of room for the carry
  const Word swap = (word_of(x) ^ word_of(y)) & (Word{0} - Word{swapped ? 1u : 0u});
  const Word a = (word_of(x) ^ swap) >> 1;
  const Word small = word_of(y) ^ swap;
  // A bit at the top, shifted by all but one place, is the jammed last bit.
  const int shift = std::min(distance, width - 1);
  const Word b = (small >> shift) | Word{(small << (width - shift)) != 0 ? 1u : 0u};

  const bool opposite = x.negative != y.negative;
  const bool flipped = opposite && b > a;
  const Word minus_b = Word{0} - Word{opposite ? 1u : 0u};
  const Word minus = Word{0} - Word{flipped ? 1u : 0u};
  Word magnitude = a + ((b ^ minus_b) - minus_b);
  magnitude = (magnitude ^ minus) - minus;
  if (magnitude == 0) return {.kind = number_class::zero, .negative = minus_zero};
  unpacked sum{.kind = number_class::finite, .negative = (swapped ? y.negative : x.negative) != flipped};
  const int zeros = leading_zeros(magnitude);
  magnitude <<= zeros;
  sum.exponent = exponent + 1 - zeros;
  if constexpr (width == 64) {
    sum.significand = magnitude;
  } else {
    sum.significand = static_cast<std::uint64_t>(magnitude >> 64);
    sum.low = static_cast<std::uint64_t>(magnitude);
  }
  return sum;
}

// |x y|, all of it.
[[gnu::always_inline]] constexpr unpacked exact_product(const unpacked& x, const unpacked& y) noexcept {
  uint128 product = uint128{x.significand} * y.significand;
  const bool below_two = product >> 127 == 0;  // the product of the significands as numbers in [1, 2)
  product += product & (uint128{0} - uint128{below_two ? 1u : 0u});
  return {.kind = number_class::finite,
          .negative = x.negative != y.negative,
          .exponent = x.exponent + y.exponent + (below_two ? 0 : 1),
          .significand = static_cast<std::uint64_t>(product >> 64),
          .low = static_cast<std::uint64_t>(product)};
}

// |x / y| for a result of `precision` significand bits.
constexpr unpacked exact_quotient(const unpacked& x, const unpacked& y, int precision) noexcept {
  unpacked quotient{.kind = number_class::finite};
  // A dividend below the divisor, so that the first 64 bits of the quotient begin with a one.
  const bool at_least_one = x.significand >= y.significand;
  const std::uint64_t dividend = x.significand >> (at_least_one ? 1 : 0);
  quotient.exponent = x.exponent - y.exponent - (at_least_one ? 0 : 1);
  if (precision + stochastic_bits <= 64 && (y.significand & 0xFFFFFFFF) == 0) {
    // Long division by a divisor of 32 bits, two digits of 32.
    const std::uint64_t divisor = y.significand >> 32;
    const std::uint64_t first = dividend / divisor;
    const std::uint64_t rest = (dividend % divisor) << 32;
    quotient.significand = (first << 32) | rest / divisor;
    quotient.sticky = rest % divisor != 0;
    return quotient;
  }
  const uint128 first = uint128{dividend} << 64;
  const uint128 second = first % y.significand << 64;
  quotient.significand = static_cast<std::uint64_t>(first / y.significand);
  quotient.low = static_cast<std::uint64_t>(second / y.significand);
  quotient.sticky = second % y.significand != 0;
  return quotient;
}

// floor(sqrt(n)) for n >= 2^62.
constexpr std::uint64_t integer_root(std::uint64_t n) noexcept {
  constexpr std::uint64_t largest = 0xFFFFFFFF;
  std::uint64_t root = largest;
  if (std::is_constant_evaluated()) {
    for (std::uint64_t next = root; (next = (root + n / root) / 2) < root;) root = next;  // Newton, from above
  } else {
    root = std::min(static_cast<std::uint64_t>(std::sqrt(static_cast<double>(n))), largest);
  }
  while (root * root > n) --root;
  while (root < largest && (root + 1) * (root + 1) <= n) ++root;
  return root;
}

// sqrt(|x|) for a result of `precision` significand bits.
constexpr unpacked exact_root(const unpacked& x, int precision) noexcept {
  unpacked root{.kind = number_class::finite};
  const bool odd = (x.exponent & 1) != 0;
  root.exponent = (x.exponent - (odd ? 1 : 0)) / 2;
  // The root of high * 2^64, 64 bits: 32 by the processor or Newton, 32 more by one step of long division, which guesses
  // too high by less than two.
  const std::uint64_t high = odd ? x.significand : x.significand >> 1;
  const std::uint64_t first = integer_root(high);
  const std::uint64_t second = std::min<std::uint64_t>(((high - first * first) << 31) / first, 0xFFFFFFFF);
  const uint128 square = uint128{high} << 64;
  std::uint64_t digits = (first << 32) | second;
  while (uint128{digits} * digits > square) --digits;
  uint128 rest = square - uint128{digits} * digits;
  root.significand = digits;
  if (precision + stochastic_bits > 64) {
    // 24 more, one by one: 88 are enough for 53 and 33.
    uint128 longer = digits;
    for (int i = 0; i < 24; ++i) {
      rest <<= 2;
      const uint128 trial = (longer << 2) | 1;
      longer <<= 1;
      if (rest >= trial) {
        rest -= trial;
        longer |= 1;
      }
    }
    root.low = static_cast<std::uint64_t>(longer) << 40;
  }
  root.sticky = rest != 0;
  return root;
}

// The IEEE remainder of x by y.
constexpr unpacked exact_remainder(const unpacked& x, const unpacked& y) noexcept {
  int distance = x.exponent - y.exponent;
  if (distance < -1) return x;  // |x| < |y| / 2
  // Integers of 53 bits in one unit: of y's last place, or half of it where x is the smaller.
  std::uint64_t divisor = y.significand >> 11;
  std::uint64_t rest = x.significand >> 11;
  int unit = y.exponent - 52;
  bool odd = false;  // the quotient
  if (distance < 0) {
    divisor <<= 1;
    --unit;
  } else {
    odd = rest >= divisor;
    if (odd) rest -= divisor;
    while (distance > 0) {
      const int step = std::min(distance, 64);
      const uint128 dividend = uint128{rest} << step;
      odd = (dividend / divisor & 1) != 0;
      rest = static_cast<std::uint64_t>(dividend % divisor);
      distance -= step;
    }
  }
  unpacked remainder{.kind = number_class::zero, .negative = x.negative};
  if (rest == 0) return remainder;
  if (2 * rest > divisor || (2 * rest == divisor && odd)) {
    rest = divisor - rest;
    remainder.negative = !remainder.negative;
  }
  const int zeros = std::countl_zero(rest);
  remainder.kind = number_class::finite;
  remainder.significand = rest << zeros;
  remainder.exponent = unit + 63 - zeros;
  return remainder;
}

}  // namespace ulp::detail

#endif
