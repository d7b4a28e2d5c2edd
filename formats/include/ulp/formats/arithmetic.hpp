// Arithmetic: the exact real result, rounded once, with flags.
//
// Each operation computes the exact result of its operands (as far as any rounding can see it) and rounds it by the same
// code as encode: every direction, stochastic rounding of the exact result included, five flags, tininess, FTZ, DAZ
// and saturation mean what rounding.hpp and codec.hpp say. Integer operations only (except for a first guess inside
// sqrt, which is then corrected), so results do not depend on the processor's rounding, flush-to-zero or
// denormals-are-zero state. Any mix of formats; operands are exact values of formats of at most 53 significand bits
// (decode's), not roundings of something else. constexpr, no exceptions, no allocation.
//
// Special cases, of every operation unless said otherwise:
//  - NaN operands: the result is the first NaN operand, quiet; a signaling one raises invalid (IEEE 754-2019, 6.2).
//  - invalid operations (7.2) give the canonical quiet NaN: inf - inf, 0 * inf, 0 / 0, inf / inf, sqrt of a negative
//    number, remainder of inf or by 0. fma(0, inf, z) is invalid also where z is a quiet NaN.
//  - an exact zero sum of opposite signs is +0, toward-negative -0 (6.3); -0 becomes 0 where the format has none.
//  - DAZ replaces subnormal operands by zeros of their sign before anything else, and raises nothing.
//  - an infinite result is delivered as encode delivers an infinity, so saturating it is the largest finite number with
//    overflow and inexact, and in a format with NaN only it is NaN and invalid; but
//  - x / 0 raises divide_by_zero and nothing else (7.3), and delivers what an overflow would: infinity, NaN where there
//    is none, the largest finite number when saturating or where there is neither.
#ifndef ULP_FORMATS_ARITHMETIC_HPP
#define ULP_FORMATS_ARITHMETIC_HPP

#include <compare>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <ulp/formats/codec.hpp>
#include <ulp/formats/detail/exact.hpp>
#include <ulp/formats/detail/special.hpp>
#include <ulp/formats/detail/wide.hpp>

