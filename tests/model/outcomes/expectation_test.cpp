// Pins means and variances under stochastic rounding to the enumeration of every draw.
#include <ulp/model/outcomes/expectation.hpp>

#include "support/catch.hpp"

#include <ulp/formats/catalog.hpp>
#include <ulp/formats/codec.hpp>
#include <ulp/formats/names.hpp>
#include <ulp/model/cells/cell_counter.hpp>

#include <cmath>
#include <cstdlib>
#include <random>
#include <vector>

using namespace ulp;

namespace {

// Mean and variance of the three counts, from all 2^bits draws of each value.
struct moments {
  double mean = 0;
  double variance = 0;
  void add(double p) {
    mean += p;
    variance += p * (1 - p);
  }
};
struct enumerated {
  moments underflow;
  moments subnormal;
  moments overflow;
};

enumerated enumerate(const std::vector<float>& values, const format& to, const rounding& mode, double scale) {
  enumerated all;
  const std::uint32_t draws = std::uint32_t{1} << mode.random_bits;
  for (const float x : values) {
    if (x == 0) continue;
    std::uint32_t zero = 0;
    std::uint32_t subnormal = 0;
    std::uint32_t over = 0;
    unpacked scaled = decode(static_cast<double>(x));
    scaled.exponent += std::ilogb(scale);
    for (std::uint32_t r = 0; r < draws; ++r) {
      const encoded e = encode(to, scaled, mode, r);
      const std::uint64_t magnitude = e.code & to.magnitude_mask();
      if (any(e.flags, status::overflow))
        ++over;
      else if (magnitude == 0)
        ++zero;
      else if (magnitude < to.min_normal_code())
        ++subnormal;
    }
    all.underflow.add(static_cast<double>(zero) / draws);
    all.subnormal.add(static_cast<double>(subnormal) / draws);
    all.overflow.add(static_cast<double>(over) / draws);
  }
  return all;
}

// Around the smallest and the largest number, with significands of `bits` bits.
std::vector<float> values_near_the_ends(const format& to, int bits, double scale) {
  std::mt19937 random(7);
  std::vector<float> values;
  const auto spread = [&](int from, int till) {
    for (int k = from; k <= till; ++k)
      for (int i = 0; i < 12; ++i) {
        const double significand = 1 + std::ldexp(static_cast<double>(random() % (1U << (bits - 1))), 1 - bits);
        const double x = std::ldexp(significand, k) / scale;
        values.push_back(static_cast<float>(i % 2 == 0 ? x : -x));
      }
  };
  spread(to.min_quantum_exponent() - 6, to.emin() + 1);
  spread(to.emax() - 1, to.emax() + 1);
  values.push_back(0);
  return values;
}

bool holds(const value_range& range, double x) {
  const double margin = 1e-9 * (1 + std::abs(x));
  return range.low - margin <= x && x <= range.high + margin;
}

void check_holds(const expected_count& count, const moments& truth) {
  CHECK(holds(count.mean, truth.mean));
  CHECK(holds(count.variance, truth.variance));
}

}  // namespace

TEST_CASE("means and variances hold those of all draws, in three definitions and all ways to flush") {
  for (const format& to : {float16, cbfloat16, *find_format("e4m3fn"), *find_format("e5m2"), *find_format("dlfloat16"),
                           *find_format("e4m3fnuz,max=224"), *find_format("e5m2,max=20480")})
    for (const double scale : {1.0, 0x1p7})
      for (const auto definition : {stochastic_definition::a, stochastic_definition::b, stochastic_definition::c})
        for (const flush f : {flush::never, flush::before_rounding, flush::after_rounding, flush::result})
          for (const int bits : {2, 5, 9}) {
            const rounding mode{
                .direction = direction::stochastic, .flush = f, .definition = definition, .random_bits = bits};
            CAPTURE(to.exponent_bits, to.fraction_bits, scale, static_cast<int>(definition), static_cast<int>(f), bits);
            const std::vector<float> values = values_near_the_ends(to, 8, scale);
            const enumerated truth = enumerate(values, to, mode, scale);
            for (const bool with_sums : {true, false}) {
              cell_counter counter(with_sums ? cell_counter::with::sums : cell_counter::with::nothing);
              counter.add(std::span{values});
              const expected_outcomes e = expected_outcomes_of(counter.take(), {to, mode}, {.scale = scale});
              check_holds(e.underflow, truth.underflow);
              check_holds(e.subnormal, truth.subnormal);
              check_holds(e.overflow, truth.overflow);
            }
          }
}

