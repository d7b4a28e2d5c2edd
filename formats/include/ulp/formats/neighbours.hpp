// Adjacent numbers of a format and the size of its steps: of all that its codes stand for, those above a largest result of
// its own (format::withheld) too. constexpr, no exceptions, no allocation.
#ifndef ULP_FORMATS_NEIGHBOURS_HPP
#define ULP_FORMATS_NEIGHBOURS_HPP

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>

#include <ulp/formats/codec.hpp>
#include <ulp/formats/detail/special.hpp>
#include <ulp/formats/format.hpp>

namespace ulp {

namespace detail {

constexpr bool is_nan(const format& in, std::uint64_t code) noexcept {
  return decode(in, code).kind == number_class::nan;
}

// The place of a number in the order of the format's numbers: magnitudes count up from 0 on either side of it, so
// that both zeros are at 0 (in a format without zero its smallest number is). Precondition: not NaN.
constexpr std::int64_t place_of(const format& in, std::uint64_t code) noexcept {
  const auto magnitude = static_cast<std::int64_t>(code & in.magnitude_mask());
  return (code & in.sign_mask()) != 0 ? -magnitude : magnitude;
}

// The last place, infinity's where there is one.
constexpr std::uint64_t last_place(const format& in) noexcept {
  return in.has_infinity() ? in.infinity_code() : in.last_number_code();
}

}  // namespace detail

// The least number above the one of `code` (IEEE 754-2019, 5.3.1, nextUp): from the largest finite number to infinity
// where the format has one, else the largest finite number itself; both zeros go to the smallest number above; what is
// below that on the other side goes to -0 where the format has it, else to 0; infinity stays, NaN is unchanged.
[[nodiscard]] constexpr std::uint64_t next_up(const format& in, code of) noexcept {
  const std::uint64_t code = of;
  if (detail::is_nan(in, code)) return code;
  const std::uint64_t magnitude = code & in.magnitude_mask();
  if ((code & in.sign_mask()) == 0) return std::min(magnitude + 1, detail::last_place(in));
  if (magnitude == 0) return 1;
  if (magnitude == 1 && !in.has_negative_zero()) return 0;
  return in.sign_mask() | (magnitude - 1);
}

// The greatest number below (nextDown): -nextUp(-x), but the smallest number of a format without sign stays.
[[nodiscard]] constexpr std::uint64_t next_down(const format& in, code of) noexcept {
  const std::uint64_t code = of;
  if (detail::is_nan(in, code)) return code;
  const std::uint64_t magnitude = code & in.magnitude_mask();
  if ((code & in.sign_mask()) != 0) return in.sign_mask() | std::min(magnitude + 1, detail::last_place(in));
  if (magnitude == 0) return in.has_sign ? in.sign_mask() | 1 : 0;
  return magnitude - 1;
}

// How many steps of next_up or next_down lead from one code to the other, both zeros being one number and infinity
// being one step beyond the largest. Precondition: neither is NaN.
[[nodiscard]] constexpr std::uint64_t ulp_distance(const format& in, code a, code b) noexcept {
  const std::int64_t from = detail::place_of(in, a);
  const std::int64_t to = detail::place_of(in, b);
  // Unsigned: infinities of float64 are further apart than an int64 reaches.
  return from < to ? static_cast<std::uint64_t>(to) - static_cast<std::uint64_t>(from)
                   : static_cast<std::uint64_t>(from) - static_cast<std::uint64_t>(to);
}

// Exponent of the unit in the last place of x in the format: the spacing of the numbers of its binade, of the
// subnormals below the smallest normal number (and for zero). x need not be a number of the format. Without subnormals
// the gap beside zero is wider than the unit there.
[[nodiscard]] constexpr int ulp_exponent(const format& in, const unpacked& x) noexcept {
  if (x.kind != number_class::finite) return in.min_quantum_exponent();
  return std::clamp(x.exponent, in.emin(), in.last_exponent()) - in.fraction_bits;
}

// How far the number of a code is from the exact value x, in units in the last place of x, 2^ulp_exponent(in, x): its
// binade's where x is a power of two, the wider of two steps, and at most that of the largest numbers. The exact quotient,
// rounded to nearest; correct rounding to nearest is at most 1/2, in any direction below 1.
//  - infinity stands for all numbers from 2^(emax + 1) on: it is 0 from such an x or an infinite one of its sign, from
//    others as far as 2^(emax + 1) is; an infinite x is infinitely far from every other number.
//  - NaN is 0 from NaN, and infinitely far from all else.
[[nodiscard]] constexpr double error_in_ulps(const format& in, code of, double x) noexcept {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  unpacked number = decode(in, of);
  unpacked exact = decode(x);
  if (detail::is_nan(number) || detail::is_nan(exact)) return number.kind == exact.kind ? 0 : infinity;
  if (detail::is_infinite(number)) {
    const bool beyond = detail::is_infinite(exact) || (detail::is_finite(exact) && exact.exponent > in.emax());
    if (beyond && exact.negative == number.negative) return 0;
    number = {.kind = number_class::finite,
              .negative = number.negative,
              .exponent = in.emax() + 1,
              .significand = std::uint64_t{1} << 63};
  }
  if (detail::is_infinite(exact)) return infinity;
  const int unit = ulp_exponent(in, exact);
  exact.negative = !exact.negative;
  unpacked distance = detail::sum_of(number, exact, false);
  distance.negative = false;
  return std::bit_cast<double>(encode(binary64, scaled(distance, -unit)).code);
}

}  // namespace ulp

#endif
