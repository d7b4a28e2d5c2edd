// Exact results of operations on any values: what zeros, infinities and NaN give (IEEE 754-2019, 6.1 to 6.3, 7.2), stated
// once. encode delivers them: an invalid operation is a signaling NaN, so that encode raises invalid. Only a quotient of a
// zero divisor raises what its result does not show, see encode_pole. DAZ is the caller's.
#ifndef ULP_FORMATS_DETAIL_SPECIAL_HPP
#define ULP_FORMATS_DETAIL_SPECIAL_HPP

#include <ulp/formats/codec.hpp>
#include <ulp/formats/detail/exact.hpp>

namespace ulp::detail {

constexpr bool is_nan(const unpacked& x) noexcept { return x.kind == number_class::nan; }
constexpr bool is_zero(const unpacked& x) noexcept { return x.kind == number_class::zero; }
constexpr bool is_infinite(const unpacked& x) noexcept { return x.kind == number_class::infinity; }
constexpr bool is_finite(const unpacked& x) noexcept { return x.kind == number_class::finite; }

constexpr unpacked of_class(number_class kind, bool negative) noexcept { return {.kind = kind, .negative = negative}; }

inline constexpr unpacked signed_zeros[2]{of_class(number_class::zero, false), of_class(number_class::zero, true)};

// x as an operation reads it that takes subnormal numbers for zeros, or all as they are.
constexpr const unpacked& as_operand(const unpacked& x, bool daz) noexcept {
  return daz && x.subnormal ? signed_zeros[x.negative ? 1 : 0] : x;
}

inline constexpr unpacked invalid_result{.kind = number_class::nan, .signaling = true};

// The first NaN of the operands, one of which is; signaling where one signals.
[[gnu::always_inline]] constexpr unpacked first_nan(const unpacked& x, const unpacked& y) noexcept {
  unpacked nan = is_nan(x) ? x : y;
  nan.signaling = x.signaling || y.signaling;
  return nan;
}

// x + y, to 128 bits of finite ones, see exact_sum.
[[gnu::always_inline]] constexpr unpacked sum_of(const unpacked& x, const unpacked& y, bool minus_zero) noexcept {
  if (is_finite(x) && is_finite(y)) [[likely]]
    return exact_sum<uint128>(x, y, minus_zero);
  if (is_nan(x) || is_nan(y)) return first_nan(x, y);
  if (is_infinite(x)) return is_infinite(y) && x.negative != y.negative ? invalid_result : x;
  if (is_infinite(y) || !is_zero(y)) return y;
  if (!is_zero(x)) return x;
  return of_class(number_class::zero, x.negative == y.negative ? x.negative : minus_zero);
}

[[gnu::always_inline]] constexpr unpacked product_of(const unpacked& x, const unpacked& y) noexcept {
  if (is_nan(x) || is_nan(y)) return first_nan(x, y);
  const bool negative = x.negative != y.negative;
  const bool zero = is_zero(x) || is_zero(y);
  if (is_infinite(x) || is_infinite(y)) return zero ? invalid_result : of_class(number_class::infinity, negative);
  return zero ? of_class(number_class::zero, negative) : exact_product(x, y);
}

// What x * y adds to z: in 0 * inf + NaN that NaN, and invalid.
[[gnu::always_inline]] constexpr unpacked product_to_add(const unpacked& x, const unpacked& y,
                                                         const unpacked& z) noexcept {
  unpacked product = product_of(x, y);
  if (is_nan(product) && is_nan(z) && !is_nan(x) && !is_nan(y)) {
    product = z;
    product.signaling = true;
  }
  return product;
}

// For a result of `precision` significand bits.
[[gnu::always_inline]] constexpr unpacked quotient_of(const unpacked& x, const unpacked& y, int precision) noexcept {
  if (is_nan(x) || is_nan(y)) return first_nan(x, y);
  const bool negative = x.negative != y.negative;
  if ((is_infinite(x) && is_infinite(y)) || (is_zero(x) && is_zero(y))) return invalid_result;
  if (is_infinite(x) || is_zero(y)) return of_class(number_class::infinity, negative);
  if (is_zero(x) || is_infinite(y)) return of_class(number_class::zero, negative);
  unpacked quotient = exact_quotient(x, y, precision);
  quotient.negative = negative;
  return quotient;
}

[[gnu::always_inline]] constexpr unpacked remainder_of(const unpacked& x, const unpacked& y) noexcept {
  if (is_nan(x) || is_nan(y)) return first_nan(x, y);
  if (is_infinite(x) || is_zero(y)) return invalid_result;
  return is_zero(x) || is_infinite(y) ? x : exact_remainder(x, y);
}

// Whether the square root is invalid. That of what is not finite, or zero, is itself.
constexpr bool has_no_root(const unpacked& x) noexcept { return x.negative && (is_finite(x) || is_infinite(x)); }

// The infinity of x / 0 and logB(0): divide_by_zero and nothing else (7.3), delivered as an overflow in a direction that
// does not point back to zero.
constexpr encoded encode_pole(const format& to, bool negative, const rounding& mode) noexcept {
  if (negative && !to.has_sign) return encode_nan(to, negative, 0, status::divide_by_zero);
  return {infinite_result(to, negative, mode.overflow), status::divide_by_zero};
}

}  // namespace ulp::detail

#endif
