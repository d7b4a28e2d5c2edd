// The loops of kernels, written once for vectors of any length: nothing but integers, no branch that depends on an element,
// nothing called. Inlined into functions for each level of processors (level.hpp). Those of blocks: block_loops.hpp.
#ifndef ULP_FORMATS_BULK_LOOPS_HPP
#define ULP_FORMATS_BULK_LOOPS_HPP

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "kernels.hpp"

namespace ulp::detail {

// Of float or double, in lanes of Bits.
template <class Bits, class Number>
struct number_layout {
  static constexpr int fraction_bits = std::numeric_limits<Number>::digits - 1;
  static constexpr int sign_position = 8 * sizeof(Number) - 1;
  static constexpr Bits implicit = Bits{1} << fraction_bits;
  static constexpr Bits magnitude = (Bits{1} << sign_position) - 1;
  static constexpr Bits infinity = magnitude - (implicit - 1);
};

// s / 2^shift as a whole number, shift from 1 to one less than the width. Deterministic ways only.
template <direction Way, class Bits>
[[gnu::always_inline]] inline Bits shifted(Bits s, Bits shift, Bits negative) {
  constexpr Bits all = std::numeric_limits<Bits>::max();
  constexpr Bits width = 8 * sizeof(Bits);
  if constexpr (Way == direction::nearest_even) {
    const Bits below_half = (all >> 1) >> (width - shift);
    return (s + below_half + ((s >> shift) & 1)) >> shift;
  } else if constexpr (Way == direction::nearest_away) {
    return ((s >> (shift - 1)) + 1) >> 1;
  } else if constexpr (Way == direction::toward_zero) {
    return s >> shift;
  } else if constexpr (Way == direction::to_odd) {
    const Bits kept = s >> shift;
    return kept | ((kept << shift) != s ? 1 : 0);
  } else {
    const Bits away = Way == direction::toward_negative ? 0 - negative : negative - 1;  // a mask
    return (s + ((all >> (width - shift)) & away)) >> shift;
  }
}

// How a stochastic definition cuts the discarded part to N bits.
template <stochastic_definition Definition>
inline constexpr direction cut_of = Definition == stochastic_definition::a   ? direction::toward_zero
                                    : Definition == stochastic_definition::b ? direction::nearest_away
                                                                             : direction::nearest_even;

template <class Bits>
[[gnu::always_inline]] inline Bits mask(bool condition) {
  return condition ? std::numeric_limits<Bits>::max() : 0;
}

struct way_of_rounding {
  ulp::direction direction;
  stochastic_definition definition = stochastic_definition::a;
};

// An element on its way to a code.
template <class Bits>
struct lane {
  Bits magnitude;
  Bits negative;  // 0 or 1
  Bits significand;
  Bits dropped;  // bits of it that are discarded, at most one less than the width
  Bits code;     // without sign, unlimited
};

template <way_of_rounding Way, class Bits, class Number>
[[gnu::always_inline]] inline lane<Bits> rounded(const encode_plan<Bits>& plan, Number value, std::uint32_t random) {
  using layout = number_layout<Bits, Number>;
  using integer = std::make_signed_t<Bits>;
  constexpr integer most = 8 * sizeof(Bits) - 1;
  lane<Bits> x;
  const auto number = std::bit_cast<bits_of<Number>>(value);
  x.magnitude = number & layout::magnitude;
  x.negative = static_cast<Bits>(number >> layout::sign_position);
  const Bits at_least_normal = x.magnitude > layout::implicit ? x.magnitude : layout::implicit;
  const Bits field_in_place = at_least_normal & layout::infinity;
  x.significand = x.magnitude - field_in_place + layout::implicit;
  const auto field = static_cast<integer>(field_in_place >> layout::fraction_bits);
  const integer lowest = plan.lowest_field;
  const integer binade = field > lowest ? field : lowest;
  const integer below = binade - field;
  const integer dropped = below + plan.dropped;
  x.dropped = static_cast<Bits>(dropped < most ? dropped : most);
  const Bits base = static_cast<Bits>(binade - lowest) << plan.fraction_bits;
  if constexpr (Way.direction == direction::stochastic) {
    const integer to_random = below + plan.dropped_to_random;
    const Bits cut = shifted<cut_of<Way.definition>>(x.significand << plan.widening,
                                                     static_cast<Bits>(to_random < most ? to_random : most), Bits{0});
    x.code = base + ((cut + random) >> plan.random_bits);
  } else {
    x.code = base + shifted<Way.direction>(x.significand, x.dropped, x.negative);
  }
  return x;
}

template <way_of_rounding Way, class Code>
[[gnu::always_inline]] inline bool encode_plainly(const encode_plan<std::uint32_t>& told, const float* numbers,
                                                  const std::uint32_t* random, Code* __restrict codes,
                                                  std::size_t size) {
  using layout = number_layout<std::uint32_t, float>;
  const encode_plan<std::uint32_t> plan = told;  // which no store changes
  std::uint32_t largest = 0;
  for (std::size_t i = 0; i < size; ++i) {
    const auto x = rounded<Way>(plan, numbers[i], Way.direction == direction::stochastic ? random[i] : 0);
    largest = x.magnitude > largest ? x.magnitude : largest;
    std::uint32_t limit = plan.limit[0];
    if constexpr (Way.direction == direction::toward_positive || Way.direction == direction::toward_negative)
      limit = ((0 - x.negative) & plan.limit[1]) + ((x.negative - 1) & limit);
    const std::uint32_t code = x.code < limit ? x.code : limit;
    codes[i] = static_cast<Code>(code | x.negative << plan.sign_position);
  }
  return largest >= layout::infinity;
}

template <way_of_rounding Way, class Bits, class Number>
[[gnu::always_inline]] inline bool encode_fully(const encode_plan<Bits>& told, const Number* numbers,
                                                const std::uint32_t* random, std::uint32_t* __restrict codes,
                                                std::size_t size, conversion_counts& counts) {
  using layout = number_layout<Bits, Number>;
  const encode_plan<Bits> plan = told;
  // Masks instead of conditions, and sums of them, which count down: compilers make vectors of these.
  Bits left_out = 0, zeros = 0, newly_zero = 0, subnormal = 0, inexact = 0, overflowed = 0;
  for (std::size_t i = 0; i < size; ++i) {
    const auto x = rounded<Way>(plan, numbers[i], Way.direction == direction::stochastic ? random[i] : 0);
    const Bits negative = 0 - x.negative;
    const Bits unknown =
        mask<Bits>(x.magnitude >= layout::infinity) | mask<Bits>(x.magnitude - 1 < plan.left_out_below);
    const Bits daz = mask<Bits>(x.magnitude < plan.daz_below);
    const Bits flushed =
        daz | mask<Bits>(x.magnitude < (negative & plan.zero_below[1]) + (~negative & plan.zero_below[0]));
    const Bits wide_code = x.code - plan.below_lowest;
    const Bits beyond = mask<Bits>(wide_code > plan.largest);
    const Bits over = beyond & ~flushed & ~unknown;
    const Bits limit = (negative & plan.limit[1]) + (~negative & plan.limit[0]);
    const Bits limited = (beyond & limit) + (~beyond & wide_code);
    const Bits code = limited & ~(flushed | mask<Bits>(limited < plan.zero_below_code));
    const Bits no_code = mask<Bits>(code == 0);
    const Bits is_zero = mask<Bits>(x.magnitude == 0);
    const Bits newly = no_code & ~is_zero & ~unknown;
    const Bits lost = mask<Bits>((x.significand << (8 * sizeof(Bits) - x.dropped)) != 0);
    left_out |= unknown;
    zeros -= is_zero;
    newly_zero -= newly;
    subnormal -= mask<Bits>(code - 1 < plan.min_normal_code - 1) & ~unknown;
    inexact -= (lost | over | newly) & ~daz & ~unknown;
    overflowed -= over;
    codes[i] = static_cast<std::uint32_t>(code | (x.negative & (~no_code | plan.zero_sign)) << plan.sign_position);
  }
  counts.zeros += zeros;
  counts.newly_zero += newly_zero;
  counts.subnormal += subnormal;
  counts.inexact += inexact;
  counts.overflowed += overflowed;
  return left_out != 0;
}

// Doubles to floats, rounded to odd: rounding them once more gives what rounding the doubles gives, where may_narrow
// of plan.hpp says so (Boldo, Melquiond 2008, "Emulation of FMA and correctly rounded sums"). NaN is quiet and keeps the upper part of
// its payload. Returns whether finite numbers were beyond float's range, which become its largest.
[[gnu::always_inline]] inline bool to_odd_all(const double* numbers, float* __restrict odd, std::size_t size) {
  using layout = number_layout<std::uint64_t, double>;
  constexpr std::uint64_t dropped = layout::fraction_bits - 23;
  constexpr std::uint64_t lowest_field = 1023 - 126;
  constexpr std::uint64_t beyond = std::uint64_t{1023 + 128} << layout::fraction_bits;
  // Of numbers below 2^63, in the order that processors compare in vectors.
  const auto less = [](std::uint64_t a, std::uint64_t b) {
    return static_cast<std::int64_t>(a) < static_cast<std::int64_t>(b);
  };
  std::uint64_t outside = ~std::uint64_t{0};  // its sign is gone once a number is from `beyond` to infinity
  for (std::size_t i = 0; i < size; ++i) {
    const auto number = std::bit_cast<std::uint64_t>(numbers[i]);
    const std::uint64_t magnitude = number & layout::magnitude;
    const std::uint64_t field = magnitude >> layout::fraction_bits;
    const std::uint64_t binade = less(field, lowest_field) ? lowest_field : field;
    const std::uint64_t further = binade - field + dropped;
    const std::uint64_t shift = less(further, 63) ? further : 63;
    const std::uint64_t significand = (magnitude & (layout::implicit - 1)) | layout::implicit;
    const std::uint64_t kept = significand >> shift;
    const std::uint64_t lost = (kept << shift) == significand ? 0 : 1;
    const std::uint64_t finite = (((binade - lowest_field) << 23) + kept) | lost;
    const std::uint64_t payload =
        (magnitude >> dropped & 0x7FFFFF) | (less(layout::infinity, magnitude) ? 0x400000 : 0);
    const std::uint64_t large = less(magnitude, layout::infinity) ? 0x7F7FFFFF : 0x7F800000 | payload;
    const std::uint64_t nonzero = less(magnitude, beyond) ? finite : large;
    outside &= (magnitude - beyond) | (layout::infinity - 1 - magnitude);
    const std::uint64_t value = (magnitude == 0 ? 0 : nonzero) | number >> 63 << 31;
    odd[i] = std::bit_cast<float>(static_cast<std::uint32_t>(value));
  }
  return outside >> 63 == 0;
}

template <class Bits, class Code>
[[gnu::always_inline]] inline void decode_all(const decode_plan<Bits>& told, const Code* codes,
                                              number_of<Bits>* __restrict numbers, std::size_t size) {
  using number = number_of<Bits>;
  using layout = number_layout<Bits, number>;
  constexpr Bits quiet = layout::implicit >> 1;
  const decode_plan<Bits> plan = told;
  for (std::size_t i = 0; i < size; ++i) {
    const Bits code = codes[i];
    const Bits magnitude = code & plan.magnitude_mask;
    const Bits negative = code >> plan.sign_position & 1;
    const Bits in_place = magnitude << plan.dropped;
    // Exact, whatever the processor's state.
    const auto integer = static_cast<number>(static_cast<std::int32_t>(magnitude));
    const Bits no_magnitude = mask<Bits>(magnitude == 0);
    const Bits subnormal = (std::bit_cast<Bits>(integer) + plan.subnormal_offset) & ~no_magnitude;
    const Bits finite = magnitude < plan.min_normal_code ? subnormal : in_place + plan.normal_offset;
    const Bits payload = in_place & plan.payload_mask;
    const Bits special = layout::infinity | payload | (mask<Bits>(payload != 0) & quiet) | plan.plain_nan;
    const Bits value = magnitude > plan.largest ? special : finite;
    const Bits minus_zero = no_magnitude & (0 - negative) & plan.negative_zero;
    numbers[i] = std::bit_cast<number>(value | minus_zero | negative << layout::sign_position);
  }
}

template <class Code>
[[gnu::always_inline]] inline void narrow_all(const std::uint32_t* codes, Code* __restrict narrow, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) narrow[i] = static_cast<Code>(codes[i]);
}

