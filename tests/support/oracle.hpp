// The oracle: conversion and arithmetic by definition, on exact integers, sharing no algorithm with the library.
//
// Of a format it reads the raw row only (exponent_bits, fraction_bits, bias, top, bottom, has_sign,
// withheld). An operation is
// done on fractions of whole numbers of any length, none of whose digits are dropped (roots, which have no end, are taken
// to 256 digits and a mark that there is more); a rounding is decided by
// comparing the exact result with its two neighbours, overflow and tininess by comparing values, and a code is put
// together from its fields. Slow: about a microsecond for an operation, and a few nanoseconds for each deterministic
// rounding of it.
#ifndef ULP_TESTS_SUPPORT_ORACLE_HPP
#define ULP_TESTS_SUPPORT_ORACLE_HPP

#include <array>
#include <compare>
#include <cstdint>
#include <memory>
#include <string_view>

#include <ulp/formats/arithmetic.hpp>
#include <ulp/formats/codec.hpp>
#include <ulp/formats/format.hpp>
#include <ulp/formats/operation.hpp>
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
[[nodiscard]] exact_value value_of_integer(std::int64_t n);
[[nodiscard]] exact_value value_of_unsigned(std::uint64_t n);

// As a double; exact where 53 bits and double's exponents hold it.
[[nodiscard]] double to_double(const exact_value& x);

// What encode(to, x, mode, random) has to return.
[[nodiscard]] encoded oracle_round(const format& to, const exact_value& x, const rounding& mode = {},
                                   random_input random = {});

// The same for a decimal "[-]digits[.digits][e[-]digits]" that is not zero.
[[nodiscard]] encoded oracle_round_decimal(const format& to, std::string_view decimal, const rounding& mode = {},
                                           random_input random = {});

// One operation on given operands, as far as the rounding has no say in it: so that several roundings of one exact
// result cost little more than one. `to` is referred to, operands that it does not have are ignored.
class oracle {
 public:
  oracle(operation op, const format& to, const std::array<exact_value, 3>& operands, bool daz = false);

  // What the operation has to return. mode.daz is ignored, the constructor's counts.
  [[nodiscard]] encoded operator()(const rounding& mode, random_input random = {}) const;

  // v = part / 2^bits, the discarded part of the exact result in units in the last place of the result (of the
  // subnormal grid where that is the result's); bits as few as can be. 0 where the result is not finite.
  // Precondition: bits is at most 64, and the result not a quotient or a root.
  struct discarded_part {
    std::uint64_t part = 0;
    int bits = 0;
  };
  [[nodiscard]] discarded_part discarded() const;

  // For how many of the 2^mode.random_bits random values it is rounded up, by the definition of `mode`.
  [[nodiscard]] std::uint64_t ups(const rounding& mode) const;

  // The exact result against the two neighbours on a grid of steps of 2^step, in magnitude.
  struct place {
    enum class side : std::uint8_t { equal, below_half, half, above_half };
    int step = 0;
    std::uint64_t below = 0;  // steps
    side above = side::equal;
  };

 private:
  struct exact_places;
  const exact_places& exact() const;

  const format& to_;
  operation op_;
  bool daz_;
  std::array<exact_value, 3> operands_;
  number_class kind_ = number_class::zero;
  bool negative_ = false;
  bool cancelled_ = false;
  status flags_ = status::none;
  std::uint64_t payload_ = 0;
  bool tiny_ = false;                                  // |exact result| below the smallest normal binade
  place unbounded_;                                    // to the format's precision, as if exponents had no end
  place subnormal_;                                    // where tiny_
  mutable std::shared_ptr<const exact_places> exact_;  // for stochastic rounding; computed when asked for
};

// How x and y compare.
[[nodiscard]] std::partial_ordering oracle_compare(const exact_value& x, const exact_value& y);

// What to_integer has to return: for an integer type of so many bits.
[[nodiscard]] rounded_integer<std::int64_t> oracle_to_integer(const exact_value& x, int bits, const rounding& mode = {},
                                                              random_input random = {});
[[nodiscard]] rounded_integer<std::uint64_t> oracle_to_unsigned(const exact_value& x, int bits,
                                                                const rounding& mode = {}, random_input random = {});

}  // namespace ulp::test

#endif
