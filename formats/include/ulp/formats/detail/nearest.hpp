// Add, multiply, divide and fma of codes, and numbers of float and double to codes, rounded to nearest, without flags: the
// value type's shortcut, a second implementation of what arithmetic.hpp and codec.hpp do, proved equal to them by tests. For signed formats with subnormals and at most 10 fraction
// bits; the format is a template argument, so that all its masks are constants.
//
// A finite code is an integer s of at most 11 bits, times 2^e units, the unit being the smallest subnormal: field E and
// fraction f give s = f, e = 0 for E = 0, else s = f + 2^M, e = E - 1. Sums and products of such integers are exact in
// 64 bits except for addends too far below to be seen. The one use of floating point is the exact conversion of an integer
// of 50 bits to double. Nothing but rare codes is decided by a branch.
#ifndef ULP_FORMATS_DETAIL_NEAREST_HPP
#define ULP_FORMATS_DETAIL_NEAREST_HPP

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <ulp/formats/arithmetic.hpp>
#include <ulp/formats/format.hpp>
#include <ulp/formats/rounding.hpp>

namespace ulp::detail {

constexpr bool has_shortcut(const format& f) noexcept {
  return f.has_sign && f.has_subnormals() && f.fraction_bits <= 10;
}

template <format F, direction Nearest>
struct nearest {
  static_assert(has_shortcut(F) && (Nearest == direction::nearest_even || Nearest == direction::nearest_away));
  static constexpr rounding mode{.direction = Nearest};
  static constexpr int fraction_bits = F.fraction_bits;
  static constexpr int unit_exponent = F.min_quantum_exponent();
  // Zeros below the last bit of an integer. With products of 22 bits and a carry 61 bits are in use.
  static constexpr int guard = 38;

  // max(n, 0) and min(n, most), which compilers like to make branches of.
  static constexpr int at_least_0(int n) noexcept { return n & ~(n >> 31); }
  static constexpr int at_most(int n, int most) noexcept { return most - at_least_0(most - n); }

  // Infinity and NaN.
  static constexpr bool is_rare(std::uint64_t a) noexcept {
    if (F.nan_is_negative_zero() && a == F.nan_code()) return true;
    return (a & F.magnitude_mask()) > F.last_number_code();
  }

  struct integer {
    std::uint64_t significand;
    int exponent;
  };
  static constexpr integer magnitude_of(std::uint64_t a) noexcept {
    const std::uint64_t magnitude = a & F.magnitude_mask();
    const std::uint64_t field = magnitude >> fraction_bits;
    const std::uint64_t exponent = field - 1 + (field < 1 ? 1 : 0);
    return {magnitude - (exponent << fraction_bits), static_cast<int>(exponent)};
  }

  static constexpr std::uint64_t with_sign(std::uint64_t n, std::uint64_t negative) noexcept {
    return (n ^ (0 - negative)) + negative;
  }
  static constexpr std::uint64_t sign_of(std::uint64_t a) noexcept {
    return (a >> (F.exponent_bits + fraction_bits)) & 1;
  }

  // n 2^exponent units, 0 < n < 2^62, exponent >= -63, of which one place at least is cut off.
  static constexpr std::uint64_t round(std::uint64_t n, int exponent) noexcept {
    // The binade of the result, counted from that of the subnormals and the smallest normal numbers, 0.
    const int top = 63 - std::countl_zero(n);
    const int binade = at_least_0(top - fraction_bits + exponent);
    const int cut = binade - exponent;
    std::uint64_t half = std::uint64_t{1} << (cut - 1);
    if constexpr (Nearest == direction::nearest_even) half -= 1 - ((n >> cut) & 1);
    // The implicit bit makes up for the field being larger by one than the binade; a carry runs into the field.
    return (static_cast<std::uint64_t>(binade) << fraction_bits) + ((n + half) >> cut);
  }

