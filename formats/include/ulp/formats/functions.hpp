// The functions beside arithmetic that IEEE 754-2019 asks for, on codes of any one format: neighbours in a direction,
// minima and maxima, scaling, exponents, rounding to an integer. Exact, or rounded once, with flags.
//
// NaN operands, DAZ and overflow as in arithmetic.hpp: the first NaN operand comes back quiet, a signaling one raises
// invalid. A result that the format does not have is rounded as `mode` says. constexpr, no exceptions, no allocation.
#ifndef ULP_FORMATS_FUNCTIONS_HPP
#define ULP_FORMATS_FUNCTIONS_HPP

#include <bit>
#include <cstdint>
#include <limits>

#include <ulp/formats/arithmetic.hpp>
#include <ulp/formats/code.hpp>
#include <ulp/formats/codec.hpp>
#include <ulp/formats/format.hpp>
#include <ulp/formats/neighbours.hpp>
#include <ulp/formats/rounding.hpp>
#include <ulp/formats/status.hpp>

namespace ulp {

// The neighbour of a on the side of b, b where they are equal (C17, 7.12.11.3). Flags as C17, F.10.8.3: overflow and
// inexact where a finite number goes to infinity, underflow and inexact where the result is subnormal or zero and a is
// not b. Ends that are not infinite, and zeros: next_up and next_down.
[[nodiscard]] constexpr encoded nextafter(const format& in, code a, code b) noexcept;

// 9.6: -0 is below +0. min and max (minimum, maximum): NaN where an operand is. fmin and fmax (minimumNumber,
// maximumNumber): the number where one operand is NaN, which raises invalid where it signals, and NaN where both are.
[[nodiscard]] constexpr encoded min(const format& in, code a, code b) noexcept;
[[nodiscard]] constexpr encoded max(const format& in, code a, code b) noexcept;
[[nodiscard]] constexpr encoded fmin(const format& in, code a, code b) noexcept;
[[nodiscard]] constexpr encoded fmax(const format& in, code a, code b) noexcept;

// a * 2^n rounded once (5.3.3, scaleB), for every n.
[[nodiscard]] constexpr encoded scalbn(const format& in, code a, int n, const rounding& mode = {},
                                       random_input random = {}) noexcept;

// The exponent e of 2^e <= |a| < 2^(e+1), of subnormals too (5.3.3, logB), rounded to the format. Of zero -infinity and
// divide_by_zero, delivered as by x / 0; of infinities +infinity.
[[nodiscard]] constexpr encoded logb(const format& in, code a, const rounding& mode = {},
                                     random_input random = {}) noexcept;
// The exponent as logb has it, as an integer. Of zero and NaN its least value, of infinities its largest, all with invalid.
[[nodiscard]] constexpr rounded_integer<std::int32_t> ilogb(const format& in, code a, bool daz = false) noexcept;

// a = fraction * 2^exponent with 1/2 <= |fraction| < 1; a itself and exponent 0 where that is zero, infinite or NaN.
// The fraction is exact where the format has 1/2 and the binade above it, as all of the catalogue have but E2M1 and
// E2M3, and is rounded elsewhere.
struct fraction_and_exponent {
  encoded fraction;
  int exponent = 0;
};
[[nodiscard]] constexpr fraction_and_exponent frexp(const format& in, code a, const rounding& mode = {},
                                                    random_input random = {}) noexcept;

// a rounded to an integer in the direction of `mode` (5.3.1, roundToIntegralExact): inexact where it was none, a zero has
// the sign of a. An integer beyond the largest number overflows: 8 in float6_e2m3, 1 in formats that end below it.
[[nodiscard]] constexpr encoded rint(const format& in, code a, const rounding& mode = {},
                                     random_input random = {}) noexcept;
// Rounded to an integer as rint does, in one direction, and without inexact where the integer is one of the format's (5.9): toward negative,
// positive, zero, to nearest with ties away from zero, to nearest with ties to even. All else is as `mode` says.
[[nodiscard]] constexpr encoded floor(const format& in, code a, const rounding& mode = {}) noexcept;
[[nodiscard]] constexpr encoded ceil(const format& in, code a, const rounding& mode = {}) noexcept;
[[nodiscard]] constexpr encoded trunc(const format& in, code a, const rounding& mode = {}) noexcept;
[[nodiscard]] constexpr encoded round(const format& in, code a, const rounding& mode = {}) noexcept;
[[nodiscard]] constexpr encoded roundeven(const format& in, code a, const rounding& mode = {}) noexcept;

// ---------------------------------------------------------------------------------------------------------------------

namespace detail {

// In the order of 9.6, where -0 is below +0: neither is NaN.
constexpr bool is_below(const format& in, std::uint64_t a, std::uint64_t b) noexcept {
  const std::int64_t x = place_of(in, a);
  const std::int64_t y = place_of(in, b);
  return x != y ? x < y : (a & in.sign_mask()) > (b & in.sign_mask());
}

// The one of a and b that is below, or above, the other. `number` before NaN, or after it.
constexpr encoded extreme(const format& in, std::uint64_t a, std::uint64_t b, bool below, bool number_first) noexcept {
  const unpacked x = decode(in, a);
  const unpacked y = decode(in, b);
  a &= in.code_mask();
  b &= in.code_mask();
  if (!is_nan(x) && !is_nan(y)) return {is_below(in, a, b) == below ? a : b, status::none};
  if (!number_first || (is_nan(x) && is_nan(y))) return encode(in, first_nan(x, y));
  return {is_nan(x) ? b : a, x.signaling || y.signaling ? status::invalid : status::none};
}

constexpr encoded to_integral(const format& in, std::uint64_t a, const rounding& mode, random_input random) noexcept {
  const unpacked x = decode(in, a);
  if (x.kind != number_class::finite || x.exponent >= 63 || (mode.daz && x.subnormal))
    return encode(in, x, mode, random);
  const cut_magnitude cut = cut_at(x, 0);
  const std::uint64_t magnitude = cut.kept + (rounds_up_at(x, 0, cut, x.negative, mode, random) ? 1 : 0);
  const status lost = cut.is_exact() ? status::none : status::inexact;
  if (magnitude == 0) return encode_zero(in, x.negative, lost);
  const int shift = std::countl_zero(magnitude);
  const unpacked integer{
      .kind = number_class::finite, .negative = x.negative, .exponent = 63 - shift, .significand = magnitude << shift};
  const encoded delivered = encode(in, integer, mode);
  return {delivered.code, delivered.flags | lost};
}

constexpr encoded to_integral_quietly(const format& in, std::uint64_t a, rounding mode, direction way) noexcept {
  expect_valid(mode);
  mode.direction = way;
  const encoded e = to_integral(in, a, mode, {});
  return e.flags == status::inexact ? encoded{e.code, status::none} : e;
}

}  // namespace detail

constexpr encoded nextafter(const format& in, code a, code b) noexcept {
  const unpacked x = decode(in, a);
  const unpacked y = decode(in, b);
  if (detail::is_nan(x) || detail::is_nan(y)) return encode(in, detail::first_nan(x, y));
  const std::int64_t from = detail::place_of(in, a);
  const std::int64_t to = detail::place_of(in, b);
  if (from == to) return {b & in.code_mask(), status::none};
  const std::uint64_t next = from < to ? next_up(in, a) : next_down(in, a);
  const unpacked z = decode(in, next);
  if (detail::is_infinite(z) && !detail::is_infinite(x)) return {next, status::overflow | status::inexact};
  if (z.subnormal || detail::is_zero(z)) return {next, status::underflow | status::inexact};
  return {next, status::none};
}

constexpr encoded min(const format& in, code a, code b) noexcept { return detail::extreme(in, a, b, true, false); }
constexpr encoded max(const format& in, code a, code b) noexcept { return detail::extreme(in, a, b, false, false); }
constexpr encoded fmin(const format& in, code a, code b) noexcept { return detail::extreme(in, a, b, true, true); }
constexpr encoded fmax(const format& in, code a, code b) noexcept { return detail::extreme(in, a, b, false, true); }

constexpr encoded scalbn(const format& in, code a, int n, const rounding& mode, random_input random) noexcept {
  // More than from the smallest subnormal number of float64 to the largest, and as much further as bits are looked at.
  constexpr int most = 5000;
  return encode(in, scaled(decode(in, a), n < -most ? -most : n > most ? most : n), mode, random);
}

constexpr encoded logb(const format& in, code a, const rounding& mode, random_input random) noexcept {
  expect_valid(mode);
  const unpacked x = decode(in, a);
  if (detail::is_nan(x)) return encode(in, x, mode);
  if (detail::is_infinite(x)) return detail::encode_infinity(in, false, mode);
  if (detail::is_zero(x) || (mode.daz && x.subnormal)) return detail::encode_pole(in, true, mode);
  return from_integer(in, x.exponent, mode, random);
}

constexpr rounded_integer<std::int32_t> ilogb(const format& in, code a, bool daz) noexcept {
  const unpacked x = detail::as_operand(decode(in, a), daz);
  if (x.kind == number_class::finite) return {x.exponent, status::none};
  using limits = std::numeric_limits<std::int32_t>;
  return {detail::is_infinite(x) ? limits::max() : limits::min(), status::invalid};
}

constexpr fraction_and_exponent frexp(const format& in, code a, const rounding& mode, random_input random) noexcept {
  unpacked x = decode(in, a);
  if (x.kind != number_class::finite || (mode.daz && x.subnormal)) return {encode(in, x, mode, random), 0};
  const int exponent = x.exponent + 1;
  x.exponent = -1;
  x.subnormal = false;
  return {encode(in, x, mode, random), exponent};
}

constexpr encoded rint(const format& in, code a, const rounding& mode, random_input random) noexcept {
  expect_valid(mode);
  return detail::to_integral(in, a, mode, random);
}
constexpr encoded floor(const format& in, code a, const rounding& mode) noexcept {
  return detail::to_integral_quietly(in, a, mode, direction::toward_negative);
}
constexpr encoded ceil(const format& in, code a, const rounding& mode) noexcept {
  return detail::to_integral_quietly(in, a, mode, direction::toward_positive);
}
constexpr encoded trunc(const format& in, code a, const rounding& mode) noexcept {
  return detail::to_integral_quietly(in, a, mode, direction::toward_zero);
}
constexpr encoded round(const format& in, code a, const rounding& mode) noexcept {
  return detail::to_integral_quietly(in, a, mode, direction::nearest_away);
}
constexpr encoded roundeven(const format& in, code a, const rounding& mode) noexcept {
  return detail::to_integral_quietly(in, a, mode, direction::nearest_even);
}

}  // namespace ulp

#endif
