// What a number format is: one row of data; every mask and limit is derived from it.
//
// A value is (-1)^sign * 2^(E - bias) * (1 + f / 2^fraction_bits) for a biased exponent field E > 0,
// and (-1)^sign * 2^(1 - bias) * f / 2^fraction_bits for E = 0 (zero and subnormals), as in IEEE 754-2019, 3.4.
// Codes are right-aligned in a std::uint64_t: sign, exponent field, fraction field from the top down.
// All functions are constexpr, do not throw and do not allocate. A format may be a template argument.
#ifndef ULP_FORMATS_FORMAT_HPP
#define ULP_FORMATS_FORMAT_HPP

#include <cstdint>

namespace ulp {

// What the top codes mean.
enum class specials : std::uint8_t {
  // All-ones exponent: infinity where the fraction is zero, NaN elsewhere; the top fraction bit set is a quiet NaN
  // (IEEE 754-2019, 3.4 and 6.2.1).
  ieee,
  // Only the all-ones code of either sign is NaN, there is no infinity
  // (OCP 8-bit Floating Point Specification 1.0, E4M3; arXiv 2209.05433).
  nan_all_ones,
};

struct format {
  int exponent_bits = 0;  // 2..11
  int fraction_bits = 0;  // 1..52, without the implicit bit
  int bias = 0;
  specials top = specials::ieee;

  friend constexpr bool operator==(const format&, const format&) = default;

  // Size of a code in bits: 3..64.
  [[nodiscard]] constexpr int width() const noexcept { return 1 + exponent_bits + fraction_bits; }
  // Significand bits including the implicit one.
  [[nodiscard]] constexpr int precision() const noexcept { return fraction_bits + 1; }

  [[nodiscard]] constexpr std::uint64_t fraction_mask() const noexcept {
    return (std::uint64_t{1} << fraction_bits) - 1;
  }
  // The exponent field at the foot of the word: also its largest value.
  [[nodiscard]] constexpr std::uint64_t exponent_field_mask() const noexcept {
    return (std::uint64_t{1} << exponent_bits) - 1;
  }
  [[nodiscard]] constexpr std::uint64_t sign_mask() const noexcept { return std::uint64_t{1} << (width() - 1); }
  [[nodiscard]] constexpr std::uint64_t magnitude_mask() const noexcept { return sign_mask() - 1; }
  [[nodiscard]] constexpr std::uint64_t code_mask() const noexcept { return sign_mask() | magnitude_mask(); }

  // Exponent of the smallest normal number, 2^emin.
  [[nodiscard]] constexpr int emin() const noexcept { return 1 - bias; }
  // Exponent of the largest finite number: its binade is [2^emax, 2^(emax+1)).
  [[nodiscard]] constexpr int emax() const noexcept {
    return static_cast<int>(exponent_field_mask()) - bias - (top == specials::ieee ? 1 : 0);
  }
  // Exponent of the unit in the last place of subnormals and of the smallest binade: the smallest subnormal is 2^this.
  [[nodiscard]] constexpr int min_subnormal_exponent() const noexcept { return emin() - fraction_bits; }

  [[nodiscard]] constexpr bool has_infinity() const noexcept { return top == specials::ieee; }

  // Positive codes; or in sign_mask() for the negative ones.
  [[nodiscard]] constexpr std::uint64_t max_finite_code() const noexcept {
    return top == specials::ieee ? (exponent_field_mask() << fraction_bits) - 1 : magnitude_mask() - 1;
  }
  [[nodiscard]] constexpr std::uint64_t min_normal_code() const noexcept { return fraction_mask() + 1; }
  // Precondition: has_infinity().
  [[nodiscard]] constexpr std::uint64_t infinity_code() const noexcept {
    return exponent_field_mask() << fraction_bits;
  }
  // The canonical quiet NaN.
  [[nodiscard]] constexpr std::uint64_t nan_code() const noexcept {
    return top == specials::ieee ? infinity_code() | quiet_bit() : magnitude_mask();
  }
  // The fraction bit that tells quiet from signaling NaNs (specials::ieee).
  [[nodiscard]] constexpr std::uint64_t quiet_bit() const noexcept { return std::uint64_t{1} << (fraction_bits - 1); }
};

}  // namespace ulp

#endif
