// The reference conversion: codes to exact values and exact values to codes, rounded once.
//
// Written for clarity; every fast path elsewhere is proved equal to it. Integer operations only, so results do not
// depend on the processor's rounding, flush-to-zero or denormals-are-zero state. constexpr, no exceptions, no
// allocation.
#ifndef ULP_FORMATS_CODEC_HPP
#define ULP_FORMATS_CODEC_HPP

#include <bit>
#include <cstdint>

#include <ulp/formats/code.hpp>
#include <ulp/formats/format.hpp>
#include <ulp/formats/rounding.hpp>
#include <ulp/formats/status.hpp>

namespace ulp {

// The IEEE 754-2019 interchange formats of float and double, for decode(float) and decode(double).
inline constexpr format binary32{.exponent_bits = 8, .fraction_bits = 23, .bias = 127};
inline constexpr format binary64{.exponent_bits = 11, .fraction_bits = 52, .bias = 1023};

enum class number_class : std::uint8_t { zero, finite, infinity, nan };

// An exact value. finite: (-1)^negative * 2^exponent * (significand / 2^63 + low / 2^127) with the top bit of
// significand set, so that 2^exponent <= |value| < 2^(exponent+1); `sticky` means that the value is larger in magnitude
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
[[nodiscard]] constexpr unpacked decode(const format& from, code of) noexcept;
[[nodiscard]] constexpr unpacked decode(float x) noexcept { return decode(binary32, std::bit_cast<std::uint32_t>(x)); }
[[nodiscard]] constexpr unpacked decode(double x) noexcept { return decode(binary64, std::bit_cast<std::uint64_t>(x)); }

// x rounded once to the format `to`.
//  - zero keeps its sign where the format has a negative zero; so does what is flushed or rounded to zero.
//  - overflow and underflow as `mode` says; underflow is raised when tiny and inexact.
//  - infinity: kept; in a format without it NaN and invalid; saturating (not saturate_finite), and where there is no NaN
//    either, the largest finite number, overflow, inexact.
//  - NaN: quiet, its sign and the leading bits of its payload kept (IEEE 754-2019, 6.2.3, and as x86's vcvtps2ph);
//    a signaling one raises invalid. Formats with one NaN code deliver that, with the sign where it has one; formats
//    without NaN the largest positive number and invalid (as CUDA's __nv_cvt_float_to_fp4 and _fp6 do).
//  - below the smallest number of a format without subnormals: what is left after rounding to its precision is zero,
//    underflow, inexact, in every direction (DLFloat16); mode.flush changes nothing there.
//  - without zero (E8M0): zero and what is below the smallest number become that; without sign: negative numbers
//    become NaN and invalid. In the one-bit significands of E8M0 a tie goes up (IEEE 754-2019, 4.3.1).
//  - `random` is read when direction is stochastic only.
// Precondition: mode.is_valid(), see rounding.hpp.
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

// How many random bits exact_probability takes to round x to the format: from the last kept bit of the result, of the
// subnormal grid where x is below the normal numbers, to the last bit of x. 0 where nothing is discarded, and for what
// is not finite. Precondition: not x.sticky.
[[nodiscard]] constexpr int discarded_bits(const format& to, const unpacked& x) noexcept;

// The value of a code as float or double, rounded to nearest even where it does not fit (into double every format
// with at most 11 exponent and 52 fraction bits and IEEE bias fits).
[[nodiscard]] constexpr float to_float(const format& from, code of) noexcept {
  return std::bit_cast<float>(static_cast<std::uint32_t>(encode(binary32, decode(from, of)).code));
}
[[nodiscard]] constexpr double to_double(const format& from, code of) noexcept {
  return std::bit_cast<double>(encode(binary64, decode(from, of)).code);
}

// x * 2^n exactly; NaN, infinity and zero are unchanged.
[[nodiscard]] constexpr unpacked scaled(unpacked x, int n) noexcept {
  if (x.kind == number_class::finite) x.exponent += n;
  return x;
}

// ---------------------------------------------------------------------------------------------------------------------

namespace detail {

// Of words that are not zero. CUDA's compiler silently takes what <bit> calls on the host for undefined on a device.
[[gnu::always_inline]] constexpr int leading_zeros(std::uint64_t x) noexcept {
#ifdef __CUDA_ARCH__
  if (!__builtin_is_constant_evaluated()) return __clzll(static_cast<long long>(x));
#endif
  return std::countl_zero(x);
}
[[gnu::always_inline]] constexpr int trailing_zeros(std::uint64_t x) noexcept {
#ifdef __CUDA_ARCH__
  if (!__builtin_is_constant_evaluated()) return __ffsll(static_cast<long long>(x)) - 1;
#endif
  return std::countr_zero(x);
}

// The codes with the lowest and the highest exponent field: zero, subnormals, infinity, NaN, and in some formats numbers.
constexpr unpacked decode_outermost(const format& from, std::uint64_t code) noexcept {
  const std::uint64_t fraction = code & from.fraction_mask();
  const std::uint64_t magnitude = code & from.magnitude_mask();
  unpacked x;
  x.negative = (code & from.sign_mask()) != 0;
  if (magnitude > from.last_number_code()) {
    const bool infinite = from.has_infinity() && magnitude == from.infinity_code();
    x.kind = infinite ? number_class::infinity : number_class::nan;
    if (from.top == specials::ieee && !infinite) {
      x.signaling = (fraction & from.quiet_bit()) == 0;
      x.significand = from.fraction_bits > 1 ? (fraction & ~from.quiet_bit()) << (65 - from.fraction_bits) : 0;
    }
    return x;
  }
  if (magnitude == 0 && from.has_zero()) {
    if (x.negative && from.nan_is_negative_zero()) x.kind = number_class::nan;
    return x;
  }
  x.kind = number_class::finite;
  x.subnormal = magnitude < from.min_normal_code();
  const std::uint64_t implicit = x.subnormal ? 0 : std::uint64_t{1} << from.fraction_bits;
  const int shift = leading_zeros(fraction | implicit);
  x.significand = (fraction | implicit) << shift;
  x.exponent = x.subnormal ? from.min_quantum_exponent() + 63 - shift
                           : static_cast<int>(magnitude >> from.fraction_bits) - from.bias;
  return x;
}

}  // namespace detail

[[gnu::always_inline]] constexpr unpacked decode(const format& from, code of) noexcept {
  const std::uint64_t code = of;
  // With the exponent field at the top.
  const std::uint64_t aligned = code << (64 - from.exponent_bits - from.fraction_bits);
  const std::uint64_t field = aligned >> (64 - from.exponent_bits);
  if (field - 1 >= from.exponent_field_mask() - 1) return detail::decode_outermost(from, code);
  return {.kind = number_class::finite,
          .negative = (code & from.sign_mask()) != 0,
          .exponent = static_cast<int>(field) - from.bias,
          .significand = (aligned << (from.exponent_bits - 1)) | (std::uint64_t{1} << 63)};
}

namespace detail {

// A magnitude cut at the bit of weight 2^quantum: an integer multiple of it, the first bit below and whether any bit
// after that is set.
struct cut_magnitude {
  std::uint64_t kept = 0;
  bool round_bit = false;
  bool sticky = false;

