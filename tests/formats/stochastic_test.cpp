// Pins what stochastic rounding does to sums and to means: additions that nearest-even swallows survive on average, and
// the bias of each definition with few random bits is the published one, by enumeration of every random value. For
// every operand tuple of a 6-bit format (of fma every 11th; exhaustive_arithmetic_test.cpp has them all) and every
// random value, results are the oracle's and as many are rounded up as the exact discarded part says; with all random
// bits that is the discarded part itself, and no other bit counts.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include <ulp/formats/arithmetic.hpp>
#include <ulp/formats/catalog.hpp>
#include <ulp/formats/codec.hpp>
#include <ulp/formats/random_bits.hpp>

#include "formats/operations.hpp"
#include "support/catch.hpp"
#include "support/oracle.hpp"

namespace {

using namespace ulp;
using namespace ulp::test;

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

// Calls check(x) for operand tuples of float6_e3m2 that the operation has, every `stride`th of them.
template <class Check>
void over_operands(operation op, int stride, Check check) {
  const int digits = 6 * operand_count(op);
  for (std::uint64_t i = 0; i < std::uint64_t{1} << digits; i += static_cast<std::uint64_t>(stride))
    check(codes{i & 63, (i >> 6) & 63, i >> 12});
}

int stride_of(operation op) { return op == operation::fma ? 11 : 1; }

constexpr std::array rounded_operations{operation::convert, operation::add,  operation::mul,
                                        operation::div,     operation::sqrt, operation::fma};

// The two neighbours of the exact result in float6_e3m2, the one nearer to zero first.
struct both_neighbours {
  std::uint64_t down = 0;
  std::uint64_t up = 0;
};

both_neighbours neighbours_of(const oracle& exact) {
  const std::uint64_t toward_zero = exact({.direction = direction::toward_zero}).code;
  const std::uint64_t above = exact({.direction = direction::toward_positive}).code;
  const std::uint64_t below = exact({.direction = direction::toward_negative}).code;
  return {toward_zero, toward_zero == above ? below : above};
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

TEST_CASE("how many random values round up, of every one of 1 to 4 bits") {
  const format& f = float6_e3m2;
  const std::array<format, 3> from{f, f, f};
  for (const operation op : rounded_operations) {
    // Conversion to the operands' own format rounds nothing: there to a format of one fraction bit.
    const format& to = op == operation::convert ? float4_e2m1 : f;
    sweep s;
    over_operands(op, stride_of(op), [&](const codes& x) {
      const oracle exact{op, to, values_of(from, x)};
      const std::array<unpacked, 3> operands{decode(f, x[0]), decode(f, x[1]), decode(f, x[2])};
      const auto [down, up] = neighbours_of(exact);
      for (const auto definition : {stochastic_definition::a, stochastic_definition::b, stochastic_definition::c})
        for (int bits = 1; bits <= 4; ++bits) {
          const rounding mode{.direction = direction::stochastic, .definition = definition, .random_bits = bits};
          std::uint64_t counted = 0;
          for (std::uint32_t random = 0; random < 1u << bits; ++random) {
            const encoded got = library(op, to, operands, mode, random);
            const encoded expected = exact(mode, random);
            s.expect(same(got, expected), [&] { return describe(op, to, from, x, mode, got, expected); });
            if (got.code == up) ++counted;
          }
          if (up != down)
            s.expect(counted == exact.ups(mode), [&] {
              return describe(op, to, from, x, mode, {}, {}) + ": " + std::to_string(counted) +
                     " rounded up, expected " + std::to_string(exact.ups(mode));
            });
        }
    });
    INFO(to_string(op));
    CHECK(s.failures() == "");
  }
}

// A discarded part of D units of 2^-w is rounded up by exactly D of the 2^w random values of w bits: D + R >= 2^w.
TEST_CASE("all random bits: the part that is rounded up is the discarded part") {
  const format& f = float6_e3m2;
  const std::array<format, 3> from{f, f, f};
  for (const operation op : {operation::convert, operation::add, operation::sub, operation::mul, operation::fma}) {
    const format& to = op == operation::convert ? float4_e2m1 : f;
    sweep s;
    int longest = 0;
    over_operands(op, 1, [&](const codes& x) {
      const oracle exact{op, to, values_of(from, x)};
      const std::array<unpacked, 3> operands{decode(f, x[0]), decode(f, x[1]), decode(f, x[2])};
      const auto [down, up] = neighbours_of(exact);
      const auto [part, bits] = exact.discarded();
      const rounding mode{.direction = direction::stochastic, .random_bits = exact_probability};
      const auto rounds_up = [&](std::uint64_t random, std::uint32_t further) {
        const std::uint32_t word = (bits == 0 ? 0 : static_cast<std::uint32_t>(random << (32 - bits))) | further;
        return library(op, to, operands, mode, word).code != down;
      };
      // Exact results read no random bits, and those beyond the largest number have no neighbours.
      if (bits == 0 || up == down) {
        s.expect(!rounds_up(0, 0) && !rounds_up(0, 0xFFFFFFFF),
                 [&] { return describe(op, to, from, x, mode, {}, {}); });
        return;
      }
      longest = std::max(longest, bits);
      // Random values up to 2^12 are counted. For longer parts (fma) those on both sides of the edge have to do.
      const std::uint64_t all = std::uint64_t{1} << bits;
      const std::uint64_t edge = all - part;
      bool agrees = bits > 0 && bits < 32;
      if (bits <= 12) {
        std::uint64_t counted = 0;
        for (std::uint64_t random = 0; random < all; ++random) counted += rounds_up(random, 0) ? 1 : 0;
        agrees = agrees && counted == part;
      }
      // The last bit counts (`part` and so `edge` are odd), those after it do not.
      const std::uint32_t beyond = 0xFFFFFFFF >> bits;
      agrees = agrees && part % 2 == 1 && rounds_up(edge, 0) && rounds_up(edge, beyond) && !rounds_up(edge - 1, 0) &&
               !rounds_up(edge - 1, beyond);
      s.expect(agrees, [&] { return describe(op, to, from, x, mode, {}, {}) + ' ' + std::to_string(bits) + " bits"; });
    });
    INFO(to_string(op));
    CHECK(s.failures() == "");
    CHECK(longest >= (op == operation::fma ? 9 : op == operation::convert ? 2 : 4));
  }
}

TEST_CASE("discarded_bits is how many random bits count") {
  for (const format& to : {float16, bfloat16, cbfloat16, float8_e4m3fn, float8_e5m2fnuz, dlfloat16}) {
    sweep s;
    operand_source source{operation::convert, to, {binary32, binary32, binary32}, 30};
    for (int i = 0; i < 20000; ++i) {
      const std::uint64_t code = source.next()[0];
      const unpacked x = decode(binary32, code);
      const auto exact = oracle{operation::convert, to, {value_of(binary32, code), {}, {}}};
      // Far below the least number the discarded part is longer than what the oracle returns as one.
      if (x.kind == number_class::finite && x.exponent < to.min_quantum_exponent() - 30) continue;
      const int bits = discarded_bits(to, x);
      s.expect(bits == exact.discarded().bits, [&] { return describe(to) + ' ' + describe(encoded{code}); });
    }
    CHECK(s.failures() == "");
  }
}

// The digits of R are read from the top, as many as are discarded and no more: with words that just reach one, that
// fall short by the last digit, and with anything beyond.
TEST_CASE("scripted random bits of a long discarded part") {
  const rounding mode{.direction = direction::stochastic, .random_bits = exact_probability};
  // 1 + 2^-70 in bfloat16: v = 2^-63, so 63 digits count.
  const unpacked one = decode(1.0);
  const unpacked little = decode(0x1p-70);
  const auto rounds_up = [&](std::initializer_list<std::uint32_t> words) {
    return add(bfloat16, one, little, mode, random_input{std::span{words.begin(), words.size()}}).code == 0x3F81;
  };
  CHECK(rounds_up({0xFFFFFFFF, 0xFFFFFFFE}));
  CHECK(rounds_up({0xFFFFFFFF, 0xFFFFFFFF}));
  CHECK(rounds_up({0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFFF, 0xFFFFFFFF}));
  CHECK_FALSE(rounds_up({0xFFFFFFFF, 0xFFFFFFFC}));
  CHECK_FALSE(rounds_up({0xFFFFFFFF, 0xFFFFFFFD, 0xFFFFFFFF, 0xFFFFFFFF}));
  CHECK_FALSE(rounds_up({0xFFFFFFFE, 0xFFFFFFFF, 0xFFFFFFFF}));
  CHECK_FALSE(rounds_up({0xFFFFFFFF}));
  CHECK_FALSE(rounds_up({}));
  // 1 - 2^-73: v = 1 - 2^-65 of the binade below, which has a step of 2^-8.
  const unpacked minus = decode(-0x1p-73);
  const auto reaches_one = [&](std::initializer_list<std::uint32_t> words) {
    return add(bfloat16, one, minus, mode, random_input{std::span{words.begin(), words.size()}}).code == 0x3F80;
  };
  CHECK(reaches_one({0, 0, 0x80000000}));
  CHECK(reaches_one({0, 1}));
  CHECK(reaches_one({1}));
  CHECK_FALSE(reaches_one({0, 0, 0x7FFFFFFF, 0xFFFFFFFF}));
  CHECK_FALSE(reaches_one({}));
}

// Division and square root have results without end: 32 bits, as if they had been asked for.
TEST_CASE("all random bits of quotients and roots are 32") {
  for (const auto definition : {stochastic_definition::a, stochastic_definition::b, stochastic_definition::c}) {
    const rounding all{.direction = direction::stochastic, .definition = definition, .random_bits = exact_probability};
    const rounding bits32{.direction = direction::stochastic, .definition = definition};
    sweep s;
    sequence random{31};
    for (int i = 0; i < 20000; ++i) {
      const std::uint64_t x = random.next() & 0xFFFF;
      const std::uint64_t y = random.next() & 0xFFFF;
      const auto r = static_cast<std::uint32_t>(random.next());
      s.expect(same(div(float16, x, y, all, r), div(float16, x, y, bits32, r)) &&
                   same(sqrt(float16, x, all, r), sqrt(float16, x, bits32, r)),
               [&] { return describe(encoded{x}) + ' ' + describe(encoded{y}); });
    }
    CHECK(s.failures() == "");
  }
}