  static constexpr std::uint64_t deliver(std::uint64_t magnitude, std::uint64_t negative) noexcept {
    constexpr std::uint64_t beyond = F.has_infinity() ? F.infinity_code()
                                     : F.has_nan()    ? F.nan_code()
                                                      : F.max_finite_code();
    const std::uint64_t sign = negative << (F.exponent_bits + fraction_bits);
    if constexpr (F.nan_is_negative_zero()) {
      if (magnitude > F.max_finite_code()) return F.has_infinity() ? beyond | sign : beyond;
      return magnitude | (magnitude != 0 ? sign : 0);
    }
    if constexpr (beyond > F.max_finite_code() + 1)
      return (magnitude > F.max_finite_code() ? beyond : magnitude) | sign;
    return std::min(magnitude, beyond) | sign;
  }

  // |x| and |y| with their signs: added. An addend whose bits do not fit below the other's is moved up to the last
  // place, where it stays far below half a unit in the last place of the result.
  static constexpr std::uint64_t sum(integer x, std::uint64_t x_negative, integer y,
                                     std::uint64_t y_negative) noexcept {
    const int distance = x.exponent - y.exponent;
    const int y_below = at_least_0(distance);
    const int x_below = y_below - distance;
    const std::uint64_t a = (x.significand << guard) >> at_most(x_below, guard);
    const std::uint64_t b = (y.significand << guard) >> at_most(y_below, guard);
    const std::uint64_t opposite = x_negative ^ y_negative;
    const std::uint64_t total = a + with_sign(b, opposite);
    if (total == 0) return deliver(0, x_negative & y_negative);
    const std::uint64_t below_zero = total >> 63;
    return deliver(round(with_sign(total, below_zero), x.exponent + x_below - guard), x_negative ^ below_zero);
  }

  // A zero is a small number: it may not push the other summand down.
  static constexpr integer product(integer x, integer y) noexcept {
    const std::uint64_t significand = x.significand * y.significand;
    return {significand, significand != 0 ? x.exponent + y.exponent + unit_exponent : 0};
  }

  static constexpr std::uint64_t add(std::uint64_t a, std::uint64_t b) noexcept {
    // The larger first. What the smaller one loses would not show: the larger is a number of the format.
    const bool less = (a & F.magnitude_mask()) < (b & F.magnitude_mask());
    const std::uint64_t swap = (a ^ b) & (0 - std::uint64_t{less ? 1u : 0u});
    const std::uint64_t large = a ^ swap;
    const std::uint64_t small = b ^ swap;
    if (is_rare(large) || (F.nan_is_negative_zero() && is_rare(small))) [[unlikely]]
      return ulp::add(F, a, b, mode).code;
    const integer x = magnitude_of(large);
    const integer y = magnitude_of(small);
    const int distance = x.exponent - y.exponent;
    constexpr bool any_distance_fits = F.exponent_field_mask() <= 63;
    const std::uint64_t below = (y.significand << guard) >> (any_distance_fits ? distance : at_most(distance, 63));
    const std::uint64_t total = (x.significand << guard) + with_sign(below, sign_of(a ^ b));
    if (total == 0) [[unlikely]]
      return deliver(0, sign_of(a & b));
    // At most 50 bits, hence exact as a double, whose exponent tells the binade. Its last place is that of the format but
    // for subnormals, which are exact.
    constexpr int cut = 52 - fraction_bits;
    const std::uint64_t bits = std::bit_cast<std::uint64_t>(static_cast<double>(static_cast<std::int64_t>(total)));
    std::uint64_t half = std::uint64_t{1} << (cut - 1);
    if constexpr (Nearest == direction::nearest_even) half -= 1 - ((bits >> cut) & 1);
    const auto binades = static_cast<std::uint64_t>(x.exponent - guard - fraction_bits + 1 - 1023);
    const std::uint64_t normal = ((bits + half) >> cut) + (binades << fraction_bits);
    const std::uint64_t subnormal = total >> ((guard - x.exponent) & 63);
    return deliver(static_cast<std::int64_t>(normal) < static_cast<std::int64_t>(F.min_normal_code()) ? subnormal
                                                                                                      : normal,
                   sign_of(large));
  }