  [[nodiscard]] constexpr bool is_exact() const noexcept { return !round_bit & !sticky; }
};

// The 64 bits of x of weights 2^weight and down, the first at bit 63.
[[gnu::always_inline]] constexpr std::uint64_t bits_from(const unpacked& x, int weight) noexcept {
  const int place = x.exponent - weight;  // from the top of significand:low
  if (place <= -64 || place >= 128) return 0;
  if (place < 0) return x.significand >> -place;
  if (place == 0) return x.significand;
  return place < 64 ? (x.significand << place) | (x.low >> (64 - place)) : x.low << (place - 64);
}

// Requires x.exponent - quantum < 63.
[[gnu::always_inline]] constexpr cut_magnitude cut_at(const unpacked& x, int quantum) noexcept {
  // Bits of the significand below the cut, at least 1. Where it lies more than one bit above the significand, that is
  // moved there as a single bit, which is all that the round and sticky bits show of it.
  const int distance = quantum - (x.exponent - 63);
  const bool far = distance > 64;
  const int shift = far ? 64 : distance;
  const std::uint64_t significand = far ? 1 : x.significand;
  const std::uint64_t below = significand << ((64 - shift) & 63);
  return {.kept = (significand >> 1) >> (shift - 1),
          .round_bit = (below >> 63) != 0,
          .sticky = (below << 1 | x.low | (x.sticky ? 1 : 0)) != 0};
}

constexpr bool is_sticky(const unpacked& x) noexcept { return x.sticky; }

// Exponent of the last bit of x that is set.
constexpr int lsb_exponent(const unpacked& x) noexcept {
  return x.low != 0 ? x.exponent - 127 + trailing_zeros(x.low) : x.exponent - 63 + trailing_zeros(x.significand);
}

// Whether the discarded part of x below 2^quantum and R, a random number of as many bits, add up to one or more.
template <class Magnitude>
constexpr bool carries(const Magnitude& x, int quantum, const random_input& random) noexcept {
  const int bits = quantum - lsb_exponent(x);
  for (int i = 0; 32 * i < bits; ++i) {
    const std::uint64_t sum = (bits_from(x, quantum - 1 - 32 * i) >> 32) + random.word(static_cast<std::uint32_t>(i));
    if (sum != 0xFFFFFFFF) return sum > 0xFFFFFFFF;
  }
  return false;
}

template <class Magnitude>
[[gnu::always_inline]] constexpr bool rounds_up_stochastically(const Magnitude& x, int quantum,
                                                               const cut_magnitude& cut, const rounding& mode,
                                                               const random_input& random) noexcept {
  if (mode.random_bits == exact_probability) return carries(x, quantum, random);
  const std::uint64_t first_64 = bits_from(x, quantum - 1);
  const discarded lost{
      .round_bit = cut.round_bit,
      .sticky = cut.sticky,
      .leading = first_64 >> 31,
      .beyond_leading = mode.definition == stochastic_definition::c &&  // the only one that asks
                        (first_64 << 33 != 0 || is_sticky(x) || lsb_exponent(x) < quantum - 64),
  };
  return rounds_up(lost, (cut.kept & 1) != 0, false, mode, random.value());
}

template <class Magnitude>
[[gnu::always_inline]] constexpr bool rounds_up_at(const Magnitude& x, int quantum, const cut_magnitude& cut,
                                                   bool negative, const rounding& mode,
                                                   const random_input& random) noexcept {
  if (mode.direction == direction::stochastic) return rounds_up_stochastically(x, quantum, cut, mode, random);
  return rounds_up({.round_bit = cut.round_bit, .sticky = cut.sticky}, (cut.kept & 1) != 0, negative, mode, 0);
}

constexpr encoded encode_zero(const format& to, bool negative, status flags = status::none) noexcept {
  if (!to.has_zero()) return {0, status::underflow | status::inexact};
  return {to.has_negative_zero() ? to.sign_code(negative) : 0, flags};
}

constexpr encoded encode_nan(const format& to, bool negative, std::uint64_t payload, status flags) noexcept {
  if (!to.has_nan()) return {to.max_finite_code(), flags | status::invalid};
  const std::uint64_t kept = to.top == specials::ieee && to.fraction_bits > 1 ? payload >> (65 - to.fraction_bits) : 0;
  return {to.sign_code(negative) | to.nan_code() | kept, flags};
}

// What takes the place of a number beyond the largest, in a direction that does not point back to zero.
constexpr std::uint64_t beyond_largest(const format& to, bool negative, overflow_mode delivery) noexcept {
  const std::uint64_t sign = to.sign_code(negative);
  if (delivery != overflow_mode::ieee || !to.has_nan()) return sign | to.max_finite_code();
  return sign | (to.has_infinity() ? to.infinity_code() : to.nan_code());
}

// What takes the place of an infinite result.
constexpr std::uint64_t infinite_result(const format& to, bool negative, overflow_mode delivery) noexcept {
  return beyond_largest(to, negative, delivery == overflow_mode::saturate_finite ? overflow_mode::ieee : delivery);
}

constexpr encoded encode_infinity(const format& to, bool negative, const rounding& mode) noexcept {
  if (negative && !to.has_sign) return encode_nan(to, negative, 0, status::invalid);
  const bool saturates = mode.overflow == overflow_mode::saturate || !to.has_nan();
  const status flags = saturates           ? status::overflow | status::inexact
                       : to.has_infinity() ? status::none
                                           : status::invalid;
  return {infinite_result(to, negative, mode.overflow), flags};
}

constexpr encoded encode_overflow(const format& to, bool negative, const rounding& mode) noexcept {
  const std::uint64_t code = points_to_zero(mode.direction, negative) ? to.sign_code(negative) | to.max_finite_code()
                                                                      : beyond_largest(to, negative, mode.overflow);
  return {code, status::overflow | status::inexact};
}

// Whether x, below 2^emin, is so too after rounding to the format's precision with unbounded exponent.
template <class Magnitude>
constexpr bool is_tiny_after_rounding(const format& to, bool negative, const Magnitude& x, const rounding& mode,
                                      const random_input& random) noexcept {
  if (x.exponent < to.emin() - 1) return true;
  const int quantum = x.exponent - to.fraction_bits;
  const cut_magnitude cut = cut_at(x, quantum);
  return cut.kept + (rounds_up_at(x, quantum, cut, negative, mode, random) ? 1 : 0) < to.fraction_mask() * 2 + 2;
}

// x below 2^emin, which rounds to `code` on the grid of the subnormals.
template <class Magnitude>
constexpr encoded encode_tiny(const format& to, bool negative, const Magnitude& x, std::uint64_t code, bool exact,
                              const rounding& mode, const random_input& random) noexcept {
  const bool tiny_after = is_tiny_after_rounding(to, negative, x, mode, random);
  const bool flushed = mode.flush == flush::before_rounding || (mode.flush == flush::after_rounding && tiny_after) ||
                       (mode.flush == flush::result && code < to.min_normal_code());
  if (flushed) return encode_zero(to, negative, status::underflow | status::inexact);
  status flags = status::none;
  if (!exact) {
    const bool tiny = tiny_after || mode.tininess == tininess::before_rounding;
    flags = tiny ? status::inexact | status::underflow : status::inexact;
  }
  if (code == 0) return encode_zero(to, negative, flags);
  return {to.sign_code(negative) | code, flags};
}

// What x becomes below the smallest binade of a format without subnormals.
template <class Magnitude>
constexpr encoded encode_below_normals(const format& to, bool negative, const Magnitude& x, const rounding& mode,
                                       const random_input& random) noexcept {
  const bool tiny = mode.tininess == tininess::before_rounding || is_tiny_after_rounding(to, negative, x, mode, random);
  if (to.has_zero() || tiny) return encode_zero(to, negative, status::underflow | status::inexact);
  return {0, status::inexact};
}

// Magnitude: unpacked, or anything that has `exponent` and for which cut_at, bits_from, lsb_exponent, is_sticky are there.
template <class Magnitude>
[[gnu::always_inline]] constexpr encoded encode_finite(const format& to, bool negative, const Magnitude& x,
                                                       const rounding& mode, const random_input& random) noexcept {
  if (!to.has_sign && negative) [[unlikely]]
    return encode_nan(to, negative, 0, status::invalid);
  const std::uint64_t sign = std::uint64_t{negative ? 1u : 0u} << (to.exponent_bits + to.fraction_bits);
  const int emin = to.emin();
  const bool tiny_before = x.exponent < emin;
  if (!to.has_subnormals() && tiny_before) return encode_below_normals(to, negative, x, mode, random);

  // On the grid of x's binade, or of the subnormals. A carry into the next binade falls out of the code.
  const int quantum = (tiny_before ? emin : x.exponent) - to.fraction_bits;
  const cut_magnitude cut = cut_at(x, quantum);
  const bool up = rounds_up_at(x, quantum, cut, negative, mode, random);
  const int beyond_fields = static_cast<int>(to.exponent_field_mask()) + 1;
  const int field = x.exponent + to.bias > beyond_fields ? beyond_fields : x.exponent + to.bias;
  const std::uint64_t below_binade = tiny_before ? 0 : static_cast<std::uint64_t>(field - 1) << to.fraction_bits;
  const std::uint64_t code = below_binade + cut.kept + (up ? 1 : 0);
  if (code > to.max_finite_code()) return encode_overflow(to, negative, mode);
  if (tiny_before) return encode_tiny(to, negative, x, code, cut.is_exact(), mode, random);
  if (!to.has_subnormals() && code < to.min_normal_code())
    return encode_zero(to, negative, status::underflow | status::inexact);
  return {sign | code, cut.is_exact() ? status::none : status::inexact};
}

// x is not finite, or zero.
[[gnu::always_inline]] constexpr encoded encode_special(const format& to, const unpacked& x,
                                                        const rounding& mode) noexcept {
  if (x.kind == number_class::zero) return encode_zero(to, x.negative);
  if (x.kind == number_class::infinity) return encode_infinity(to, x.negative, mode);
  return encode_nan(to, x.negative, x.significand, x.signaling ? status::invalid : status::none);
}

// encode without DAZ, inlined: for exact results of operations.
[[gnu::always_inline]] constexpr encoded deliver(const format& to, const unpacked& x, const rounding& mode,
                                                 const random_input& random) noexcept {
  if (x.kind == number_class::finite) [[likely]]
    return encode_finite(to, x.negative, x, mode, random);
  return encode_special(to, x, mode);
}

}  // namespace detail

constexpr encoded encode(const format& to, const unpacked& x, const rounding& mode, random_input random) noexcept {
  expect_valid(mode);
  if (mode.daz && x.subnormal) return detail::encode_zero(to, x.negative);
  return detail::deliver(to, x, mode, random);
}

constexpr int discarded_bits(const format& to, const unpacked& x) noexcept {
  if (x.kind != number_class::finite) return 0;
  int quantum = x.exponent - to.fraction_bits;
  if (to.has_subnormals() && quantum < to.min_quantum_exponent()) quantum = to.min_quantum_exponent();
  const int bits = quantum - detail::lsb_exponent(x);
  return bits > 0 ? bits : 0;
}

}  // namespace ulp

#endif
