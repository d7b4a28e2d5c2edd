// The operations by name, and one function that does any of them on codes: what test vectors and checkers are made of.
#ifndef ULP_FORMATS_OPERATION_HPP
#define ULP_FORMATS_OPERATION_HPP

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include <ulp/formats/codec.hpp>
#include <ulp/formats/format.hpp>
#include <ulp/formats/rounding.hpp>

namespace ulp {

// What ulp vectors and ulp verify know; further exact functions are in functions.hpp. In the C interface these are
// numbers: new ones are added at the end.
//  mac           x * y + z rounded once, z in the format of the result: a step of a dot product
//  rint          x rounded to an integer of its format
//  eq le lt      0 or 1: quiet ==, and <= and < that raise invalid for every NaN (IEEE 754-2019, 5.11); the others are
//                the same with the opposite signaling
//  to_* from_*   x to and from integers, unsigned (ui) or two's complement (i), whose codes are their bits
enum class operation : std::uint8_t {
  add,
  sub,
  mul,
  div,
  sqrt,
  fma,
  rem,
  convert,
  mac,
  rint,
  eq,
  le,
  lt,
  eq_signaling,
  le_quiet,
  lt_quiet,
  to_ui32,
  to_ui64,
  to_i32,
  to_i64,
  from_ui32,
  from_ui64,
  from_i32,
  from_i64
};

// In the order of the enumeration.
[[nodiscard]] std::span<const std::string_view> operation_names() noexcept;
[[nodiscard]] std::string_view to_string(operation op) noexcept;

struct integer_type {
  int bits = 0;  // 32 or 64; 0: not an integer
  bool has_sign = false;
};
[[nodiscard]] constexpr integer_type integer_operand(operation op) noexcept {
  switch (op) {
    case operation::from_ui32: return {32, false};
    case operation::from_ui64: return {64, false};
    case operation::from_i32: return {32, true};
    case operation::from_i64: return {64, true};
    default: return {};
  }
}
[[nodiscard]] constexpr integer_type integer_result(operation op) noexcept {
  switch (op) {
    case operation::to_ui32: return {32, false};
    case operation::to_ui64: return {64, false};
    case operation::to_i32: return {32, true};
    case operation::to_i64: return {64, true};
    default: return {};
  }
}
[[nodiscard]] constexpr bool is_comparison(operation op) noexcept {
  return op >= operation::eq && op <= operation::lt_quiet;
}
[[nodiscard]] constexpr bool rounds_to_integer(operation op) noexcept {
  return op == operation::rint || integer_result(op).bits != 0;
}
// Whether operands and results are of one format, or that and integers.
[[nodiscard]] constexpr bool has_one_format(operation op) noexcept { return op >= operation::rint; }

[[nodiscard]] constexpr int operand_count(operation op) noexcept {
  switch (op) {
    case operation::add:
    case operation::sub:
    case operation::mul:
    case operation::div:
    case operation::rem: return 2;
    case operation::fma:
    case operation::mac: return 3;
    default: return is_comparison(op) ? 2 : 1;
  }
}

// The format of operand `i`, where it is not an integer.
[[nodiscard]] constexpr const format& operand_format(operation op, const format& to, const format& from,
                                                     int i) noexcept {
  return op == operation::mac && i == 2 ? to : from;
}
// Bits of the codes.
[[nodiscard]] constexpr int operand_width(operation op, const format& to, const format& from, int i) noexcept {
  const int bits = integer_operand(op).bits;
  return bits != 0 ? bits : operand_format(op, to, from, i).width();
}
[[nodiscard]] constexpr int result_width(operation op, const format& to) noexcept {
  if (is_comparison(op)) return 1;
  const int bits = integer_result(op).bits;
  return bits != 0 ? bits : to.width();
}
[[nodiscard]] constexpr std::uint64_t mask_of_bits(int bits) noexcept { return ~std::uint64_t{0} >> (64 - bits); }

// Whether the operation is there between these formats: conversion always, the others where both can hold the results
// of arithmetic, so not E8M0, which has neither sign nor zero; and those of one format only in one.
[[nodiscard]] constexpr bool is_defined(operation op, const format& to, const format& from) noexcept {
  if (op == operation::convert) return true;
  return to.has_sign && to.has_zero() && from.has_sign && from.has_zero() && (!has_one_format(op) || to == from);
}

// The codes of the operands in their order; those beyond operand_count are 0 and not read.
using operand_codes = std::array<std::uint64_t, 3>;

// The operation on codes of `from`, rounded once to `to`: the functions of arithmetic.hpp chosen at run time. Does not
// throw or allocate. Rounding to integers raises inexact. Precondition: is_defined.
[[nodiscard]] encoded evaluate(operation op, const format& to, const format& from, const operand_codes& operands,
                               const rounding& mode = {}, random_input random = {}) noexcept;

// A result as those operations have it that round to integers without raising inexact (5.9, and 5.8 without "Exact").
[[nodiscard]] constexpr encoded without_inexact(operation op, const encoded& result) noexcept {
  return rounds_to_integer(op) && result.flags == status::inexact ? encoded{result.code, status::none} : result;
}

// The exact result, for people to look at: infinity, NaN and the signs of zero as in arithmetic.hpp, otherwise its
// first 128 bits or, of quotients and roots, at least 64; `sticky` where there is more. With `daz` subnormal operands
// are zero. Of rounding to integers it is the operand, of comparisons the difference.
[[nodiscard]] unpacked exact_result(operation op, const format& to, const format& from, const operand_codes& operands,
                                    bool daz = false) noexcept;

}  // namespace ulp

#endif
