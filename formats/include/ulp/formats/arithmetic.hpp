// Arithmetic: the exact real result, rounded once, with flags.
//
// Each operation computes the exact result of its operands (as far as any rounding can see it) and rounds it by the same
// code as encode: every direction, stochastic rounding of the exact result included, five flags, tininess, FTZ, DAZ
// and saturation mean what rounding.hpp and codec.hpp say. Integer operations only (but for a first guess inside
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

#include <ulp/formats/codec.hpp>
#include <ulp/formats/detail/exact.hpp>
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

// The same of codes, operands and result in one format.
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
[[nodiscard]] constexpr encoded from_integer(const format& to, std::int64_t n, const rounding& mode = {},
                                             random_input random = {}) noexcept;

template <class Int>
struct rounded_integer {
  Int value = 0;
  status flags = status::none;
};

// A code rounded to an integer. Beyond the range of Int the nearest end of it, for NaN 0; both raise invalid and
// nothing else (IEEE 754-2019, 5.8). Of `mode` the direction, the random bits and DAZ count.
template <class Int>
requires std::same_as<Int, std::int32_t> || std::same_as<Int, std::int64_t>
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

constexpr unpacked without_subnormal(unpacked x) noexcept {
  if (x.subnormal) return {.kind = number_class::zero, .negative = x.negative};
  return x;
}

constexpr bool is_nan(const unpacked& x) noexcept { return x.kind == number_class::nan; }
constexpr bool is_zero(const unpacked& x) noexcept { return x.kind == number_class::zero; }
constexpr bool is_infinite(const unpacked& x) noexcept { return x.kind == number_class::infinity; }

constexpr encoded invalid_operation(const format& to) noexcept { return encode_nan(to, false, 0, status::invalid); }

// The first NaN of the operands, one of which is.
constexpr encoded propagated(const format& to, const unpacked& x, const unpacked& y, const unpacked& z = {}) noexcept {
  const unpacked& nan = is_nan(x) ? x : is_nan(y) ? y : z;
  const bool signals = x.signaling || y.signaling || z.signaling;
  return encode_nan(to, nan.negative, nan.significand, signals ? status::invalid : status::none);
}

constexpr encoded with(encoded e, status flags) noexcept { return {e.code, e.flags | flags}; }

// Any finite x + y.
constexpr encoded add_finite(const format& to, const unpacked& x, const unpacked& y, const rounding& mode,
                             random_input random) noexcept {
  if (mode.random_bits == all_random_bits && !fits_128_bits(x, y)) {
    const wide_sum sum{x, y};  // not zero: the operands are far apart
    return encode_finite(to, sum.negative, sum, mode, random);
  }
  const unpacked sum = exact_sum<uint128>(x, y, mode.direction == direction::toward_negative);
  if (is_zero(sum)) return encode_zero(to, sum.negative);
  return encode_finite(to, sum.negative, sum, mode, random);
}

// Whether exact_sum<std::uint64_t> of operands with room holds all that this rounding sees.
constexpr bool sums_in_64_bits(const format& to, const rounding& mode) noexcept {
  return to.precision() <= 24 && mode.random_bits != all_random_bits;
}

[[gnu::always_inline]] constexpr encoded add_in_64_bits(const format& to, const unpacked& x, const unpacked& y,
                                                        const rounding& mode, random_input random) noexcept {
  const unpacked sum = exact_sum<std::uint64_t>(x, y, mode.direction == direction::toward_negative);
  if (is_zero(sum)) return encode_zero(to, sum.negative);
  return encode_finite(to, sum.negative, sum, mode, random);
}

// x + y where neither is NaN.
constexpr encoded add_numbers(const format& to, const unpacked& x, const unpacked& y, const rounding& mode,
                              random_input random) noexcept {
  if (x.kind == number_class::finite && y.kind == number_class::finite) [[likely]]
    return add_finite(to, x, y, mode, random);
  if (is_infinite(x)) {
    if (is_infinite(y) && x.negative != y.negative) return invalid_operation(to);
    return encode_infinity(to, x.negative, mode);
  }
  if (is_infinite(y)) return encode_infinity(to, y.negative, mode);
  if (!is_zero(x)) return encode_finite(to, x.negative, x, mode, random);
  if (!is_zero(y)) return encode_finite(to, y.negative, y, mode, random);
  return encode_zero(to, x.negative == y.negative ? x.negative : mode.direction == direction::toward_negative);
}

