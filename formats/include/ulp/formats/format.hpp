// What a number format is: one row of data; every mask and limit is derived from it.
//
// A value is (-1)^sign * 2^(E - bias) * (1 + f / 2^fraction_bits) for a biased exponent field E > 0. What E = 0 means is
// `bottom`; for IEEE-style formats it is (-1)^sign * 2^(1 - bias) * f / 2^fraction_bits, zero and subnormals
// (IEEE 754-2019, 3.4). Codes are right-aligned in a std::uint64_t: sign, exponent field, fraction field from the top
// down. All functions are constexpr, do not throw and do not allocate. A format may be a template argument.
#ifndef ULP_FORMATS_FORMAT_HPP
#define ULP_FORMATS_FORMAT_HPP

#include <cstdint>

#ifndef __SIZEOF_INT128__
static_assert(sizeof(void*) >= 8, "ulpscope needs unsigned __int128, so a 64-bit target: no -m32");
#endif

namespace ulp {

// What the top codes mean.
enum class specials : std::uint8_t {
  // All-ones exponent: infinity where the fraction is zero, NaN elsewhere; the top fraction bit set is a quiet NaN
  // (IEEE 754-2019, 3.4 and 6.2.1).
  ieee,
  // Only the all-ones code of either sign is NaN, there is no infinity
  // (OCP 8-bit Floating Point Specification 1.0, E4M3; arXiv 2209.05433).
  nan_all_ones,
  // The code of negative zero is the one NaN; there is neither infinity nor a negative zero (arXiv 2206.02915).
  nan_negative_zero,
  // Every code is a finite number (OCP Microscaling Formats 1.0, 5.3.2 and 5.3.3).
  none,
  // As nan_negative_zero, but the all-ones magnitude is infinity (IEEE P3109 interim report 4.0, the extended domain).
  nan_negative_zero_and_infinity,
};

// What the exponent field 0 means.
enum class lowest_binade : std::uint8_t {
  subnormals,           // zero and subnormals, gradual underflow
  normals_and_zero,     // an ordinary binade, but the fraction 0 is zero (DLFloat16)
  normals_without_zero  // an ordinary binade; there is no zero (E8M0)
};

struct format {
  int exponent_bits = 0;  // 2..11
  int fraction_bits = 0;  // 0..52, without the implicit bit; 0 only without zero and sign
  int bias = 0;
  specials top = specials::ieee;
  lowest_binade bottom = lowest_binade::subnormals;
  bool has_sign = true;  // without: no negative numbers, and no sign bit in the code
  // How many of the largest numbers no rounding delivers: results end below them. Their codes are numbers still.
  std::uint64_t withheld = 0;

  friend constexpr bool operator==(const format&, const format&) = default;

  // Whether the numbers above are in range, the special codes have a place, and every finite number is one of float64's,
  // which they are for the bias 2^(exponent_bits - 1) - 1 and those not far from it.
  [[nodiscard]] constexpr bool is_valid() const noexcept {
    // Infinity and NaN share an exponent, so there they take a fraction bit.
    const bool one_bit = fraction_bits == 0 && !has_sign && !has_zero() && top != specials::ieee;
    if (nan_is_negative_zero() && !(has_sign && has_zero())) return false;
    return exponent_bits >= 2 && exponent_bits <= 11 && (fraction_bits >= 1 || one_bit) && fraction_bits <= 52 &&
           withheld <= last_number_code() - min_normal_code() && last_exponent() <= 1023 &&
           min_quantum_exponent() >= -1074;
  }

  // Size of a code in bits: 2..64.
  [[nodiscard]] constexpr int width() const noexcept { return (has_sign ? 1 : 0) + exponent_bits + fraction_bits; }
  // Significand bits including the implicit one.
  [[nodiscard]] constexpr int precision() const noexcept { return fraction_bits + 1; }

  [[nodiscard]] constexpr std::uint64_t fraction_mask() const noexcept {
    return (std::uint64_t{1} << fraction_bits) - 1;
  }
  // The exponent field at the foot of the word: also its largest value.
  [[nodiscard]] constexpr std::uint64_t exponent_field_mask() const noexcept {
    return (std::uint64_t{1} << exponent_bits) - 1;
  }
  [[nodiscard]] constexpr std::uint64_t magnitude_mask() const noexcept {
    return (std::uint64_t{1} << (exponent_bits + fraction_bits)) - 1;
  }
  // Zero for a format without sign.
  [[nodiscard]] constexpr std::uint64_t sign_mask() const noexcept { return has_sign ? magnitude_mask() + 1 : 0; }
  // Without a branch on the sign, which is as good as random.
  [[nodiscard]] constexpr std::uint64_t sign_code(bool negative) const noexcept {
    return (std::uint64_t{negative ? 1u : 0u} << (exponent_bits + fraction_bits)) & sign_mask();
  }
  [[nodiscard]] constexpr std::uint64_t code_mask() const noexcept { return sign_mask() | magnitude_mask(); }