// random_bits.hpp's generator for 16 blocks side by side.
[[gnu::always_inline]] inline void random_groups(const random_stream& random, std::uint64_t block, int bits,
                                                 std::uint32_t* __restrict out, std::size_t groups) {
  const int width = bits <= 8 ? 8 : bits <= 16 ? 16 : 32;
  const int dropped = width - bits;
  const std::uint32_t mask = width == 32 ? ~std::uint32_t{0} : (std::uint32_t{1} << width) - 1;
  for (; groups != 0; --groups, block += 16) {
    std::uint32_t words[4][16];
    for (std::uint32_t i = 0; i < 16; ++i) {
      // The 16 blocks of a group differ in their lowest four bits only.
      std::uint32_t c0 = static_cast<std::uint32_t>(block) + i;
      std::uint32_t c1 = static_cast<std::uint32_t>(block >> 32);
      std::uint32_t c2 = static_cast<std::uint32_t>(random.stream);
      std::uint32_t c3 = static_cast<std::uint32_t>(random.stream >> 32);
      std::uint32_t k0 = static_cast<std::uint32_t>(random.seed);
      std::uint32_t k1 = static_cast<std::uint32_t>(random.seed >> 32);
#pragma GCC unroll 10
      for (int round = 0; round < 10; ++round) {
        const std::uint64_t a = std::uint64_t{0xD2511F53} * c0;
        const std::uint64_t b = std::uint64_t{0xCD9E8D57} * c2;
        c0 = static_cast<std::uint32_t>(b >> 32) ^ c1 ^ k0;
        c1 = static_cast<std::uint32_t>(b);
        c2 = static_cast<std::uint32_t>(a >> 32) ^ c3 ^ k1;
        c3 = static_cast<std::uint32_t>(a);
        k0 += 0x9E3779B9;
        k1 += 0xBB67AE85;
      }
      words[0][i] = c0;
      words[1][i] = c1;
      words[2][i] = c2;
      words[3][i] = c3;
    }
    for (const auto& word : words)
      for (int shift = 0; shift < 32; shift += width, out += 16)
        for (std::size_t i = 0; i < 16; ++i) out[i] = (word[i] >> shift & mask) >> dropped;
  }
}

}  // namespace ulp::detail

#endif