constexpr comparison compare(const format& in, std::uint64_t a, std::uint64_t b, bool daz, bool signaling) noexcept {
  const unpacked x = daz ? without_subnormal(decode(in, a)) : decode(in, a);
  const unpacked y = daz ? without_subnormal(decode(in, b)) : decode(in, b);
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

namespace detail {

// The operations on operands that are not all finite, or subnormal under DAZ.

constexpr encoded add_rare(const format& to, const unpacked& x, const unpacked& y, const rounding& mode,
                           random_input random) noexcept {
  if (mode.daz && (x.subnormal || y.subnormal))
    return add_rare(to, without_subnormal(x), without_subnormal(y), mode, random);
  if (is_nan(x) || is_nan(y)) return propagated(to, x, y);
  return add_numbers(to, x, y, mode, random);
}

constexpr encoded mul_rare(const format& to, const unpacked& x, const unpacked& y, const rounding& mode,
                           random_input random) noexcept {
  if (mode.daz && (x.subnormal || y.subnormal))
    return mul_rare(to, without_subnormal(x), without_subnormal(y), mode, random);
  if (is_nan(x) || is_nan(y)) return propagated(to, x, y);
  const bool negative = x.negative != y.negative;
  if (is_infinite(x) || is_infinite(y)) {
    if (is_zero(x) || is_zero(y)) return invalid_operation(to);
    return encode_infinity(to, negative, mode);
  }
  if (is_zero(x) || is_zero(y)) return encode_zero(to, negative);
  return encode_finite(to, negative, exact_product(x, y), mode, random);
}

constexpr encoded div_rare(const format& to, const unpacked& x, const unpacked& y, const rounding& mode,
                           random_input random) noexcept {
  if (mode.daz && (x.subnormal || y.subnormal))
    return div_rare(to, without_subnormal(x), without_subnormal(y), mode, random);
  if (is_nan(x) || is_nan(y)) return propagated(to, x, y);
  const bool negative = x.negative != y.negative;
  if (is_infinite(x)) {
    if (is_infinite(y)) return invalid_operation(to);
    return encode_infinity(to, negative, mode);
  }
  if (is_infinite(y)) return encode_zero(to, negative);
  if (is_zero(y)) {
    if (is_zero(x)) return invalid_operation(to);
    if (negative && !to.has_sign) return encode_nan(to, negative, 0, status::divide_by_zero);
    return {beyond_largest(to, negative, mode.overflow), status::divide_by_zero};
  }
  if (is_zero(x)) return encode_zero(to, negative);
  return encode_finite(to, negative, exact_quotient(x, y, to.precision()), with_finite_bits(mode), random);
}

constexpr encoded fma_rare(const format& to, const unpacked& x, const unpacked& y, const unpacked& z,
                           const rounding& mode, random_input random) noexcept {
  if (mode.daz && (x.subnormal || y.subnormal || z.subnormal))
    return fma_rare(to, without_subnormal(x), without_subnormal(y), without_subnormal(z), mode, random);
  const bool zero_times_infinity = (is_zero(x) && is_infinite(y)) || (is_infinite(x) && is_zero(y));
  if (is_nan(x) || is_nan(y) || is_nan(z)) {
    const encoded nan = propagated(to, x, y, z);
    return {nan.code, zero_times_infinity ? nan.flags | status::invalid : nan.flags};
  }
  if (zero_times_infinity) return invalid_operation(to);
  unpacked product{.kind = number_class::zero, .negative = x.negative != y.negative};
  if (is_infinite(x) || is_infinite(y))
    product.kind = number_class::infinity;
  else if (!is_zero(x) && !is_zero(y))
    product = exact_product(x, y);
  return add_numbers(to, product, z, mode, random);
}

// Two finite operands that are taken as they are.
constexpr bool is_plain(const unpacked& x, const unpacked& y, const rounding& mode) noexcept {
  return x.kind == number_class::finite && y.kind == number_class::finite && !mode.daz;
}

}  // namespace detail

constexpr encoded add(const format& to, const unpacked& x, const unpacked& y, const rounding& mode,
                      random_input random) noexcept {
  expect_valid(mode);
  if (detail::is_plain(x, y, mode) && detail::sums_in_64_bits(to, mode)) [[likely]]
    return detail::add_in_64_bits(to, x, y, mode, random);
  return detail::add_rare(to, x, y, mode, random);
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
  return detail::mul_rare(to, x, y, mode, random);
}

constexpr encoded div(const format& to, const unpacked& x, const unpacked& y, const rounding& mode,
                      random_input random) noexcept {
  expect_valid(mode);
  if (detail::is_plain(x, y, mode) && mode.random_bits != all_random_bits) [[likely]]
    return detail::encode_finite(to, x.negative != y.negative, detail::exact_quotient(x, y, to.precision()), mode,
                                 random);
  return detail::div_rare(to, x, y, mode, random);
}

constexpr encoded rem(const format& to, const unpacked& x, const unpacked& y, const rounding& mode,
                      random_input random) noexcept {
  expect_valid(mode);
  if (mode.daz && (x.subnormal || y.subnormal))
    return rem(to, detail::without_subnormal(x), detail::without_subnormal(y), mode, random);
  if (detail::is_nan(x) || detail::is_nan(y)) return detail::propagated(to, x, y);
  if (detail::is_infinite(x) || detail::is_zero(y)) return detail::invalid_operation(to);
  if (detail::is_zero(x)) return detail::encode_zero(to, x.negative);
  const unpacked remainder = detail::is_infinite(y) ? x : detail::exact_remainder(x, y);
  if (detail::is_zero(remainder)) return detail::encode_zero(to, remainder.negative);
  return detail::encode_finite(to, remainder.negative, remainder, mode, random);
}

constexpr encoded sqrt(const format& to, const unpacked& x, const rounding& mode, random_input random) noexcept {
  expect_valid(mode);
  if (detail::is_nan(x)) return detail::propagated(to, x, {});
  if (detail::is_zero(x) || (mode.daz && x.subnormal)) return detail::encode_zero(to, x.negative);
  if (x.negative) return detail::invalid_operation(to);
  if (detail::is_infinite(x)) return detail::encode_infinity(to, false, mode);
  return detail::encode_finite(to, false, detail::exact_root(x, to.precision()), detail::with_finite_bits(mode),
                               random);
}

constexpr encoded fma(const format& to, const unpacked& x, const unpacked& y, const unpacked& z, const rounding& mode,
                      random_input random) noexcept {
  expect_valid(mode);
  if (detail::is_plain(x, y, mode) && z.kind == number_class::finite && detail::sums_in_64_bits(to, mode)) [[likely]] {
    const unpacked product = detail::exact_product(x, y);
    if (detail::has_room(product)) [[likely]]
      return detail::add_in_64_bits(to, product, z, mode, random);
  }
  return detail::fma_rare(to, x, y, z, mode, random);
}

constexpr encoded from_integer(const format& to, std::int64_t n, const rounding& mode, random_input random) noexcept {
  unpacked x{.kind = n == 0 ? number_class::zero : number_class::finite, .negative = n < 0};
  if (n != 0) {
    const std::uint64_t magnitude = n < 0 ? 0 - static_cast<std::uint64_t>(n) : static_cast<std::uint64_t>(n);
    const int shift = std::countl_zero(magnitude);
    x.significand = magnitude << shift;
    x.exponent = 63 - shift;
  }
  return encode(to, x, mode, random);
}

template <class Int>
requires std::same_as<Int, std::int32_t> || std::same_as<Int, std::int64_t>
constexpr rounded_integer<Int> to_integer(const format& from, code of, const rounding& mode,
                                          random_input random) noexcept {
  expect_valid(mode);
  constexpr Int lowest = std::numeric_limits<Int>::min();
  constexpr Int largest = std::numeric_limits<Int>::max();
  const unpacked x = decode(from, of);
  if (detail::is_nan(x)) return {0, status::invalid};
  if (detail::is_zero(x) || (mode.daz && x.subnormal)) return {0, status::none};
  if (detail::is_infinite(x) || x.exponent >= 63) {
    const bool fits =
        x.kind == number_class::finite && x.negative && x.exponent == 63 && x.significand << 1 == 0 && sizeof(Int) == 8;
    return {x.negative ? lowest : largest, fits ? status::none : status::invalid};
  }
  const detail::cut_magnitude cut = detail::cut_at(x, 0);
  const std::uint64_t magnitude = cut.kept + (detail::rounds_up_at(x, 0, cut, x.negative, mode, random) ? 1 : 0);
  const auto limit = static_cast<std::uint64_t>(largest) + (x.negative ? 1 : 0);
  if (magnitude > limit) return {x.negative ? lowest : largest, status::invalid};
  const std::uint64_t value = x.negative ? 0 - magnitude : magnitude;
  return {static_cast<Int>(static_cast<std::int64_t>(value)), cut.is_exact() ? status::none : status::inexact};
}

constexpr comparison compare_quiet(const format& in, code a, code b, bool daz) noexcept {
  return detail::compare(in, a, b, daz, false);
}
constexpr comparison compare_signaling(const format& in, code a, code b, bool daz) noexcept {
  return detail::compare(in, a, b, daz, true);
}

}  // namespace ulp

#endif
