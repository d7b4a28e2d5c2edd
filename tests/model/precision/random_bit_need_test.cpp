// Pins how many draws round up under the definitions of few random bits, their biases as exact fractions, and that counts of
// updates equal trying every draw with the codec.
#include <ulp/model/precision/random_bit_need.hpp>

#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>

#include <ulp/formats/arithmetic.hpp>
#include <ulp/formats/catalog.hpp>
#include <ulp/formats/names.hpp>
#include <ulp/formats/neighbours.hpp>
#include <ulp/formats/random_bits.hpp>

#include "support/catch.hpp"

using namespace ulp;

namespace {

constexpr std::array definitions{stochastic_definition::a, stochastic_definition::b, stochastic_definition::c};

discarded part_of(std::uint64_t numerator, int bits) { return {.leading = numerator << (33 - bits)}; }

// The mean over all discarded parts of D bits of P(up) - v, times 2^(N + D + 1), a whole number.
std::int64_t bias_in_units(stochastic_definition by, int d, int n) {
  std::int64_t sum = 0;
  for (std::uint64_t v = 0; v >> d == 0; ++v)
    sum += static_cast<std::int64_t>(draws_up(part_of(v, d), by, n) << d) - static_cast<std::int64_t>(v << n);
  REQUIRE((2 * sum) % (std::int64_t{1} << d) == 0);
  return 2 * sum / (std::int64_t{1} << d);
}

double bias(stochastic_definition by, int d, int n) {
  return std::ldexp(static_cast<double>(bias_in_units(by, d, n)), -(n + d + 1));
}

// Every draw with the codec.
struct tried {
  bool moves = false;
  double mean = 0;
};
tried try_all(const format& f, std::uint64_t weight, double update, stochastic_definition by, int n) {
  tried all;
  const std::uint32_t draws = std::uint32_t{1} << n;
  for (std::uint32_t r = 0; r < draws; ++r) {
    rounding mode{.direction = direction::stochastic};
    mode.definition = by;
    mode.random_bits = n;
    const std::uint64_t code = add(f, decode(f, weight), decode(update), mode, r).code;
    const double x = to_double(f, code);
    all.moves = all.moves || x != to_double(f, weight);
    all.mean += x / draws;
  }
  return all;
}

// Fitzgibbon and Felix, "On stochastic rounding with few random bits" (ARITH 2025, arXiv 2504.20634): what they call SRFF,
// SRF and SRC are A, B and C.
TEST_CASE("biases of few random bits") {
  CHECK(bias(stochastic_definition::a, 5, 3) == -3.0 / 64);
  CHECK(bias(stochastic_definition::b, 5, 3) == 1.0 / 64);
  CHECK(bias(stochastic_definition::c, 5, 3) == 0);
  for (const int d : {5, 8, 13, 16})
    for (const int n : {1, 2, 3, 4}) {
      INFO("D " << d << ", N " << n);
      CHECK(bias(stochastic_definition::a, d, n) == -(std::ldexp(1, -n) - std::ldexp(1, -d)) / 2);
      CHECK(bias(stochastic_definition::b, d, n) == std::ldexp(1, -d - 1));
      CHECK(bias(stochastic_definition::c, d, n) == 0);
    }
  // With as many random bits as are discarded no more than half a unit of the last of them.
  for (const stochastic_definition by : definitions) CHECK(std::fabs(bias(by, 8, 8)) <= 0x1p-9);
}

TEST_CASE("the smallest part that may round up") {
  for (const int n : {1, 4, 8}) {
    const auto least = [&](stochastic_definition by) {
      std::uint64_t v = 1;
      while (draws_up(part_of(v, 20), by, n) == 0) ++v;
      return std::ldexp(static_cast<double>(v), -20);
    };
    CHECK(least(stochastic_definition::a) == std::ldexp(1, -n));
    CHECK(least(stochastic_definition::b) == std::ldexp(1, -n - 1));
    CHECK(least(stochastic_definition::c) == std::ldexp(1, -n - 1) + 0x1p-20);  // a tie goes to 0
  }
}

TEST_CASE("draws that round up are those that rounds_up says") {
  for (const stochastic_definition by : definitions)
    for (int n = 1; n <= 9; ++n)
      for (std::uint64_t i = 0; i < 3000; ++i) {
        const std::uint64_t wide = std::uint64_t{random_bits(1, 0, i, 32)} << 1 | (i & 1);
        // Ties and their neighbours, and all kinds of parts.
        const std::uint64_t leading = i % 3 == 0   ? wide
                                      : i % 3 == 1 ? wide >> (32 - n) << (32 - n)
                                                   : (wide >> 28 << 28) + 1;
        const discarded lost{.round_bit = (leading >> 32 & 1) != 0, .leading = leading, .beyond_leading = i % 5 == 0};
        rounding mode{.direction = direction::stochastic};
        mode.definition = by;
        mode.random_bits = n;
        std::uint64_t up = 0;
        for (std::uint32_t r = 0; r >> n == 0; ++r) up += rounds_up(lost, false, false, mode, r) ? 1 : 0;
        REQUIRE(draws_up(lost, by, n) == up);
      }
  // One draw, no random bits: toward zero, nearest with ties away, nearest with ties to zero.
  CHECK(draws_up(part_of(3, 2), stochastic_definition::a, 0) == 0);
  CHECK(draws_up(part_of(1, 1), stochastic_definition::b, 0) == 1);
  CHECK(draws_up(part_of(1, 1), stochastic_definition::c, 0) == 0);
  CHECK(draws_up(part_of(3, 2), stochastic_definition::c, 0) == 1);
}

// Weights of all kinds, powers of two and subnormal ones among them; updates from far below a step to several.
TEST_CASE("counts equal trying every draw") {
  for (const format& f : {float8_e5m2, float8_e4m3fn, bfloat16, cbfloat16}) {
    std::vector<double> weights;
    std::vector<double> updates;
    for (std::uint64_t i = 0; i < 1500; ++i) {
      const std::uint32_t random = random_bits(2, 0, i, 32);
      std::uint64_t code = random & f.code_mask();
      if (i % 4 == 0) code &= ~f.fraction_mask();
      if (i % 7 == 0) code &= f.sign_mask() | f.fraction_mask();
      const double w = to_double(f, code);
      if (!std::isfinite(w) || (code & f.magnitude_mask()) + 2 > f.max_finite_code()) continue;
      const double step = to_double(f, (code & f.magnitude_mask()) + 1) - std::fabs(w);
      const double factor =
          std::ldexp(i % 3 == 0 ? 1 : 1 + random_bits(3, 0, i, 20) * 0x1p-20, -static_cast<int>(i % 11));
      weights.push_back(w);
      updates.push_back((random >> 31 ? -1 : 1) * step * factor);
    }
    REQUIRE(weights.size() > 800);
    const random_bit_need all = random_bits_needed(weights, updates, f);
    CHECK(all.updates == weights.size());
    for (int n = 1; n <= 6; ++n)
      for (const stochastic_definition by : definitions) {
        INFO(n << " bits, definition " << static_cast<int>(by));
        std::uint64_t never = 0;
        std::uint64_t below = 0;
        double mass = 0;
        double drift = 0;
        for (std::size_t i = 0; i < weights.size(); ++i) {
          const std::uint64_t weight = encode(f, weights[i]).code;
          const tried by_draw = try_all(f, weight, updates[i], by, n);
          never += by_draw.moves ? 0 : 1;
          mass += by_draw.moves ? 0 : std::fabs(updates[i]);
          drift += (updates[i] < 0 ? -1 : 1) * (by_draw.mean - (weights[i] + updates[i]));
          // To the next number on the side of the update.
          const double aim = updates[i] < 0 ? to_double(f, std::uint64_t{next_down(f, weight)})
                                            : to_double(f, std::uint64_t{next_up(f, weight)});
          below += std::fabs(updates[i]) < std::ldexp(std::fabs(aim - weights[i]), -n) ? 1 : 0;
        }
        const auto& row = all.bits[static_cast<std::size_t>(n)];
        const auto& counted = row.by[static_cast<std::size_t>(by)];
        CHECK(counted.never == never);
        CHECK(counted.mass_never == Approx(mass));
        CHECK(counted.drift == Approx(drift).margin(1e-9 * all.mass));
        CHECK(row.below == below);
      }
  }
}

TEST_CASE("what cannot be updated is told apart") {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const std::vector<double> weights{1, nan, 1, infinity, 70000, 65504, 1, 1, -0.0};
  const std::vector<double> updates{0, 1, nan, 1, 1, 1, -1, 0x1p-12, 0x1p-30};
  const random_bit_need all = random_bits_needed(weights, updates, float16);
  CHECK(all.numel == 9);
  CHECK(all.zero_updates == 1);
  CHECK(all.nonfinite == 3);
  CHECK(all.overflowing == 2);  // 70000, and 65504 + 1, which may become infinite
  CHECK(all.updates == 3);
  CHECK(all.lost_nearest == 2);  // a quarter of a step, and what is below half the smallest number
  CHECK(all.bits[24].by[0].never == 0);
  CHECK(all.bits[1].by[0].never == 2);
  CHECK(all.fewest(stochastic_definition::a, 0.9) == 0);
  const random_bit_need none = random_bits_needed({}, {}, bfloat16);
  CHECK(none.updates == 0);
  CHECK_FALSE(none.fewest(stochastic_definition::a, 0.5));
  CHECK_THROWS_AS(random_bits_needed(weights, {}, bfloat16), std::invalid_argument);
  CHECK_THROWS_AS(random_bits_needed({}, {}, *find_format("float8_e8m0fnu")), std::invalid_argument);
}

// 1 in bfloat16 and updates of 2^-20: 2^-13 of a step upwards.
TEST_CASE("the fewest bits for updates of one size") {
  const std::vector<double> weights(10, 1);
  const std::vector<double> updates(10, 0x1p-20);
  const random_bit_need all = random_bits_needed(weights, updates, bfloat16);
  CHECK(all.fewest(stochastic_definition::a, 0.01) == 13);
  CHECK(all.fewest(stochastic_definition::b, 0.01) == 12);
  CHECK(all.fewest(stochastic_definition::c, 0.01) == 13);
  CHECK(all.lost_nearest == 10);
  CHECK(all.bits[12].below == 10);
  CHECK(all.bits[13].below == 0);
}

// Two updates of 2^-20: an eighth of a step of 2^-10, and 2^-13 of one of 1. Each has half of the mass.
TEST_CASE("what never moves has to be less than the share, not as much") {
  const std::vector<double> weights{0x1p-10, 1};
  const std::vector<double> updates{0x1p-20, 0x1p-20};
  const random_bit_need all = random_bits_needed(weights, updates, bfloat16);
  CHECK(all.fewest(stochastic_definition::a, 1) == 3);
  CHECK(all.fewest(stochastic_definition::a, 0.51) == 3);
  CHECK(all.fewest(stochastic_definition::a, 0.5) == 13);
}

// 1 + 2^-7 in bfloat16 has 1 as its neighbour; what lacks of half of that is less than the leading bits of the part show.
TEST_CASE("an update just below half of the distance is below it") {
  const std::vector<double> weights{1 + 0x1p-7};
  const auto below = [&](double update) {
    const std::vector<double> updates{update};
    return random_bits_needed(weights, updates, bfloat16).bits[1].below;
  };
  CHECK(below(-0x1p-8 + 0x1p-50) == 1);
  CHECK(below(-0x1p-8) == 0);
}

}  // namespace
