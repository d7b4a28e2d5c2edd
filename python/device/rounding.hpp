// Floats rounded to the numbers of a format: the bodies of the fast kernels in quantize.cu, which are also compiled for the
// host and there equal codec.hpp's encode and decode, bit for bit (tests/device/quantize_test.cpp).
//
// The bits of a number without the sign are its magnitude. Adding a power of two C whose last place is the unit q of the result,
// and taking it away again, leaves a multiple of q: C is 2^dropped times the binade of the number, or of the format's smallest
// normal number where that is larger. All sums and products but that first one are exact. A format with float32's exponents is rounded in
// its bits, of which the code is the upper part. Subnormal floats are numbers here: nothing may be compiled to flush them.
#ifndef ULP_DEVICE_ROUNDING_HPP
#define ULP_DEVICE_ROUNDING_HPP

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <ulp/formats/random_bits.hpp>
#include <ulp/formats/rounding.hpp>

#include "both.hpp"

// Before a loop that is not to be unrolled.
#ifdef __CUDA_ARCH__
#define ULP_ROLLED _Pragma("unroll 1")
#else
#define ULP_ROLLED
#endif

namespace ulp::device {

// A format, rounding and scale in terms of float32, made by plans.hpp. Pairs are for positive and for negative numbers; results
// have the sign of the number, which NaN keeps or not.
struct rounding_plan {
  std::uint32_t dropped;            // fraction bits that a normal result loses, 1..22
  std::uint32_t least;              // the smallest C, as bits
  std::uint32_t cap;                // larger numbers are taken for this one, which is beyond the largest
  float scale;                      // a power of two
  std::uint32_t largest;            // result
  std::uint32_t beyond[2];          // in place of larger ones
  std::uint32_t zero_below[2];      // numbers below become zero
  std::uint32_t zero_result_below;  // so do results, of stochastic rounding
  std::uint32_t infinite;           // in place of infinity
  std::uint32_t nan_kept, nan_set;  // bits of NaN