TEST_CASE("underflow is exact where the random bits are as many as those discarded") {
  // Four significant bits, at most five binades below: nine bits after the point.
  const rounding nine{.direction = direction::stochastic, .random_bits = 9};
  const rounding all{.direction = direction::stochastic, .random_bits = exact_probability};
  for (const format& to : {float16, cbfloat16, *find_format("e5m2")}) {
    std::vector<float> values;
    for (int k = 1; k <= 5; ++k)
      for (int s = 8; s < 16; ++s)
        values.push_back(static_cast<float>(std::ldexp(s, to.min_quantum_exponent() - k - 3)));
    const enumerated truth = enumerate(values, to, nine, 1);
    const cell_table table = count_cells(std::span{values});
    for (const rounding& mode : {nine, all}) {
      const expected_outcomes e = expected_outcomes_of(table, {to, mode}, {}, dtype::float32);
      const bool few = mode.random_bits != exact_probability;
      CHECK(holds(e.underflow.mean, truth.underflow.mean));
      if (few) continue;
      CHECK(e.underflow.mean.exact());
      CHECK(e.underflow.variance.exact());
      CHECK(e.underflow.mean.low == Approx(truth.underflow.mean).epsilon(1e-14));
      CHECK(e.underflow.variance.low == Approx(truth.underflow.variance).epsilon(1e-14));
    }
    // bfloat16 values have 8 bits: 12 after the point at most, so 16 random bits are all of them.
    const rounding sixteen{.direction = direction::stochastic, .random_bits = 16};
    CHECK(expected_outcomes_of(table, {to, sixteen}, {}, dtype::bfloat16).underflow.mean.exact());
  }
}

TEST_CASE("a published pair of tables that agree in everything but the mean with three random bits") {
  // {33,33,37,39}/64 and {34,34,34,40}/64 of the smallest number: 2 and 15/8 expected nonzero.
  const rounding three{.direction = direction::stochastic, .random_bits = 3};
  const auto smallest = [](std::initializer_list<int> parts) {
    std::vector<float> values;
    for (const int p : parts) values.push_back(static_cast<float>(std::ldexp(p, -24 - 6)));
    return values;
  };
  for (const auto& [values, nonzero] :
       {std::pair{smallest({33, 33, 37, 39}), 2.0}, {smallest({34, 34, 34, 40}), 2.125}}) {
    const enumerated truth = enumerate(values, float16, three, 1);
    CHECK(4 - truth.underflow.mean == nonzero);
    CHECK(holds(expected_outcomes_of(count_cells(std::span{values}), {float16, three}, {}).underflow.mean,
                truth.underflow.mean));
  }
}

TEST_CASE("other multipliers, octaves and unknown values give ranges") {
  const rounding all{.direction = direction::stochastic, .random_bits = exact_probability};
  std::vector<float> values = values_near_the_ends(float16, 8, 1);
  const cell_table table = count_cells(std::span{values});
  const expected_outcomes third = expected_outcomes_of(table, {float16, all}, {.scale = 1, .factor = 3});
  const expected_outcomes whole = expected_outcomes_of(table, {float16, all}, {.scale = 1});
  CHECK(third.underflow.mean.low < third.underflow.mean.high);
  CHECK(third.underflow.mean.low > whole.underflow.mean.low);
  // A smaller scale loses more, and three of these expectations are sums over the same values.
  double truth = 0;
  for (const float x : values)
    if (x != 0) truth += std::max(0.0, 1 - std::abs(static_cast<double>(x)) / 3 / 0x1p-24);
  CHECK(holds(third.underflow.mean, truth));

  cell_table nothing_known;
  nothing_known.numel = 10;
  nothing_known.max_abs = 1;
  const expected_outcomes e = expected_outcomes_of(nothing_known, {float16, all}, {});
  CHECK(e.underflow.mean == value_range{0, 10});
  CHECK(e.underflow.variance == value_range{0, 2.5});
  CHECK(expected_outcomes_of(table, {float16, all}, {.scale = 0}).underflow.mean.low ==
        static_cast<double>(table.nonzero_finite()));
}

TEST_CASE("flushing leaves no subnormal results to expect") {
  const std::vector<float> values{0x1p-25F, 0x1.8p-20F, 0x1.fffp-15F, 0x1p-14F};
  for (const flush rule : {flush::before_rounding, flush::after_rounding, flush::result})
    for (const double scale : {1.0, 3.0}) {
      rounding mode{.direction = direction::stochastic, .random_bits = 8};
      mode.flush = rule;
      const expected_outcomes e =
          expected_outcomes_of(count_cells(std::span{values}), {float16, mode}, {.scale = scale});
      CHECK(e.subnormal.mean == value_range{0, 0});
      CHECK(e.subnormal.variance == value_range{0, 0});
    }
}
