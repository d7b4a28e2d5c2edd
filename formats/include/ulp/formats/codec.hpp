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

// An exact value. finite: (-1)^negative * 2^exponent * (significand / 2^63 + low / 2^127) with the top bit of
// significand set, so that 2^exponent <= |value| < 2^(exponent+1); `sticky` tells that the value is larger in magnitude
// than that by less than one unit of the last bit of `low`: enough for one correct rounding to any format, stochastic
// with up to 32 random bits included. nan: `significand` holds the payload, its first bit below the quiet bit at bit 63;
// `signaling` as it says.
struct unpacked {
  number_class kind = number_class::zero;
  bool negative = false;
  bool signaling = false;
  bool sticky = false;
  bool subnormal = false;  // in the format it was decoded from
  int exponent = 0;
  std::uint64_t significand = 0;
  std::uint64_t low = 0;  // decode leaves it 0, and sticky false
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
//  - zero keeps its sign where the format has a negative zero; so does what is flushed or rounded to zero.
//  - overflow and underflow as `mode` says; underflow is raised when tiny and inexact.
//  - infinity: kept; in a format without it NaN and invalid; saturating, and where there is no NaN either, the largest
//    finite number, overflow, inexact.
//  - NaN: quiet, its sign and the leading bits of its payload kept (IEEE 754-2019, 6.2.3, and as x86's vcvtps2ph);
//    a signaling one raises invalid. Formats with one NaN code deliver that, with the sign where it has one; formats
//    without NaN the largest positive number and invalid (as CUDA's __nv_cvt_float_to_fp4 and _fp6 do).
//  - below the smallest number of a format without subnormals: what is left after rounding to its precision is zero,
//    underflow, inexact, in every direction (DLFloat16); mode.flush changes nothing there.
//  - without zero (E8M0): zero and what is below the smallest number become that; without sign: negative numbers
//    become NaN and invalid. In the one-bit significands of E8M0 a tie goes up (IEEE 754-2019, 4.3.1).
//  - `random` is read when direction is stochastic only.
[[nodiscard]] constexpr encoded encode(const format& to, const unpacked& x, const rounding& mode = {},
                                       random_input random = {}) noexcept;
[[nodiscard]] constexpr encoded encode(const format& to, float x, const rounding& mode = {},
                                       random_input random = {}) noexcept {
  return encode(to, decode(x), mode, random);
}
[[nodiscard]] constexpr encoded encode(const format& to, double x, const rounding& mode = {},
                                       random_input random = {}) noexcept {
  return encode(to, decode(x), mode, random);
}

// How many random bits all_random_bits takes to round x to the format: from the last kept bit of the result, of the
// subnormal grid where x is below the normal numbers, to the last bit of x. 0 where nothing is discarded, and for what
// is not finite. Precondition: not x.sticky.
[[nodiscard]] constexpr int discarded_bits(const format& to, const unpacked& x) noexcept;

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
  unpacked x;
  x.negative = (code & from.sign_mask()) != 0;
  switch (from.top) {
    case specials::ieee:
      if (field != from.exponent_field_mask()) break;
      x.kind = fraction == 0 ? number_class::infinity : number_class::nan;
      if (fraction != 0) {
        x.signaling = (fraction & from.quiet_bit()) == 0;
        x.significand = from.fraction_bits > 1 ? (fraction & ~from.quiet_bit()) << (65 - from.fraction_bits) : 0;
      }
      return x;
    case specials::nan_all_ones:
      if ((code & from.magnitude_mask()) != from.magnitude_mask()) break;
      x.kind = number_class::nan;
      return x;
    case specials::nan_negative_zero:
      if ((code & from.code_mask()) != from.sign_mask()) break;
      x.kind = number_class::nan;
      return x;
    case specials::none: break;
  }
  if (field == 0 && fraction == 0 && from.has_zero()) return x;
  x.kind = number_class::finite;
  x.subnormal = field == 0 && from.has_subnormals();
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
  // The first 64 discarded bits after `gap` zeros, and whether any follow.
  const std::uint64_t below = shift < 64 ? (x.significand << (64 - shift)) | (x.low >> shift) : x.significand;
  const bool beyond = x.sticky || (shift < 64 ? x.low << (64 - shift) : x.low) != 0;
  const int gap = shift > 64 ? shift - 64 : 0;
  cut.lost.half = gap == 0 && (below >> 63) != 0;
  cut.lost.rest = (gap == 0 ? (below << 1) != 0 : true) || beyond;
  cut.lost.leading = gap < 33 ? below >> (31 + gap) : 0;
  cut.lost.beyond_leading = beyond || (gap < 33 ? (below & ((std::uint64_t{1} << (31 + gap)) - 1)) != 0 : below != 0);
  return cut;
}

