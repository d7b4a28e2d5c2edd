// The oracle: conversion by definition, on exact integers, sharing no algorithm with the library.
//
// Of a format it reads the raw row only (exponent_bits, fraction_bits, bias, top). A rounding is decided by comparing
// the exact value with its two neighbours, overflow and tininess by comparing values, and a code is put together from
// its fields. Slow, about half a microsecond a call.
#ifndef ULP_TESTS_SUPPORT_ORACLE_HPP
#define ULP_TESTS_SUPPORT_ORACLE_HPP

#include <cstdint>
#include <string_view>

#include <ulp/formats/codec.hpp>
#include <ulp/formats/format.hpp>
#include <ulp/formats/rounding.hpp>

namespace ulp::test {

// finite: (-1)^negative * significand * 2^exponent. nan: `significand` holds the payload below the quiet bit, its first
// bit at bit 63.
struct exact_value {
  number_class kind = number_class::zero;
  bool negative = false;
  bool signaling = false;
  bool subnormal = false;  // in the format it was read from
  bool more = false;       // finite: larger in magnitude by 2^-200 of a unit of `significand`
  std::uint64_t significand = 0;
  int exponent = 0;
};

[[nodiscard]] exact_value value_of(const format& from, std::uint64_t code);
[[nodiscard]] exact_value value_of(float x);
[[nodiscard]] exact_value value_of(double x);

// As a double; exact where 53 bits and double's exponents hold it.
[[nodiscard]] double to_double(const exact_value& x);

// What encode(to, x, mode, random) has to return.
[[nodiscard]] encoded oracle_round(const format& to, const exact_value& x, const rounding& mode = {},
                                   std::uint32_t random = 0);

// The same for a decimal "[-]digits[.digits][e[-]digits]" that is not zero.
[[nodiscard]] encoded oracle_round_decimal(const format& to, std::string_view decimal, const rounding& mode = {},
                                           std::uint32_t random = 0);

}  // namespace ulp::test

#endif
