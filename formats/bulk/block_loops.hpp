// The loops of kernels over blocks and their elements. As loops.hpp, but with single operations of IEEE arithmetic on float, in
// the default state of the processor.
#ifndef ULP_FORMATS_BULK_BLOCK_LOOPS_HPP
#define ULP_FORMATS_BULK_BLOCK_LOOPS_HPP

#include <bit>
#include <cstddef>
#include <cstdint>

#include "kernels.hpp"

namespace ulp::detail {

// Width: of each block, or 0 where only the argument says it. NaN is greater than infinity.
template <std::size_t Width>
[[gnu::always_inline]] inline void block_magnitudes_all(const float* numbers, std::size_t width, std::size_t blocks,
                                                        float* __restrict greatest) {
  const std::size_t size = Width != 0 ? Width : width;
  for (std::size_t b = 0; b < blocks; ++b, numbers += size) {
    std::int32_t most = 0;
    for (std::size_t i = 0; i < size; ++i) {
      const std::int32_t magnitude = std::bit_cast<std::int32_t>(numbers[i]) & 0x7FFFFFFF;
      most = magnitude > most ? magnitude : most;
    }
    greatest[b] = std::bit_cast<float>(most);
  }
}

template <std::size_t Width, bool Divides>
[[gnu::always_inline]] inline void scale_blocks_all(const float* numbers, std::size_t width, std::size_t blocks,
                                                    const float* by, float* __restrict scaled) {
  const std::size_t size = Width != 0 ? Width : width;
  for (std::size_t b = 0; b < blocks; ++b, numbers += size, scaled += size) {
    const float factor = by[b];
    for (std::size_t i = 0; i < size; ++i) scaled[i] = Divides ? numbers[i] / factor : numbers[i] * factor;
  }
}

inline constexpr std::uint32_t magnitude_bits = 0x7FFFFFFF;
inline constexpr std::uint32_t infinity_bits = 0x7F800000;

[[gnu::always_inline]] inline float with_sign_of(float magnitude, std::uint32_t number) {
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(magnitude) | (number & ~magnitude_bits));
}

// To a whole number. Precondition: a from 0 to 2^22.
template <integer_way Way>
[[gnu::always_inline]] inline float whole(float a) {
  if constexpr (Way == integer_way::toward_zero) return static_cast<float>(static_cast<std::int32_t>(a));
  // Where the sum is rounded, it is the one of the number before 0.5, which becomes 1.
  const auto by_sum = static_cast<float>(static_cast<std::int32_t>(a + 0.5F));
  if constexpr (Way == integer_way::away_by_sum) return by_sum;
  const std::uint32_t below_half = a < 0.5F ? ~0U : 0;
  if constexpr (Way == integer_way::away)
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(by_sum) & ~below_half);
  const float even = (a + 0x1p23F) - 0x1p23F;  // 0 below half
  if constexpr (Way == integer_way::even_by_sum)
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(even) |
                                (std::bit_cast<std::uint32_t>(by_sum) & below_half));
  return even;
}

template <integer_way Way, bool Counting>
[[gnu::always_inline]] inline void encode_integers_all(const integer_plan& told, const float* numbers,
                                                       std::uint8_t* __restrict codes, std::size_t size,
                                                       conversion_counts* counts) {
  // Beyond all integers of 8 bits.
  constexpr std::uint32_t beyond = std::bit_cast<std::uint32_t>(1024.0F);
  const integer_plan plan = told;
  std::uint32_t nan = 0, zeros = 0, newly_zero = 0, inexact = 0, overflowed = 0;
  for (std::size_t i = 0; i < size; ++i) {
    const auto bits = std::bit_cast<std::uint32_t>(numbers[i] * plan.one);
    const std::uint32_t magnitude = bits & magnitude_bits;
    const float exact = std::bit_cast<float>(magnitude < beyond ? magnitude : beyond);
    const float integer = with_sign_of(whole<Way>(exact), bits);
    const float at_least = integer < plan.least ? plan.least : integer;
    const float limited = at_least > plan.largest ? plan.largest : at_least;
    const std::uint32_t is_nan = magnitude > infinity_bits ? ~0U : 0;
    const std::uint32_t code = static_cast<std::uint32_t>(static_cast<std::int32_t>(limited)) & plan.mask;
    codes[i] = static_cast<std::uint8_t>((code & ~is_nan) | (nan_of_integers & is_nan));
    if constexpr (Counting) {
      const std::uint32_t finite = magnitude < infinity_bits ? ~0U : 0;
      const std::uint32_t is_zero = magnitude == 0 ? ~0U : 0;
      nan -= is_nan;
      zeros -= is_zero;
      newly_zero -= (limited == 0 ? ~0U : 0) & ~is_zero & ~is_nan;
      inexact -= (limited != std::bit_cast<float>(bits) ? ~0U : 0) & finite;
      overflowed -= (limited != integer ? ~0U : 0) & finite;
    }
  }
  if constexpr (Counting) {
    counts->nan += nan;
    counts->zeros += zeros;
    counts->newly_zero += newly_zero;
    counts->inexact += inexact;
    counts->overflowed += overflowed;
  }
}