// The 64 bits of x of weights 2^weight and down, the first at bit 63.
constexpr std::uint64_t bits_from(const unpacked& x, int weight) noexcept {
  const int place = x.exponent - weight;  // from the top of significand:low
  if (place <= -64 || place >= 128) return 0;
  if (place < 0) return x.significand >> -place;
  if (place == 0) return x.significand;
  return place < 64 ? (x.significand << place) | (x.low >> (64 - place)) : x.low << (place - 64);
}

// Exponent of the last bit of x that is set.
constexpr int last_bit(const unpacked& x) noexcept {
  return x.low != 0 ? x.exponent - 127 + std::countr_zero(x.low) : x.exponent - 63 + std::countr_zero(x.significand);
}

// Whether the discarded part of x below 2^quantum and R, a random number of as many bits, add up to one or more.
template <class Magnitude>
constexpr bool carries(const Magnitude& x, int quantum, const random_input& random) noexcept {
  const int bits = quantum - last_bit(x);
  for (int i = 0; 32 * i < bits; ++i) {
    const std::uint64_t sum = (bits_from(x, quantum - 1 - 32 * i) >> 32) + random.word(static_cast<std::uint32_t>(i));
    if (sum != 0xFFFFFFFF) return sum > 0xFFFFFFFF;
  }
  return false;
}

template <class Magnitude>
constexpr bool rounds_up_at(const Magnitude& x, int quantum, const cut_magnitude& cut, bool negative,
                            const rounding& mode, const random_input& random) noexcept {
  if (mode.direction == direction::stochastic && mode.random_bits == all_random_bits)
    return carries(x, quantum, random);
  return rounds_up(cut.lost, (cut.kept & 1) != 0, negative, mode, random.value());
}

constexpr encoded encode_zero(const format& to, bool negative, status flags = status::none) noexcept {
  if (!to.has_zero()) return {0, status::underflow | status::inexact};
  return {negative && to.has_negative_zero() ? to.sign_mask() : 0, flags};
}

constexpr encoded encode_nan(const format& to, bool negative, std::uint64_t payload, status flags) noexcept {
  if (!to.has_nan()) return {to.max_finite_code(), flags | status::invalid};
  const std::uint64_t kept = to.top == specials::ieee && to.fraction_bits > 1 ? payload >> (65 - to.fraction_bits) : 0;
  return {(negative ? to.sign_mask() : 0) | to.nan_code() | kept, flags};
}

// What takes the place of a number beyond the largest, in a direction that does not point back to zero.
constexpr std::uint64_t beyond_largest(const format& to, bool negative, overflow_delivery delivery) noexcept {
  const std::uint64_t sign = negative ? to.sign_mask() : 0;
  if (delivery == overflow_delivery::saturate || !to.has_nan()) return sign | to.max_finite_code();
  return sign | (to.has_infinity() ? to.infinity_code() : to.nan_code());
}

constexpr encoded encode_infinity(const format& to, bool negative, const rounding& mode) noexcept {
  if (negative && !to.has_sign) return encode_nan(to, negative, 0, status::invalid);
  const bool saturates = mode.overflow == overflow_delivery::saturate || !to.has_nan();
  const status flags = saturates           ? status::overflow | status::inexact
                       : to.has_infinity() ? status::none
                                           : status::invalid;
  return {beyond_largest(to, negative, mode.overflow), flags};
}