  [[nodiscard]] constexpr bool has_infinity() const noexcept {
    return top == specials::ieee || top == specials::nan_negative_zero_and_infinity;
  }
  [[nodiscard]] constexpr bool nan_is_negative_zero() const noexcept {
    return top == specials::nan_negative_zero || top == specials::nan_negative_zero_and_infinity;
  }
  [[nodiscard]] constexpr bool has_nan() const noexcept { return top != specials::none; }
  [[nodiscard]] constexpr bool has_zero() const noexcept { return bottom != lowest_binade::normals_without_zero; }
  [[nodiscard]] constexpr bool has_negative_zero() const noexcept {
    return has_sign && has_zero() && !nan_is_negative_zero();
  }
  [[nodiscard]] constexpr bool has_subnormals() const noexcept { return bottom == lowest_binade::subnormals; }

  // Exponent of the smallest normal binade, [2^emin, 2^(emin+1)).
  [[nodiscard]] constexpr int emin() const noexcept { return (has_subnormals() ? 1 : 0) - bias; }
  // Exponent of the largest result, max_finite_code(): its binade is [2^emax, 2^(emax+1)).
  [[nodiscard]] constexpr int emax() const noexcept {
    return static_cast<int>(max_finite_code() >> fraction_bits) - bias;
  }
  // Exponent of the last number, last_number_code(), which an operand may have.
  [[nodiscard]] constexpr int last_exponent() const noexcept {
    return static_cast<int>(last_number_code() >> fraction_bits) - bias;
  }
  // Exponent of the unit in the last place of the smallest binade, and of the subnormals where there are any: then the
  // smallest subnormal is 2^this.
  [[nodiscard]] constexpr int min_quantum_exponent() const noexcept { return emin() - fraction_bits; }

  // Positive codes; or in sign_mask() for the negative ones.
  // The last one that is a number: codes above it are infinity and NaN.
  [[nodiscard]] constexpr std::uint64_t last_number_code() const noexcept {
    const bool one_special = top == specials::nan_all_ones || top == specials::nan_negative_zero_and_infinity;
    return magnitude_mask() - (top == specials::ieee ? fraction_mask() + 1 : one_special ? 1 : 0);
  }
  // The largest finite number that a rounding delivers.
  [[nodiscard]] constexpr std::uint64_t max_finite_code() const noexcept { return last_number_code() - withheld; }
  // The smallest number above zero.
  [[nodiscard]] constexpr std::uint64_t min_positive_code() const noexcept { return has_zero() ? 1 : 0; }
  [[nodiscard]] constexpr std::uint64_t min_normal_code() const noexcept {
    return has_subnormals() ? fraction_mask() + 1 : min_positive_code();
  }
  // Precondition: has_infinity().
  [[nodiscard]] constexpr std::uint64_t infinity_code() const noexcept {
    return top == specials::ieee ? exponent_field_mask() << fraction_bits : magnitude_mask();
  }
  // The canonical quiet NaN. Precondition: has_nan().
  [[nodiscard]] constexpr std::uint64_t nan_code() const noexcept {
    switch (top) {
      case specials::ieee: return infinity_code() | quiet_bit();
      case specials::nan_negative_zero:
      case specials::nan_negative_zero_and_infinity: return sign_mask();
      case specials::nan_all_ones:
      case specials::none: break;
    }
    return magnitude_mask();
  }
  // The fraction bit that distinguishes quiet from signaling NaNs (specials::ieee).
  [[nodiscard]] constexpr std::uint64_t quiet_bit() const noexcept { return std::uint64_t{1} << (fraction_bits - 1); }
};

// IEEE-style, with infinities, NaNs, subnormals and the bias 2^(exponent_bits - 1) - 1: what the name e<E>m<M> means.
[[nodiscard]] constexpr format ieee_format(int exponent_bits, int fraction_bits) noexcept {
  return {.exponent_bits = exponent_bits, .fraction_bits = fraction_bits, .bias = (1 << (exponent_bits - 1)) - 1};
}

}  // namespace ulp

#endif
