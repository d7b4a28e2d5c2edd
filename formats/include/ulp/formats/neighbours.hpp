// Adjacent numbers of a format and the size of its steps. constexpr, no exceptions, no allocation.
#ifndef ULP_FORMATS_NEIGHBOURS_HPP
#define ULP_FORMATS_NEIGHBOURS_HPP

#include <algorithm>
#include <cstdint>

#include <ulp/formats/codec.hpp>
#include <ulp/formats/format.hpp>

namespace ulp {

// The least number above the one of `code` (IEEE 754-2019, 5.3.1, nextUp): from the largest finite number to infinity
// where the format has one, else the largest finite number itself; -0 and +0 both go to the smallest subnormal; from
// infinity to itself; NaN is unchanged.
[[nodiscard]] constexpr std::uint64_t next_up(const format& in, std::uint64_t code) noexcept {
  const std::uint64_t magnitude = code & in.magnitude_mask();
  const std::uint64_t top = in.has_infinity() ? in.infinity_code() : in.max_finite_code();
  if (magnitude > top) return code;
  if ((code & in.sign_mask()) == 0) return std::min(magnitude + 1, top);
  return magnitude == 0 ? 1 : in.sign_mask() | (magnitude - 1);
}

// The greatest number below: -nextUp(-x).
[[nodiscard]] constexpr std::uint64_t next_down(const format& in, std::uint64_t code) noexcept {
  return next_up(in, code ^ in.sign_mask()) ^ in.sign_mask();
}

// Exponent of the unit in the last place of x in the format: the spacing of the numbers of its binade, of the
// subnormals below the smallest normal number (and for zero). x need not be a number of the format.
[[nodiscard]] constexpr int ulp_exponent(const format& in, const unpacked& x) noexcept {
  if (x.kind != number_class::finite) return in.min_subnormal_exponent();
  return std::clamp(x.exponent, in.emin(), in.emax()) - in.fraction_bits;
}

}  // namespace ulp

#endif