namespace ulp {

// x + y, x - y, x * y, x / y rounded to the format `to`.
[[nodiscard]] constexpr encoded add(const format& to, const unpacked& x, const unpacked& y, const rounding& mode = {},
                                    random_input random = {}) noexcept;
[[nodiscard]] constexpr encoded sub(const format& to, const unpacked& x, const unpacked& y, const rounding& mode = {},
                                    random_input random = {}) noexcept;
[[nodiscard]] constexpr encoded mul(const format& to, const unpacked& x, const unpacked& y, const rounding& mode = {},
                                    random_input random = {}) noexcept;
[[nodiscard]] constexpr encoded div(const format& to, const unpacked& x, const unpacked& y, const rounding& mode = {},
                                    random_input random = {}) noexcept;
// x - n y with n the integer nearest to x / y, the even one of two (IEEE 754-2019, 5.3.1); a zero has the sign of x.
// Exact wherever `to` is the format of the operands and has subnormals, whatever the rounding.
[[nodiscard]] constexpr encoded rem(const format& to, const unpacked& x, const unpacked& y, const rounding& mode = {},
                                    random_input random = {}) noexcept;
// The square root; of -0 it is -0.
[[nodiscard]] constexpr encoded sqrt(const format& to, const unpacked& x, const rounding& mode = {},
                                     random_input random = {}) noexcept;
// x * y + z, rounded once.
[[nodiscard]] constexpr encoded fma(const format& to, const unpacked& x, const unpacked& y, const unpacked& z,
                                    const rounding& mode = {}, random_input random = {}) noexcept;

// The operations on codes, operands and result in one format.
[[nodiscard]] constexpr encoded add(const format& in, code a, code b, const rounding& mode = {},
                                    random_input random = {}) noexcept {
  return add(in, decode(in, a), decode(in, b), mode, random);
}
[[nodiscard]] constexpr encoded sub(const format& in, code a, code b, const rounding& mode = {},
                                    random_input random = {}) noexcept {
  return sub(in, decode(in, a), decode(in, b), mode, random);
}
[[nodiscard]] constexpr encoded mul(const format& in, code a, code b, const rounding& mode = {},
                                    random_input random = {}) noexcept {
  return mul(in, decode(in, a), decode(in, b), mode, random);
}
[[nodiscard]] constexpr encoded div(const format& in, code a, code b, const rounding& mode = {},
                                    random_input random = {}) noexcept {
  return div(in, decode(in, a), decode(in, b), mode, random);
}
[[nodiscard]] constexpr encoded rem(const format& in, code a, code b, const rounding& mode = {},
                                    random_input random = {}) noexcept {
  return rem(in, decode(in, a), decode(in, b), mode, random);
}
[[nodiscard]] constexpr encoded sqrt(const format& in, code a, const rounding& mode = {},
                                     random_input random = {}) noexcept {
  return sqrt(in, decode(in, a), mode, random);
}
[[nodiscard]] constexpr encoded fma(const format& in, code a, code b, code c, const rounding& mode = {},
                                    random_input random = {}) noexcept {
  return fma(in, decode(in, a), decode(in, b), decode(in, c), mode, random);
}

// A code of `from` as one of `to`.
[[nodiscard]] constexpr encoded convert(const format& to, const format& from, code of, const rounding& mode = {},
                                        random_input random = {}) noexcept {
  return encode(to, decode(from, of), mode, random);
}

// An integer as a code of `to`.
template <std::integral Int>
[[nodiscard]] constexpr encoded from_integer(const format& to, Int n, const rounding& mode = {},
                                             random_input random = {}) noexcept;

template <class Int>
struct rounded_integer {
  Int value = 0;
  status flags = status::none;
};

// A code rounded to an integer of 32 or 64 bits. Beyond the range of Int the nearest end of it, for NaN 0; both raise
// invalid and nothing else (IEEE 754-2019, 5.8). Of `mode` the direction, the random bits and DAZ count.
template <std::integral Int>
requires(sizeof(Int) == 4 || sizeof(Int) == 8)
    [[nodiscard]] constexpr rounded_integer<Int> to_integer(const format& from, code of, const rounding& mode = {},
                                                            random_input random = {}) noexcept;

struct comparison {
  std::partial_ordering order = std::partial_ordering::unordered;
  status flags = status::none;
};

// How two numbers of one format compare (IEEE 754-2019, 5.11): quiet raises invalid for signaling NaNs, as == does,
// signaling for every NaN, as < does. With `daz` subnormals are zeros.
[[nodiscard]] constexpr comparison compare_quiet(const format& in, code a, code b, bool daz = false) noexcept;
[[nodiscard]] constexpr comparison compare_signaling(const format& in, code a, code b, bool daz = false) noexcept;

// ---------------------------------------------------------------------------------------------------------------------

namespace detail {

// Whether exact_sum<std::uint64_t> of operands with room holds all that this rounding sees.
constexpr bool sums_in_64_bits(const format& to, const rounding& mode) noexcept {
  return to.precision() <= 24 && mode.random_bits != exact_probability;
}

[[gnu::always_inline]] constexpr encoded add_in_64_bits(const format& to, const unpacked& x, const unpacked& y,
                                                        const rounding& mode, random_input random) noexcept {
  const unpacked sum = exact_sum<std::uint64_t>(x, y, mode.direction == direction::toward_negative);
  if (is_zero(sum)) return encode_zero(to, sum.negative);
  return encode_finite(to, sum.negative, sum, mode, random);
}

// x + y for all operands and roundings.
constexpr encoded encode_sum(const format& to, const unpacked& x, const unpacked& y, const rounding& mode,
                             random_input random) noexcept {
  if (mode.random_bits == exact_probability && is_finite(x) && is_finite(y) && !fits_128_bits(x, y)) {
    const wide_sum sum{x, y};  // not zero: the operands are far apart
    return encode_finite(to, sum.negative, sum, mode, random);
  }
  return deliver(to, sum_of(x, y, mode.direction == direction::toward_negative), mode, random);
}

// Two finite operands that are taken as they are.
constexpr bool is_plain(const unpacked& x, const unpacked& y, const rounding& mode) noexcept {
  return is_finite(x) && is_finite(y) && !mode.daz;
}

// The operations where the fast paths below end.

constexpr encoded add_any(const format& to, const unpacked& x, const unpacked& y, const rounding& mode,
                          random_input random) noexcept {
  return encode_sum(to, as_operand(x, mode.daz), as_operand(y, mode.daz), mode, random);
}

constexpr encoded mul_any(const format& to, const unpacked& x, const unpacked& y, const rounding& mode,
                          random_input random) noexcept {
  return deliver(to, product_of(as_operand(x, mode.daz), as_operand(y, mode.daz)), mode, random);
}

constexpr encoded div_any(const format& to, const unpacked& x, const unpacked& y, const rounding& mode,
                          random_input random) noexcept {
  const unpacked& dividend = as_operand(x, mode.daz);
  const unpacked& divisor = as_operand(y, mode.daz);
  if (is_finite(dividend) && is_zero(divisor)) return encode_pole(to, x.negative != y.negative, mode);
  return deliver(to, quotient_of(dividend, divisor, to.precision()), with_finite_bits(mode), random);
}

constexpr encoded fma_any(const format& to, const unpacked& x, const unpacked& y, const unpacked& z,
                          const rounding& mode, random_input random) noexcept {
  const unpacked& addend = as_operand(z, mode.daz);
  return encode_sum(to, product_to_add(as_operand(x, mode.daz), as_operand(y, mode.daz), addend), addend, mode, random);
}

template <std::integral Int>
constexpr unpacked exact_integer(Int n) noexcept {
  if (n == 0) return {};
  const auto bits = static_cast<std::uint64_t>(n);  // of a negative number the sign goes on to the left
  bool negative = false;
  if constexpr (std::is_signed_v<Int>) negative = n < 0;
  const std::uint64_t magnitude = negative ? 0 - bits : bits;
  const int shift = std::countl_zero(magnitude);
  return {
      .kind = number_class::finite, .negative = negative, .exponent = 63 - shift, .significand = magnitude << shift};
}

constexpr comparison compare(const format& in, std::uint64_t a, std::uint64_t b, bool daz, bool signaling) noexcept {
  const unpacked x = as_operand(decode(in, a), daz);
  const unpacked y = as_operand(decode(in, b), daz);
  if (is_nan(x) || is_nan(y)) {
    const bool raises = signaling || x.signaling || y.signaling;
    return {std::partial_ordering::unordered, raises ? status::invalid : status::none};
  }
  // Codes order as magnitudes do; zeros are equal.
  const auto key = [&](const unpacked& n, std::uint64_t code) {
    const auto magnitude = is_zero(n) ? 0 : static_cast<std::int64_t>(code & in.magnitude_mask()) + 1;
    return n.negative ? -magnitude : magnitude;
  };
  return {key(x, a) <=> key(y, b), status::none};
}

}  // namespace detail

constexpr encoded add(const format& to, const unpacked& x, const unpacked& y, const rounding& mode,
                      random_input random) noexcept {
  expect_valid(mode);
  if (detail::is_plain(x, y, mode) && detail::sums_in_64_bits(to, mode)) [[likely]]
    return detail::add_in_64_bits(to, x, y, mode, random);
  return detail::add_any(to, x, y, mode, random);
}

constexpr encoded sub(const format& to, const unpacked& x, const unpacked& y, const rounding& mode,
                      random_input random) noexcept {
  unpacked minus_y = y;
  minus_y.negative = y.negative != (y.kind != number_class::nan);
  return add(to, x, minus_y, mode, random);
}

constexpr encoded mul(const format& to, const unpacked& x, const unpacked& y, const rounding& mode,
                      random_input random) noexcept {
  expect_valid(mode);
  if (detail::is_plain(x, y, mode)) [[likely]]
    return detail::encode_finite(to, x.negative != y.negative, detail::exact_product(x, y), mode, random);
  return detail::mul_any(to, x, y, mode, random);
}

constexpr encoded div(const format& to, const unpacked& x, const unpacked& y, const rounding& mode,
                      random_input random) noexcept {
  expect_valid(mode);
  if (detail::is_plain(x, y, mode) && mode.random_bits != exact_probability) [[likely]]
    return detail::encode_finite(to, x.negative != y.negative, detail::exact_quotient(x, y, to.precision()), mode,
                                 random);
  return detail::div_any(to, x, y, mode, random);
}

constexpr encoded rem(const format& to, const unpacked& x, const unpacked& y, const rounding& mode,
                      random_input random) noexcept {
  expect_valid(mode);
  const unpacked exact = detail::remainder_of(detail::as_operand(x, mode.daz), detail::as_operand(y, mode.daz));
  return detail::deliver(to, exact, mode, random);
}

constexpr encoded sqrt(const format& to, const unpacked& x, const rounding& mode, random_input random) noexcept {
  expect_valid(mode);
  if (mode.daz && x.subnormal) return detail::encode_zero(to, x.negative);  // the root of a zero is itself
  if (detail::has_no_root(x)) return detail::encode_special(to, detail::invalid_result, mode);
  if (!detail::is_finite(x)) return detail::encode_special(to, x, mode);
  return detail::encode_finite(to, false, detail::exact_root(x, to.precision()), detail::with_finite_bits(mode),
                               random);
}

constexpr encoded fma(const format& to, const unpacked& x, const unpacked& y, const unpacked& z, const rounding& mode,
                      random_input random) noexcept {
  expect_valid(mode);
  if (detail::is_plain(x, y, mode) && detail::is_finite(z) && detail::sums_in_64_bits(to, mode)) [[likely]] {
    const unpacked product = detail::exact_product(x, y);
    if (detail::fits_62_bits(product)) [[likely]]
      return detail::add_in_64_bits(to, product, z, mode, random);
  }
  return detail::fma_any(to, x, y, z, mode, random);
}

template <std::integral Int>
constexpr encoded from_integer(const format& to, Int n, const rounding& mode, random_input random) noexcept {
  return encode(to, detail::exact_integer(n), mode, random);
}

template <std::integral Int>
requires(sizeof(Int) == 4 || sizeof(Int) == 8) constexpr rounded_integer<Int> to_integer(const format& from, code of,
                                                                                         const rounding& mode,
                                                                                         random_input random) noexcept {
  expect_valid(mode);
  using limits = std::numeric_limits<Int>;
  const unpacked x = decode(from, of);
  if (detail::is_nan(x)) return {0, status::invalid};
  if (detail::is_zero(x) || (mode.daz && x.subnormal)) return {0, status::none};
  const rounded_integer<Int> end{x.negative ? limits::min() : limits::max(), status::invalid};
  if (detail::is_infinite(x) || x.exponent >= 64) return end;
  // Integers of 64 bits need no rounding, and are none of its business.
  const bool whole = x.exponent == 63;
  const detail::cut_magnitude cut = whole ? detail::cut_magnitude{x.significand} : detail::cut_at(x, 0);
  const std::uint64_t magnitude =
      cut.kept + (!whole && detail::rounds_up_at(x, 0, cut, x.negative, mode, random) ? 1 : 0);
  const auto largest = static_cast<std::uint64_t>(limits::max());
  const std::uint64_t limit = !x.negative ? largest : limits::is_signed ? largest + 1 : 0;
  if (magnitude > limit) return end;
  return {static_cast<Int>(x.negative ? 0 - magnitude : magnitude), cut.is_exact() ? status::none : status::inexact};
}

constexpr comparison compare_quiet(const format& in, code a, code b, bool daz) noexcept {
  return detail::compare(in, a, b, daz, false);
}
constexpr comparison compare_signaling(const format& in, code a, code b, bool daz) noexcept {
  return detail::compare(in, a, b, daz, true);
}

}  // namespace ulp

#endif
