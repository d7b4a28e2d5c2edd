// Pins what is published about sums in few bits, by the orders of dot.hpp: where they stall, what cures it, what 14 bits of
// an accumulator cost. Sources and sentences: names beside each.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include <ulp/formats/catalog.hpp>
#include <ulp/formats/dot.hpp>
#include <ulp/formats/random_bits.hpp>
#include <ulp/formats/tensor_cores.hpp>

#include "support/catch.hpp"

using namespace ulp;

namespace {

double uniform(std::uint64_t seed, std::uint64_t index) { return random_bits(seed, 0, index, 32) * 0x1p-32; }

// As Wang et al. have it: mean 1, standard deviation 1.
std::vector<float> mean_one(std::size_t size) {
  std::vector<float> x;
  for (std::size_t i = 0; i < size; ++i) x.push_back(static_cast<float>(1 + std::sqrt(3.0) * (2 * uniform(1, i) - 1)));
  return x;
}

double in_one_format(const format& f, const std::vector<float>& x, accumulation how = {}) {
  how.accumulator = f;
  return to_double(f, sum(x, how).code);
}

}  // namespace

// Wang, Choi, Brand, Chen, Gopalakrishnan, "Training deep neural networks with 8-bit floating point numbers", NeurIPS 2018,
// figure 3b: 1-6-9 stops at about 4096, and chunks of 64 or stochastic rounding do not. It stops in the first binade half of
// whose steps are above the largest addend, 1 + sqrt(3).
TEST_CASE("sums of numbers around one stall, and chunks or stochastic rounding cure it") {
  const std::vector<float> x = mean_one(20000);
  const double exact = to_double(float64, exact_sum(float64, x).code);
  CHECK(std::fabs(exact - 20000) < 5 * std::sqrt(20000.0));
  CHECK(in_one_format(cbfloat16, x) == 4096);
  CHECK(in_one_format(float16, x) == 8192);
  CHECK(in_one_format(bfloat16, x) == 1024);
  const double by_chunks = in_one_format(cbfloat16, x, {.order = {sum_order::chunks, 64}});
  const double by_chance = in_one_format(cbfloat16, x, {.rounding = {.direction = direction::stochastic}});
  const double by_compensation = in_one_format(cbfloat16, x, {.order = {sum_order::compensated}});
  CHECK(std::fabs(by_chunks / exact - 1) < 0.02);
  CHECK(std::fabs(by_chance / exact - 1) < 0.05);
  CHECK(std::fabs(by_compensation / exact - 1) < 0.001);
}

// AWS Neuron, rounding-modes.rst: 1024 in float16, to which 0.5 is added 2048 times.
TEST_CASE("halves added to 1024 in float16") {
  const std::vector<float> halves(2048, 0.5F);
  accumulation how{.accumulator = float16};
  const auto total = [&](std::uint64_t seed) {
    how.random.seed = seed;
    return to_double(float16, sum(halves, how, float16, 0x6400).code);
  };
  CHECK(total(0) == 1024);
  how.rounding.direction = direction::stochastic;
  // A run has the standard deviation 22.75.
  double mean = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const double run = total(seed);
    CHECK(std::fabs(run - 2048) < 6 * 22.75);
    mean += run / 100;
  }
  CHECK(std::fabs(mean - 2048) < 5 * 22.75 / 10);
}

// DeepSeek-V3, arXiv 2412.19437, 3.3.2: with K = 4096 the accumulation of FP8 products on H800 has errors of up to some
// percent, which sums of 128 that are added in float32 cure.
TEST_CASE("what 13 fraction bits of Hopper's accumulator cost in FP8") {
  const tensor_core* const unit = find_tensor_core("hopper", float8_e4m3fn);
  REQUIRE(unit != nullptr);
  double worst = 0;
  double worst_promoted = 0;
  for (std::uint64_t row = 0; row < 20; ++row) {
    std::vector<std::uint8_t> a;
    std::vector<std::uint8_t> b;
    for (std::uint64_t i = 0; i < 4096; ++i) {
      a.push_back(static_cast<std::uint8_t>(encode(float8_e4m3fn, uniform(2 * row + 10, i)).code));
      b.push_back(static_cast<std::uint8_t>(encode(float8_e4m3fn, uniform(2 * row + 11, i)).code));
    }
    const double exact = to_double(float64, exact_dot(float64, {float8_e4m3fn, a}, {float8_e4m3fn, b}).code);
    const double all = to_double(unit->how.result(), dot({float8_e4m3fn, a}, {float8_e4m3fn, b}, unit->how).code);
    CHECK(all < exact);  // truncation
    worst = std::max(worst, 1 - all / exact);
    std::vector<std::uint32_t> parts;
    for (std::size_t i = 0; i < 4096; i += 128) {
      const std::span part_a{a.data() + i, 128};
      const std::span part_b{b.data() + i, 128};
      parts.push_back(
          static_cast<std::uint32_t>(dot({float8_e4m3fn, part_a}, {float8_e4m3fn, part_b}, unit->how).code << 10));
    }
    const double promoted = to_double(float32, sum({float32, parts}).code);
    worst_promoted = std::max(worst_promoted, std::fabs(promoted / exact - 1));
  }
  INFO(worst << ' ' << worst_promoted);
  CHECK(worst > 0.01);
  CHECK(worst < 0.1);
  CHECK(worst_promoted < 0.003);
}
