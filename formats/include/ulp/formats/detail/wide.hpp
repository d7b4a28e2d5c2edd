// Exact sums of values however far apart: of two, for stochastic rounding with as many random bits as are discarded, and
// of many.
#ifndef ULP_FORMATS_DETAIL_WIDE_HPP
#define ULP_FORMATS_DETAIL_WIDE_HPP

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include <ulp/formats/codec.hpp>

namespace ulp::detail {

// The magnitude of a sum, not zero, and its sign: an integer in units of 2^lowest.
struct wide_sum {
  // From the last bit of the product of two subnormal float64 numbers to above that of 2^64 of the largest:
  // 2^-2148..2^2112, and a bit for the sign.
  static constexpr int words = 67;
  static constexpr int lowest_product = -2148;

  bool negative = false;
  int exponent = 0;  // of its first bit
  int lowest = 0;
  std::array<std::uint64_t, words> word{};  // the lowest first

  constexpr wide_sum(const unpacked& x, const unpacked& y) noexcept;
  // An integer in two's complement in units of 2^unit.
  constexpr wide_sum(const std::array<std::uint64_t, words>& integer, int unit) noexcept;

 private:
  constexpr void set_exponent() noexcept;
};

constexpr std::uint64_t bits_from(const wide_sum& x, int weight) noexcept {
  const int top = weight - x.lowest;  // place of the first bit
  const auto at = [&](int i) { return i >= 0 && i < wide_sum::words ? x.word[static_cast<std::size_t>(i)] : 0; };
  if (top < 0) return 0;
  const int shift = 63 - top % 64;
  return shift == 0 ? at(top / 64) : (at(top / 64) << shift) | (at(top / 64 - 1) >> (64 - shift));
}

constexpr int lsb_exponent(const wide_sum& x) noexcept {
  for (int i = 0; i < wide_sum::words; ++i)
    if (const std::uint64_t w = x.word[static_cast<std::size_t>(i)]; w != 0)
      return x.lowest + 64 * i + std::countr_zero(w);
  return x.exponent;
}

constexpr bool is_sticky(const wide_sum&) noexcept { return false; }

constexpr cut_magnitude cut_at(const wide_sum& x, int quantum) noexcept {
  cut_magnitude cut;
  const int kept_bits = x.exponent - quantum + 1;
  cut.kept = kept_bits > 0 ? bits_from(x, x.exponent) >> (64 - kept_bits) : 0;
  const std::uint64_t below = bits_from(x, quantum - 1);
  cut.round_bit = below >> 63 != 0;
  cut.sticky = below << 1 != 0 || lsb_exponent(x) < quantum - 64;
  return cut;
}

constexpr wide_sum::wide_sum(const unpacked& x, const unpacked& y) noexcept
    : negative(x.negative), lowest(std::min(lsb_exponent(x), lsb_exponent(y))) {
  const bool subtract = x.negative != y.negative;
  // Two's complement: subtracting is adding the complement and one.
  std::uint64_t carry = subtract ? 1 : 0;
  const auto add_to = [&carry](std::uint64_t a, std::uint64_t b) {
    const std::uint64_t partial = a + b;
    const std::uint64_t sum = partial + carry;
    carry = (partial < a || sum < partial) ? 1 : 0;
    return sum;
  };
  for (int i = 0; i < words; ++i) {
    const int weight = lowest + 64 * i + 63;
    const std::uint64_t b = bits_from(y, weight);
    word[static_cast<std::size_t>(i)] = add_to(bits_from(x, weight), subtract ? ~b : b);
  }
  if (subtract && carry == 0) {  // |x| < |y|
    negative = !negative;
    carry = 1;
    for (std::uint64_t& w : word) w = add_to(0, ~w);
  }
  set_exponent();
}

constexpr wide_sum::wide_sum(const std::array<std::uint64_t, words>& integer, int unit) noexcept
    : negative(integer.back() >> 63 != 0), lowest(unit), word(integer) {
  if (negative) {
    bool carry = true;
    for (std::uint64_t& w : word) {
      w = ~w + (carry ? 1 : 0);
      carry = carry && w == 0;
    }
  }
  set_exponent();
}

constexpr void wide_sum::set_exponent() noexcept {
  int top = words - 1;
  while (top > 0 && word[static_cast<std::size_t>(top)] == 0) --top;
  exponent = lowest + 64 * top + 63 - std::countl_zero(word[static_cast<std::size_t>(top)]);
}

}  // namespace ulp::detail

#endif
