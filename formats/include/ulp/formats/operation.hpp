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

// What ulp vectors and ulp verify know; further exact functions are in functions.hpp. convert stays last.
enum class operation : std::uint8_t { add, sub, mul, div, sqrt, fma, rem, convert };

// In the order of the enumeration.
[[nodiscard]] std::span<const std::string_view> operation_names() noexcept;
[[nodiscard]] std::string_view to_string(operation op) noexcept;

[[nodiscard]] constexpr int operand_count(operation op) noexcept {
  switch (op) {
    case operation::sqrt:
    case operation::convert: return 1;
    case operation::add:
    case operation::sub:
    case operation::mul:
    case operation::div:
    case operation::rem: break;
    case operation::fma: return 3;
  }
  return 2;
}

// Whether the operation is there between these formats: conversion always, the others where both can hold the results
// of arithmetic, so not E8M0, which has neither sign nor zero.
[[nodiscard]] constexpr bool is_defined(operation op, const format& to, const format& from) noexcept {
  return op == operation::convert || (to.has_sign && to.has_zero() && from.has_sign && from.has_zero());
}

// The codes of the operands in their order; those beyond operand_count are 0 and not read.
using operand_codes = std::array<std::uint64_t, 3>;

// The operation on codes of `from`, rounded once to `to`: the functions of arithmetic.hpp chosen at run time. Does not
// throw or allocate. Precondition: is_defined.
[[nodiscard]] encoded evaluate(operation op, const format& to, const format& from, const operand_codes& operands,
                               const rounding& mode = {}, random_input random = {}) noexcept;

// The exact result, for people to look at: infinity, NaN and the signs of zero as in arithmetic.hpp, otherwise its
// first 128 bits or, of quotients and roots, at least 64; `sticky` where there is more. With `daz` subnormal operands
// are zero.
[[nodiscard]] unpacked exact_result(operation op, const format& from, const operand_codes& operands,
                                    bool daz = false) noexcept;

}  // namespace ulp

#endif
