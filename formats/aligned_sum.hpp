// Sums whose terms are first cut at a common place, as matrix units do it, in an integer of 128 bits.
#ifndef ULP_FORMATS_ALIGNED_SUM_HPP
#define ULP_FORMATS_ALIGNED_SUM_HPP

#include <algorithm>
#include <bit>
#include <cstdint>

#include <ulp/formats/codec.hpp>
#include <ulp/formats/detail/special.hpp>
#include <ulp/formats/rounding.hpp>
#include <ulp/formats/status.hpp>

namespace ulp::detail {

// What is added: a value of up to 128 bits and its exponent as alignment sees it, not normalised.
struct term {
  unpacked value;
  int exponent = 0;
};

// (-1)^negative * magnitude * 2^unit.
[[nodiscard]] inline unpacked unpacked_of(bool negative, uint128 magnitude, int unit) noexcept {
  if (magnitude == 0) return {};
  const int zeros = leading_zeros(magnitude);
  magnitude <<= zeros;
  return {.kind = number_class::finite,
          .negative = negative,
          .exponent = unit + 127 - zeros,
          .significand = static_cast<std::uint64_t>(magnitude >> 64),
          .low = static_cast<std::uint64_t>(magnitude)};
}

// x times a scale, exactly where 128 bits hold that.
[[nodiscard]] inline term scaled(const term& x, const term& scale) noexcept {
  const int exponent = x.exponent + scale.exponent;
  if (!is_finite(x.value) || !is_finite(scale.value)) return {product_of(x.value, scale.value), exponent};
  // As odd integers.
  const auto integer_of = [](const unpacked& v, int& unit) {
    uint128 m = (uint128{v.significand} << 64) | v.low;
    const int zeros = v.low != 0 ? std::countr_zero(v.low) : 64 + std::countr_zero(v.significand);
    unit += v.exponent - 127 + zeros;
    return m >> zeros;
  };
  int unit = 0;
  const uint128 m = integer_of(x.value, unit);
  const uint128 n = integer_of(scale.value, unit);
  return {unpacked_of(x.value.negative != scale.value.negative, m * n, unit), exponent};
}

// A sum in units of 2^unit. Magnitudes are below 2^127 units: the caller's.
class aligned_sum {
 public:
  explicit aligned_sum(int unit) noexcept : unit_(unit) {}

  // A finite number, cut to a multiple of the unit. Its exponent is below unit + 127.
  void add(const unpacked& x, direction way) noexcept {
    const uint128 bits = (uint128{x.significand} << 64) | x.low;  // in units of 2^(exponent - 127)
    const int shift = std::min(unit_ - (x.exponent - 127), 129);
    uint128 kept = shift > 127 ? 0 : bits >> shift;
    const uint128 half = shift > 128 ? 0 : uint128{1} << (shift - 1);
    const bool round_bit = (bits & half) != 0;
    const bool sticky = shift > 128 || (bits & (half - 1)) != 0;
    if (round_bit || sticky) {
      flags_ |= status::inexact;
      kept += rounds_up({.round_bit = round_bit, .sticky = sticky}, (kept & 1) != 0, x.negative, {.direction = way}, 0)
                  ? 1
                  : 0;
    }
    total_ += x.negative ? 0 - kept : kept;
  }
  // Another sum of the same unit.
  void add(const aligned_sum& other) noexcept { total_ += other.total_; }

  // To multiples of another unit, toward negative where that is larger.
  void cut_to(int unit) noexcept {
    const int shift = unit - unit_;
    unit_ = unit;
    if (total_ == 0) return;
    if (shift <= 0) {
      total_ <<= -shift;
      return;
    }
    const int places = std::min(shift, 127);
    const uint128 sign = is_negative() ? ~(~uint128{0} >> places) : 0;
    if ((total_ & ((uint128{1} << places) - 1)) != 0) flags_ |= status::inexact;
    total_ = (total_ >> places) | sign;
  }

  [[nodiscard]] status flags() const noexcept { return flags_; }  // inexact where something was cut
  [[nodiscard]] unpacked value() const noexcept {
    return unpacked_of(is_negative(), is_negative() ? 0 - total_ : total_, unit_);
  }

 private:
  [[nodiscard]] bool is_negative() const noexcept { return total_ >> 127 != 0; }

  int unit_;
  uint128 total_ = 0;  // in two's complement
  status flags_ = status::none;
};

}  // namespace ulp::detail

#endif