// Magnitude: unpacked, or anything that has `exponent` and for which cut_at, bits_from and last_bit are there.
template <class Magnitude>
constexpr encoded encode_finite(const format& to, bool negative, const Magnitude& x, const rounding& mode,
                                const random_input& random) noexcept {
  if (negative && !to.has_sign) return encode_nan(to, negative, 0, status::invalid);
  const std::uint64_t sign = negative ? to.sign_mask() : 0;

  // 1. Round with unbounded exponent: decides overflow and tininess after rounding.
  const int last_place = x.exponent - to.fraction_bits;
  const cut_magnitude unbounded = cut_at(x, last_place);
  const std::uint64_t carried =
      unbounded.kept + (rounds_up_at(x, last_place, unbounded, negative, mode, random) ? 1 : 0);
  const bool carry_out = (carried >> to.precision()) != 0;
  const int exponent = x.exponent + (carry_out ? 1 : 0);
  const std::uint64_t fraction = (carry_out ? carried >> 1 : carried) & to.fraction_mask();

  // 2. Normal results are done, up to overflow.
  if (x.exponent >= to.emin()) {
    const std::uint64_t code = (static_cast<std::uint64_t>(exponent + to.bias) << to.fraction_bits) | fraction;
    if (exponent > to.emax() || code > to.max_finite_code()) {
      const bool points_back = mode.direction == direction::toward_zero || mode.direction == direction::to_odd ||
                               mode.direction == (negative ? direction::toward_positive : direction::toward_negative);
      return {points_back ? sign | to.max_finite_code() : beyond_largest(to, negative, mode.overflow),
              status::overflow | status::inexact};
    }
    if (code < to.min_normal_code()) return encode_zero(to, negative, status::underflow | status::inexact);
    return {sign | code, unbounded.lost.any() ? status::inexact : status::none};
  }

  // 3. Below 2^emin the grid is that of the subnormals; a carry into the smallest normal number falls out of the code.
  const bool tiny_after = exponent < to.emin();
  const bool tiny = mode.tininess == tininess::before_rounding || tiny_after;
  if (!to.has_subnormals()) {
    if (to.has_zero() || tiny) return encode_zero(to, negative, status::underflow | status::inexact);
    return {0, status::inexact};
  }
  const cut_magnitude cut = cut_at(x, to.min_subnormal_exponent());
  const std::uint64_t code =
      cut.kept + (rounds_up_at(x, to.min_subnormal_exponent(), cut, negative, mode, random) ? 1 : 0);
  const bool flushed = mode.flush == flush::before_rounding || (mode.flush == flush::after_rounding && tiny_after) ||
                       (mode.flush == flush::result && code < to.min_normal_code());
  if (flushed) return encode_zero(to, negative, status::underflow | status::inexact);
  status flags = status::none;
  if (cut.lost.any()) flags |= tiny ? status::inexact | status::underflow : status::inexact;
  if (code == 0) return encode_zero(to, negative, flags);
  return {sign | code, flags};
}

}  // namespace detail

constexpr encoded encode(const format& to, const unpacked& x, const rounding& mode, random_input random) noexcept {
  if (x.kind == number_class::finite) [[likely]] {
    if (mode.daz && x.subnormal) return detail::encode_zero(to, x.negative);
    return detail::encode_finite(to, x.negative, x, mode, random);
  }
  if (x.kind == number_class::zero) return detail::encode_zero(to, x.negative);
  if (x.kind == number_class::infinity) return detail::encode_infinity(to, x.negative, mode);
  return detail::encode_nan(to, x.negative, x.significand, x.signaling ? status::invalid : status::none);
}

constexpr int discarded_bits(const format& to, const unpacked& x) noexcept {
  if (x.kind != number_class::finite) return 0;
  int quantum = x.exponent - to.fraction_bits;
  if (to.has_subnormals() && quantum < to.min_subnormal_exponent()) quantum = to.min_subnormal_exponent();
  const int bits = quantum - detail::last_bit(x);
  return bits > 0 ? bits : 0;
}

}  // namespace ulp

#endif
