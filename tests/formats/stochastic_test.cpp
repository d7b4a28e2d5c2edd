// Pins what stochastic rounding does to sums and to means: additions that nearest-even swallows survive on average,
// and the bias of each definition with few random bits is the published one, by enumeration of every random value.
#include <cmath>
#include <cstdint>
#include <vector>

#include <ulp/formats/catalog.hpp>
#include <ulp/formats/codec.hpp>
#include <ulp/formats/random_bits.hpp>

#include "support/catch.hpp"

namespace {

using namespace ulp;

constexpr int additions = 2048;

struct moments {
  double mean = 0;
  double deviation = 0;
};

// 1024 + 2048 times 0.5 as a Markov chain: below 2048 the sum goes up by 1 with probability 1/2, from there on by 2
// with probability 1/4 (half a step, then a quarter of one). The sum never leaves [1024, 4096).
moments theory() {
  std::vector<double> probability(4097);
  probability[1024] = 1;
  for (int i = 0; i < additions; ++i) {
    std::vector<double> next(probability.size());
    for (std::size_t v = 1024; v < 4095; ++v) {
      const std::size_t step = v < 2048 ? 1 : 2;
      const double up = 0.5 / static_cast<double>(step);
      next[v] += (1 - up) * probability[v];
      next[v + step] += up * probability[v];
    }
    probability = next;
  }
  moments m;
  for (std::size_t v = 0; v < probability.size(); ++v) m.mean += probability[v] * static_cast<double>(v);
  double variance = 0;
  for (std::size_t v = 0; v < probability.size(); ++v)
    variance += probability[v] * (static_cast<double>(v) - m.mean) * (static_cast<double>(v) - m.mean);
  m.deviation = std::sqrt(variance);
  return m;
}

double add_halves(const rounding& mode, std::uint64_t seed) {
  std::uint64_t sum = encode(float16, 1024.0).code;
  for (int i = 0; i < additions; ++i)
    sum = encode(float16, to_double(float16, sum) + 0.5, mode,
                 random_bits(seed, 0, static_cast<std::uint64_t>(i), mode.random_bits))
              .code;
  return to_double(float16, sum);
}

// Mean of rounded - exact over all random values and all fractions d / 2^digits of a step, in steps.
double bias(stochastic_definition definition, int digits, int bits) {
  const rounding mode{.direction = direction::stochastic, .definition = definition, .random_bits = bits};
  double total = 0;
  for (int d = 0; d < 1 << digits; ++d)
    for (std::uint32_t random = 0; random < 1u << bits; ++random) {
      const double x = 1024 + std::ldexp(d, -digits);  // steps of 1 in float16
      total += to_double(float16, encode(float16, x, mode, random).code) - x;
    }
  return total / std::ldexp(1.0, digits + bits);
}

}  // namespace

TEST_CASE("nearest even swallows each addition of half a step") { CHECK(add_halves({}, 0) == 1024); }

TEST_CASE("stochastic rounding keeps additions of half a step on average") {
  const moments expected = theory();
  CHECK(std::abs(expected.mean - 2048) < 1e-6);
  // sqrt(2048 / 4) = 22.63 for a walk in steps of 1 alone; the steps of 2 at its upper end add a little.
  CHECK(expected.deviation > 22.6);
  CHECK(expected.deviation < 22.9);

  const int seeds = 10000;
  double sum = 0;
  double squares = 0;
  for (int seed = 0; seed < seeds; ++seed) {
    const double result = add_halves({.direction = direction::stochastic}, static_cast<std::uint64_t>(seed));
    sum += result - 2048;
    squares += (result - 2048) * (result - 2048);
  }
  const double mean = sum / seeds;
  const double deviation = std::sqrt(squares / seeds - mean * mean);
  // Standard errors: deviation / sqrt(n) of the mean, deviation / sqrt(2n) of the (nearly normal) deviation.
  CHECK(std::abs(mean) < 5 * expected.deviation / std::sqrt(seeds));
  CHECK(std::abs(deviation - expected.deviation) < 5 * expected.deviation / std::sqrt(2.0 * seeds));
}

// Fitzgibbon and Felix, "On Stochastic Rounding with Few Random Bits" (2025): with D discarded and N random bits, A is
// biased by -(2^-N - 2^-D)/2, B by 2^-(D+1), C not at all.
TEST_CASE("the bias of few random bits, by enumeration") {
  CHECK(bias(stochastic_definition::a, 5, 3) == -3.0 / 64);
  CHECK(bias(stochastic_definition::b, 5, 3) == 1.0 / 64);
  CHECK(bias(stochastic_definition::c, 5, 3) == 0);
  for (const int digits : {5, 8, 11})
    for (const int bits : {1, 2, 4}) {
      INFO("D = " << digits << ", N = " << bits);
      CHECK(bias(stochastic_definition::a, digits, bits) == -(std::ldexp(1.0, -bits) - std::ldexp(1.0, -digits)) / 2);
      CHECK(bias(stochastic_definition::b, digits, bits) == std::ldexp(1.0, -digits - 1));
      CHECK(bias(stochastic_definition::c, digits, bits) == 0);
    }
}

TEST_CASE("as many random bits as discarded ones leave no bias") {
  for (const auto d : {stochastic_definition::a, stochastic_definition::b, stochastic_definition::c})
    CHECK(bias(d, 8, 8) == 0);
}

// The smallest part of a step that can round up: 2^-N for A, 2^-(N+1) for B, just above it for C (whose tie is even).
TEST_CASE("the smallest part of a step that can round up") {
  const auto can_round_up = [](stochastic_definition d, double part, int bits) {
    const std::uint32_t all = 0xFFFFFFFFu >> (32 - bits);
    const rounding mode{.direction = direction::stochastic, .definition = d, .random_bits = bits};
    return encode(float16, 1024 + part, mode, all).code != encode(float16, 1024.0).code;
  };
  for (const int bits : {1, 3, 8, 13, 32}) {
    const double full = std::ldexp(1.0, -bits);
    const double below = 1 - std::ldexp(1.0, -8);
    CHECK(can_round_up(stochastic_definition::a, full, bits));
    CHECK_FALSE(can_round_up(stochastic_definition::a, full * below, bits));
    CHECK(can_round_up(stochastic_definition::b, full / 2, bits));
    CHECK_FALSE(can_round_up(stochastic_definition::b, full / 2 * below, bits));
    CHECK(can_round_up(stochastic_definition::c, full / 2 / below, bits));
    CHECK_FALSE(can_round_up(stochastic_definition::c, full / 2, bits));
  }
}
