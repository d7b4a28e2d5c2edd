// The reference conversion: codes to exact values and exact values to codes, rounded once.
//
// Written for clarity; every fast path elsewhere is proved equal to it. Integer operations only, so results do not
// depend on the processor's rounding, flush-to-zero or denormals-are-zero state. constexpr, no exceptions, no
// allocation.
#ifndef ULP_FORMATS_CODEC_HPP
#define ULP_FORMATS_CODEC_HPP

#include <bit>
#include <cstdint>

#include <ulp/formats/format.hpp>
#include <ulp/formats/rounding.hpp>
#include <ulp/formats/status.hpp>

namespace ulp {

// The IEEE 754-2019 interchange formats of float and double, for decode(float) and decode(double).
inline constexpr format binary32{.exponent_bits = 8, .fraction_bits = 23, .bias = 127};
inline constexpr format binary64{.exponent_bits = 11, .fraction_bits = 52, .bias = 1023};

enum class number_class : std::uint8_t { zero, finite, infinity, nan };

// An exact value. finite: (-1)^negative * 2^exponent * significand / 2^63 with the top bit of significand set, so that
// 2^exponent <= |value| < 2^(exponent+1); `sticky` tells that the value is larger in magnitude than that by less than
// one unit of the significand's last bit: enough for one correct rounding to any format, under stochastic rounding while
// precision() + random_bits <= 64. nan: `significand` holds the payload, its first bit below the quiet bit at
// bit 63; `signaling` as it says.
struct unpacked {
  number_class kind = number_class::zero;
  bool negative = false;
  bool signaling = false;
  bool sticky = false;
  bool subnormal = false;  // in the format it was decoded from
  int exponent = 0;
  std::uint64_t significand = 0;
};

struct encoded {
  std::uint64_t code = 0;
  status flags = status::none;
};

// The exact value of a code; bits above width() are ignored. Never rounds, raises no flag.
[[nodiscard]] constexpr unpacked decode(const format& from, std::uint64_t code) noexcept;
[[nodiscard]] constexpr unpacked decode(float x) noexcept { return decode(binary32, std::bit_cast<std::uint32_t>(x)); }
[[nodiscard]] constexpr unpacked decode(double x) noexcept { return decode(binary64, std::bit_cast<std::uint64_t>(x)); }

// x rounded once to the format `to`.
//  - zero keeps its sign; so does what is flushed or rounded to zero.
//  - overflow and underflow as `mode` says; underflow is raised when tiny and inexact.
//  - infinity: kept; in a format without it NaN and invalid; saturating, the largest finite number, overflow, inexact.
//  - NaN: quiet, its sign and the leading bits of its payload kept (IEEE 754-2019, 6.2.3, and as x86's vcvtps2ph);
//    a signaling one raises invalid. Formats with one NaN code deliver that with the sign.
//  - `random` holds mode.random_bits random bits, read when direction is stochastic only; it must be below 2^N.
[[nodiscard]] constexpr encoded encode(const format& to, const unpacked& x, const rounding& mode = {},
                                       std::uint32_t random = 0) noexcept;
[[nodiscard]] constexpr encoded encode(const format& to, float x, const rounding& mode = {},
                                       std::uint32_t random = 0) noexcept {
  return encode(to, decode(x), mode, random);
}
[[nodiscard]] constexpr encoded encode(const format& to, double x, const rounding& mode = {},
                                       std::uint32_t random = 0) noexcept {
  return encode(to, decode(x), mode, random);
}

// The value of a code as float or double, rounded to nearest even where it does not fit (into double every format
// with at most 11 exponent and 52 fraction bits and IEEE bias fits).
[[nodiscard]] constexpr float to_float(const format& from, std::uint64_t code) noexcept {
  return std::bit_cast<float>(static_cast<std::uint32_t>(encode(binary32, decode(from, code)).code));
}
[[nodiscard]] constexpr double to_double(const format& from, std::uint64_t code) noexcept {
  return std::bit_cast<double>(encode(binary64, decode(from, code)).code);
}

// x * 2^n exactly; NaN, infinity and zero are unchanged.
[[nodiscard]] constexpr unpacked scaled(unpacked x, int n) noexcept {
  if (x.kind == number_class::finite) x.exponent += n;
  return x;
}

// ---------------------------------------------------------------------------------------------------------------------

constexpr unpacked decode(const format& from, std::uint64_t code) noexcept {
  const std::uint64_t field = (code >> from.fraction_bits) & from.exponent_field_mask();
  const std::uint64_t fraction = code & from.fraction_mask();
  const bool top_exponent = field == from.exponent_field_mask();
  unpacked x;
  x.negative = (code & from.sign_mask()) != 0;
  if (from.top == specials::ieee && top_exponent) {
    x.kind = fraction == 0 ? number_class::infinity : number_class::nan;
    if (fraction != 0) {
      x.signaling = (fraction & from.quiet_bit()) == 0;
      x.significand = from.fraction_bits > 1 ? (fraction & ~from.quiet_bit()) << (65 - from.fraction_bits) : 0;
    }
    return x;
  }
  if (from.top == specials::nan_all_ones && (code & from.magnitude_mask()) == from.magnitude_mask()) {
    x.kind = number_class::nan;
    return x;
  }
  if (field == 0 && fraction == 0) return x;
  x.kind = number_class::finite;
  x.subnormal = field == 0;
  const std::uint64_t significand = x.subnormal ? fraction : fraction | (std::uint64_t{1} << from.fraction_bits);
  const int shift = std::countl_zero(significand);
  x.significand = significand << shift;
  x.exponent = (x.subnormal ? from.emin() : static_cast<int>(field) - from.bias) + 63 - from.fraction_bits - shift;
  return x;
}

namespace detail {

// A magnitude cut at the bit of weight 2^quantum: an integer multiple of it and what is below.
struct cut_magnitude {
  std::uint64_t kept = 0;
  discarded lost;
};

// Requires x.exponent - quantum < 63.
constexpr cut_magnitude cut_at(const unpacked& x, int quantum) noexcept {
  const int shift = quantum - (x.exponent - 63);  // bits of the significand below the cut, at least 1
  cut_magnitude cut;
  cut.kept = shift < 64 ? x.significand >> shift : 0;
  // The discarded bits left-aligned: bit 63 is worth half a unit when shift <= 64, less beyond.
  const std::uint64_t below = shift < 64 ? x.significand << (64 - shift) : x.significand;
  const int gap = shift > 64 ? shift - 64 : 0;  // zero bits between the cut and bit 63 of `below`
  cut.lost.half = gap == 0 && (below >> 63) != 0;
  cut.lost.rest = (gap == 0 ? (below << 1) != 0 : true) || x.sticky;
  cut.lost.leading = gap < 33 ? below >> (31 + gap) : 0;
  cut.lost.beyond_leading = x.sticky || (gap < 33 ? (below & ((std::uint64_t{1} << (31 + gap)) - 1)) != 0 : below != 0);
  return cut;
}

}  // namespace detail

constexpr encoded encode(const format& to, const unpacked& x, const rounding& mode, std::uint32_t random) noexcept {
  const std::uint64_t sign = x.negative ? to.sign_mask() : 0;
  switch (x.kind) {
    case number_class::zero: return {sign, status::none};
    case number_class::nan: {
      const status flags = x.signaling ? status::invalid : status::none;
      if (to.top != specials::ieee || to.fraction_bits == 1) return {sign | to.nan_code(), flags};
      return {sign | to.nan_code() | (x.significand >> (65 - to.fraction_bits)), flags};
    }
    case number_class::infinity:
      if (mode.overflow == overflow_delivery::saturate)
        return {sign | to.max_finite_code(), status::overflow | status::inexact};
      if (!to.has_infinity()) return {sign | to.nan_code(), status::invalid};
      return {sign | to.infinity_code(), status::none};
    case number_class::finite: break;
  }
  if (mode.daz && x.subnormal) return {sign, status::none};

  // 1. Round with unbounded exponent: decides overflow and tininess after rounding.
  const detail::cut_magnitude unbounded = detail::cut_at(x, x.exponent - to.fraction_bits);
  const bool up = rounds_up(unbounded.lost, (unbounded.kept & 1) != 0, x.negative, mode, random);
  const std::uint64_t carried = unbounded.kept + (up ? 1 : 0);
  const bool carry_out = (carried >> to.precision()) != 0;
  const int exponent = x.exponent + (carry_out ? 1 : 0);
  const std::uint64_t fraction = (carry_out ? carried >> 1 : carried) & to.fraction_mask();

  // 2. Normal results are done, up to overflow.
  if (x.exponent >= to.emin()) {
    const std::uint64_t biased = static_cast<std::uint64_t>(exponent + to.bias);
    if (exponent <= to.emax() && ((biased << to.fraction_bits) | fraction) <= to.max_finite_code())
      return {sign | (biased << to.fraction_bits) | fraction, unbounded.lost.any() ? status::inexact : status::none};
    const bool delivers_finite =
        mode.overflow == overflow_delivery::saturate || mode.direction == direction::toward_zero ||
        mode.direction == direction::to_odd ||
        mode.direction == (x.negative ? direction::toward_positive : direction::toward_negative);
    const std::uint64_t top = to.has_infinity() ? to.infinity_code() : to.nan_code();
    return {sign | (delivers_finite ? to.max_finite_code() : top), status::overflow | status::inexact};
  }

  // 3. Below 2^emin the grid is that of the subnormals; a carry into the smallest normal number falls out of the code.
  const bool tiny_after = exponent < to.emin();
  const detail::cut_magnitude cut = detail::cut_at(x, to.min_subnormal_exponent());
  const std::uint64_t code = cut.kept + (rounds_up(cut.lost, (cut.kept & 1) != 0, x.negative, mode, random) ? 1 : 0);
  const bool flushed = mode.flush == flush::before_rounding || (mode.flush == flush::after_rounding && tiny_after) ||
                       (mode.flush == flush::result && code < to.min_normal_code());
  if (flushed) return {sign, status::underflow | status::inexact};
  const bool tiny = mode.tininess == tininess::before_rounding || tiny_after;
  status flags = status::none;
  if (cut.lost.any()) flags |= tiny ? status::inexact | status::underflow : status::inexact;
  return {sign | code, flags};
}

}  // namespace ulp

#endif