// How many numbers below 2^k a log2 in float32 takes for 2^k (log2f.cpp): half a unit in the last place of k on that side,
// over ln 2, in units of 2^-24.
[[gnu::always_inline]] inline std::int32_t taken_for_power(std::int32_t k) {
  const auto side = static_cast<float>(k - 1 > -k ? k - 1 : -k);
  const float power = std::bit_cast<float>(std::bit_cast<std::uint32_t>(side) & infinity_bits);
  return static_cast<std::int32_t>(power * 0.693147182F);
}

template <integer_way Way>
[[gnu::always_inline]] inline void round_to_grid_all(const grid_plan& told, float* numbers, std::size_t size) {
  const grid_plan plan = told;
  for (std::size_t i = 0; i < size; ++i) {
    const auto bits = std::bit_cast<std::uint32_t>(numbers[i]);
    const std::uint32_t stays = (bits & magnitude_bits) >= infinity_bits ? ~0U : 0;
    const auto magnitude = static_cast<std::int32_t>(bits & magnitude_bits & ~stays);
    const std::int32_t binade = (magnitude + taken_for_power((magnitude >> 23) - 126)) >> 23;
    const std::int32_t above = binade - plan.lowest_field;
    const std::int32_t step = plan.lowest_field - plan.fraction_bits + (above > 0 ? above : 0);
    const float unit = std::bit_cast<float>(step << 23);
    const float per_unit = std::bit_cast<float>((254 - step) << 23);
    const float on_grid = with_sign_of(whole<Way>(std::bit_cast<float>(magnitude) * per_unit) * unit, bits);
    numbers[i] = std::bit_cast<float>((std::bit_cast<std::uint32_t>(on_grid) & ~stays) | (bits & stays));
  }
}

// Magnitude of the nearest number of float4_e2m1, ties to even; NaN becomes 0.
[[gnu::always_inline]] inline float nearest_e2m1(float x) {
  constexpr auto largest = std::bit_cast<std::uint32_t>(6.0F);
  constexpr auto one = std::bit_cast<std::uint32_t>(1.0F);
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(x) & magnitude_bits;
  const std::uint32_t magnitude = bits > infinity_bits ? 0 : bits < largest ? bits : largest;
  const std::uint32_t binade = (magnitude > one ? magnitude : one) & infinity_bits;
  // The last bit of what is added is half of the binade: the place of the format's last bit.
  const float large = std::bit_cast<float>(binade + (22U << 23U));
  return (std::bit_cast<float>(magnitude) + large) - large;
}

template <std::size_t Width, bool Squares, bool Unscaled>
[[gnu::always_inline]] inline void e2m1_errors_all(const float* numbers, std::size_t width, std::size_t blocks,
                                                   const e2m1_error_plan& told, const float* factors,
                                                   const float* scales, float* __restrict sums) {
  // Some blocks at a time, whose errors are made side by side and added up one after the other.
  constexpr std::size_t some = 16;
  constexpr std::size_t part = 16;
  const e2m1_error_plan plan = told;
  const std::size_t size = Width != 0 ? Width : width;
  float errors[some * part];
  for (std::size_t first = 0; first < blocks; first += some) {
    const std::size_t count = blocks - first < some ? blocks - first : some;
    for (std::size_t b = 0; b < count; ++b) sums[first + b] = 0;
    for (std::size_t begin = 0; begin < size; begin += part) {
      const std::size_t length = Width == part || size - begin >= part ? part : size - begin;
      for (std::size_t b = 0; b < count; ++b) {
        const float* const from = numbers + (first + b) * size + begin;
        const float factor = factors[first + b];
        const float scale = scales[first + b];
        for (std::size_t i = 0; i < length; ++i) {
          const float x = from[i];
          const float number = with_sign_of(nearest_e2m1(x * factor), std::bit_cast<std::uint32_t>(x * factor));
          const float error =
              Unscaled ? number * scale - x * plan.encode : number * scale * plan.amax / plan.divisor - x;
          errors[b * part + i] =
              Squares ? error * error : std::bit_cast<float>(std::bit_cast<std::uint32_t>(error) & magnitude_bits);
        }
      }
      for (std::size_t b = 0; b < count; ++b) {
        float sum = sums[first + b];
        for (std::size_t i = 0; i < length; ++i) sum += errors[b * part + i];
        sums[first + b] = sum;
      }
    }
  }
}

}  // namespace ulp::detail

#endif