  static constexpr std::uint64_t mul(std::uint64_t a, std::uint64_t b) noexcept {
    if (is_rare(a) || is_rare(b)) [[unlikely]]
      return ulp::mul(F, a, b, mode).code;
    const integer exact = product(magnitude_of(a), magnitude_of(b));
    const std::uint64_t negative = sign_of(a) ^ sign_of(b);
    if (exact.significand == 0) return deliver(0, negative);
    // Deeper than that everything rounds to zero.
    const int exponent = -at_most(guard - exact.exponent, 63);
    return deliver(round(exact.significand << guard, exponent), negative);
  }

  static constexpr std::uint64_t div(std::uint64_t a, std::uint64_t b) noexcept {
    const integer x = magnitude_of(a);
    const integer y = magnitude_of(b);
    if (is_rare(a) || is_rare(b) || y.significand == 0) [[unlikely]]
      return ulp::div(F, a, b, mode).code;
    const std::uint64_t negative = sign_of(a) ^ sign_of(b);
    if (x.significand == 0) return deliver(0, negative);
    // At least fraction_bits + 3 bits of the quotient, and one for the rest.
    constexpr int more = 2 * fraction_bits + 3;
    const std::uint64_t dividend = x.significand << more;
    const std::uint64_t quotient = dividend / y.significand;
    const std::uint64_t rest = dividend - quotient * y.significand;
    const int exponent = x.exponent - y.exponent - unit_exponent - more - 1;
    // Deeper than that everything rounds to zero.
    return deliver(round((quotient << 1) | (rest != 0 ? 1 : 0), -at_most(-exponent, 63)), negative);
  }

  // The binades of Number reach down to the format's subnormals.
  template <class Number>
  static constexpr bool takes() noexcept {
    return F.emin() >= std::numeric_limits<Number>::min_exponent - 1;
  }

  template <class Number>
  static constexpr std::uint64_t of_number(Number x) noexcept {
    using bits = std::conditional_t<sizeof(Number) == 4, std::uint32_t, std::uint64_t>;
    constexpr int width = 8 * sizeof(bits);
    constexpr int all_fraction_bits = std::numeric_limits<Number>::digits - 1;
    constexpr bits implicit = bits{1} << all_fraction_bits;
    constexpr bits infinity = (~bits{0} >> 1) - (implicit - 1);
    constexpr int lowest = F.emin() - std::numeric_limits<Number>::min_exponent + 2;  // field of the lowest binade
    const bits number = std::bit_cast<bits>(x);
    const bits magnitude = number & (~bits{0} >> 1);
    if (magnitude >= infinity) [[unlikely]]
      return encode(F, x, mode).code;
    const bits field_in_place = std::max(magnitude, implicit) & infinity;
    const bits significand = magnitude - field_in_place + implicit;
    const int field = static_cast<int>(field_in_place >> all_fraction_bits);
    const int binade = lowest + at_least_0(field - lowest);
    // By one less than the width nothing is left.
    const int cut = at_most(binade - field + all_fraction_bits - fraction_bits, width - 1);
    bits half = bits{1} << (cut - 1);
    if constexpr (Nearest == direction::nearest_even) half -= 1 - ((significand >> cut) & 1);
    const bits kept = (significand + half) >> cut;
    return deliver((static_cast<std::uint64_t>(binade - lowest) << fraction_bits) + kept, number >> (width - 1));
  }

  static constexpr std::uint64_t fma(std::uint64_t a, std::uint64_t b, std::uint64_t c) noexcept {
    if (is_rare(a) || is_rare(b) || is_rare(c)) [[unlikely]]
      return ulp::fma(F, a, b, c, mode).code;
    return sum(product(magnitude_of(a), magnitude_of(b)), sign_of(a) ^ sign_of(b), magnitude_of(c), sign_of(c));
  }
};

}  // namespace ulp::detail

#endif
