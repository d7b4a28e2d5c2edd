// Adjacent numbers of a format and the size of its steps. constexpr, no exceptions, no allocation.
#ifndef ULP_FORMATS_NEIGHBOURS_HPP
#define ULP_FORMATS_NEIGHBOURS_HPP

#include <algorithm>
#include <cstdint>

#include <ulp/formats/codec.hpp>
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
  return in.has_infinity() ? in.infinity_code() : in.max_finite_code();
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
  return std::clamp(x.exponent, in.emin(), in.emax()) - in.fraction_bits;
}

}  // namespace ulp

#endif