  // Of stochastic rounding: which bits of a lane, at the top of a word, are R, and what is added to them there.
  std::uint32_t random_kept, random_set;
  std::uint64_t seed, stream, first;
};

constexpr std::uint32_t infinity = 0x7F800000;  // also the exponent field in its place
constexpr std::uint32_t magnitude_bits = 0x7FFFFFFF;
constexpr int float_fraction_bits = 23;

ULP_BOTH inline std::uint32_t bits_of(float x) { return std::bit_cast<std::uint32_t>(x); }
ULP_BOTH inline float float_of(std::uint32_t bits) { return std::bit_cast<float>(bits); }

// Of numbers from 0 up, the second a power of two not below the first.
ULP_BOTH inline float sum_toward_zero(float x, float power) {
#ifdef __CUDA_ARCH__
  return __fadd_rz(x, power);
#else
  const float sum = x + power;
  return sum - power > x ? float_of(bits_of(sum) - 1) : sum;
#endif
}

// Results before overflow and flushing. `random` as in the plan.
template <direction Way>
ULP_BOTH std::uint32_t rounded_by_sums(const rounding_plan& plan, std::uint32_t magnitude, bool negative,
                                       std::uint32_t random) {
  const std::uint32_t capped = magnitude < plan.cap ? magnitude : plan.cap;
  const std::uint32_t power_bits = (capped & infinity) + (plan.dropped << float_fraction_bits);
  const std::uint32_t c = power_bits > plan.least ? power_bits : plan.least;
  const float x = float_of(capped);
  const float power = float_of(c);
  if constexpr (Way == direction::nearest_even) return bits_of((x + power - power) * plan.scale);

  const float sum = sum_toward_zero(x, power);
  const float below = sum - power;
  const float rest = x - below;
  const float unit = float_of(c - (std::uint32_t{float_fraction_bits} << float_fraction_bits));
  bool up = false;
  if constexpr (Way == direction::nearest_away) up = rest + rest >= unit;
  if constexpr (Way == direction::toward_positive) up = !negative && rest > 0;
  if constexpr (Way == direction::toward_negative) up = negative && rest > 0;
  if constexpr (Way == direction::to_odd) up = rest > 0 && (bits_of(sum) & 1) == 0;
  if constexpr (Way == direction::stochastic) {
    // rest / unit + R / 2^32 >= 1, for which the first 32 bits of the quotient are enough.
    constexpr std::uint32_t two_to_32 = (127 + 32) << float_fraction_bits;
    constexpr std::uint32_t two_to_23 = (127 + 23) << float_fraction_bits;
    up = static_cast<std::uint32_t>(rest * float_of(two_to_32 + two_to_23 - c)) > ~random;
  }
  return bits_of((up ? below + unit : below) * plan.scale);
}
template <direction Way>
ULP_BOTH std::uint32_t rounded_in_bits(const rounding_plan& plan, std::uint32_t magnitude, bool negative,
                                       std::uint32_t random) {
  const std::uint32_t unit = std::uint32_t{1} << plan.dropped;
  const std::uint32_t rest = magnitude & (unit - 1);
  std::uint32_t sum = magnitude;
  if constexpr (Way == direction::nearest_even) sum += unit / 2 - 1 + ((magnitude >> plan.dropped) & 1);
  if constexpr (Way == direction::nearest_away) sum += unit / 2;
  if constexpr (Way == direction::toward_positive) sum += negative ? 0 : unit - 1;
  if constexpr (Way == direction::toward_negative) sum += negative ? unit - 1 : 0;
  if constexpr (Way == direction::to_odd) sum |= rest != 0 ? unit : 0;
  if constexpr (Way == direction::stochastic) sum += random >> (32 - plan.dropped);
  return sum & ~(unit - 1);
}

// `random`, of stochastic rounding: R at the top of the word.
template <direction Way, bool InBits>
ULP_BOTH std::uint32_t rounded(const rounding_plan& plan, std::uint32_t bits, std::uint32_t random) {
  constexpr bool by_sign = Way == direction::toward_positive || Way == direction::toward_negative;
  const std::uint32_t magnitude = bits & magnitude_bits;
  const bool negative = bits >> 31 != 0;
  const auto of_sign = [negative](const std::uint32_t(&pair)[2]) { return by_sign && negative ? pair[1] : pair[0]; };
  std::uint32_t result = InBits ? rounded_in_bits<Way>(plan, magnitude, negative, random)
                                : rounded_by_sums<Way>(plan, magnitude, negative, random);
  if (result > plan.largest) result = of_sign(plan.beyond);
  if (magnitude < of_sign(plan.zero_below)) result = 0;
  if (Way == direction::stochastic && result < plan.zero_result_below) result = 0;
  if (magnitude == infinity) result = plan.infinite;
  result |= bits & ~magnitude_bits;
  return magnitude > infinity ? (bits & plan.nan_kept) | plan.nan_set : result;
}

struct alignas(16) four {
  std::uint32_t bits[4];
};

// random(j): that of number j.
template <direction Way, bool InBits, class Random>
ULP_BOTH four rounded(const rounding_plan& plan, const four& numbers, Random random) {
  four result;
  for (int j = 0; j < 4; ++j) result.bits[j] = rounded<Way, InBits>(plan, numbers.bits[j], random(j));
  return result;
}

ULP_BOTH inline std::array<std::uint32_t, 4> philox_block(const rounding_plan& plan, std::uint64_t block) {
  const auto low = [](std::uint64_t x) { return static_cast<std::uint32_t>(x); };
  return philox4x32({low(block), low(block >> 32), low(plan.stream), low(plan.stream >> 32)},
                    {low(plan.seed), low(plan.seed >> 32)});
}

// The part of an array that is read and written four numbers at a time, in pieces of `piece` numbers from number `begin` on. What is
// before and behind is done singly; all is, where the arrays are not aligned for it there.
struct whole_pieces {
  std::uint64_t begin;
  std::uint64_t count;
};
ULP_BOTH inline whole_pieces pieces_of(const std::uint32_t* numbers, const std::uint32_t* results, std::uint64_t size,
                                       std::uint64_t begin, std::uint64_t piece) {
  const auto misaligned = [=](const std::uint32_t* a) {
    return reinterpret_cast<std::uintptr_t>(a + begin) % sizeof(four);
  };
  if (begin > size || misaligned(numbers) != 0 || misaligned(results) != 0) return {size, 0};
  return {begin, (size - begin) / piece};
}
// Calls single(i) for what thread `thread` does of the rest.
template <class Single>
ULP_BOTH void for_rest(std::uint64_t thread, std::uint64_t threads, const whole_pieces& pieces, std::uint64_t piece,
                       std::uint64_t size, Single single) {
  const std::uint64_t inner = pieces.count * piece;
  for (std::uint64_t i = thread; i < size - inner; i += threads) single(i < pieces.begin ? i : i + inner);
}

// What thread `thread` of `threads`, a multiple of 32, does of `size` numbers, which may be rounded in place. 32 threads work side
// by side, each at four numbers at a time, and those four times.
template <direction Way, bool InBits>
ULP_BOTH void round_numbers(std::uint64_t thread, std::uint64_t threads, const rounding_plan& plan,
                            const std::uint32_t* numbers, std::uint32_t* results, std::uint64_t size) {
  constexpr int times = 4;
  constexpr int side = 32;
  constexpr std::uint64_t piece = 4 * times * side;
  const std::uint64_t begin = -(reinterpret_cast<std::uintptr_t>(numbers) / 4) % 4;  // up to the next 16 bytes
  const whole_pieces pieces = pieces_of(numbers, results, size, begin, piece);
  const auto* const from = reinterpret_cast<const four*>(numbers + pieces.begin);
  auto* const to = reinterpret_cast<four*>(results + pieces.begin);
  for (std::uint64_t p = thread / side; p < pieces.count; p += threads / side) {
    const std::uint64_t at = p * times * side + thread % side;
    four got[times];
    for (int i = 0; i < times; ++i) got[i] = from[at + side * i];
    for (int i = 0; i < times; ++i)
      to[at + side * i] = rounded<Way, InBits>(plan, got[i], [](int) { return std::uint32_t{0}; });
  }
  for_rest(thread, threads, pieces, piece, size,
           [&](std::uint64_t i) { results[i] = rounded<Way, InBits>(plan, numbers[i], 0); });
}

// The same stochastically, with random bits of lanes of Width bits. Of a group of 16 blocks of the generator, a thread makes 4 whose
// numbers lie side by side, and does all that these are for: 4 numbers of every 16.
template <int Width, bool InBits>
ULP_BOTH void round_stochastically(std::uint64_t thread, std::uint64_t threads, const rounding_plan& plan,
                                   const std::uint32_t* numbers, std::uint32_t* results, std::uint64_t size) {
  constexpr auto way = direction::stochastic;
  constexpr int lanes = 128 / Width;
  constexpr std::uint64_t group = 16 * lanes;
  constexpr int times = 4;                        // loads on their way at once, and lanes
  constexpr int words_used = times * Width / 32;  // by those
  const auto at_top = [&](std::uint32_t lane) { return (lane & plan.random_kept) | plan.random_set; };

  const whole_pieces groups = pieces_of(numbers, results, size, -plan.first % group, group);
  for (std::uint64_t share = thread; share < 4 * groups.count; share += threads) {
    const std::uint64_t mine = groups.begin + share / 4 * group + share % 4 * 4;
    const auto* const from = reinterpret_cast<const four*>(numbers + mine);
    auto* const to = reinterpret_cast<four*>(results + mine);
    four next[times];
    for (int i = 0; i < times; ++i) next[i] = from[4 * i];  // while random bits are made

    std::uint32_t words[4][4];
    const std::uint64_t index = plan.first + mine;
    const std::uint64_t block = index / group * 16 + index % 16;
    for (int j = 0; j < 4; ++j) {
      const auto made = philox_block(plan, block + static_cast<std::uint64_t>(j));
      for (std::size_t w = 0; w < 4; ++w) words[j][w] = made[w];
    }
    ULP_ROLLED for (int lane = 0; lane < lanes; lane += times) {
      for (int i = 0; i < times; ++i) {
        const four result = rounded<way, InBits>(
            plan, next[i], [&](int j) { return at_top(words[j][i * Width / 32] << (32 - Width - i * Width % 32)); });
        if (lane + times < lanes) next[i] = from[4 * (lane + times + i)];
        to[4 * (lane + i)] = result;
      }
      for (auto& of_block : words)
        for (int w = 0; w + words_used < 4; ++w) of_block[w] = of_block[w + words_used];
    }
  }
  for_rest(thread, threads, groups, group, size, [&](std::uint64_t i) {
    const std::uint32_t lane = random_bits(plan.seed, plan.stream, plan.first + i, Width) << (32 - Width);
    results[i] = rounded<way, InBits>(plan, numbers[i], at_top(lane));
  });
}

}  // namespace ulp::device

#endif
