// Pins probe.hpp: that units, orders and splits are named from their results alone, and what pairs show of others.
#include <algorithm>
#include <cmath>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include <ulp/formats/catalog.hpp>
#include <ulp/formats/convert.hpp>
#include <ulp/formats/random_bits.hpp>
#include <ulp/formats/tensor_cores.hpp>
#include <ulp/model/precision/matmul.hpp>
#include <ulp/model/precision/probe.hpp>

#include "support/catch.hpp"

using namespace ulp;

namespace {

std::vector<double> results_of(const kernel_candidate& kernel, const probe_operands& x) {
  std::vector<double> all;
  for (std::size_t row = 0; row < x.rows(); ++row)
    all.push_back(result_of(kernel, x.of, std::span{x.a}.subspan(row * x.depth, x.depth),
                            std::span{x.b}.subspan(row * x.depth, x.depth)));
  return all;
}

// Others than probes() has.
probe_operands operands_of(const format& f, std::size_t depth) {
  probe_operands x{.of = f, .depth = depth, .a = {}, .b = {}};
  for (const auto& [side, seed] : {std::pair{&x.a, 1}, {&x.b, 2}}) {
    side->resize(64 * depth);
    const auto numbers = generated_numbers(distribution::normal, static_cast<std::uint64_t>(seed), 0, side->size());
    encode_array(f, std::span<const double>(numbers), std::span(*side));
  }
  return x;
}

bool same(const std::vector<double>& x, const std::vector<double>& y) {
  return std::ranges::equal(x, y, [](double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); });
}

std::set<format, bool (*)(const format&, const format&)> formats_of_units() {
  std::set<format, bool (*)(const format&, const format&)> all([](const format& x, const format& y) {
    return std::tuple(x.exponent_bits, x.fraction_bits, x.bias) < std::tuple(y.exponent_bits, y.fraction_bits, y.bias);
  });
  for (const tensor_core& unit : tensor_cores()) all.insert(unit.operands);
  return all;
}

bool has(const std::vector<std::string>& all, const std::string& one) {
  return std::ranges::find(all, one) != all.end();
}

}  // namespace

TEST_CASE("hidden choices of unit, order and split are recovered") {
  int hidden = 0;
  for (const format& f : formats_of_units()) {
    if (f == float4_e2m1) continue;  // float32 adds its products exactly, in any order
    const probe_operands x = probes(f, 256);
    const auto all = kernel_candidates(f, x.depth);
    for (std::uint64_t i = 0; i < 4; ++i) {
      const kernel_candidate& chosen = all[random_bits(7, static_cast<std::uint64_t>(f.bias), i, 32) % all.size()];
      INFO(chosen.names[0] << ": " << chosen.orders[0]);
      std::size_t candidates = 0;
      const auto found = kernels_that_give(x, results_of(chosen, x), candidates);
      CHECK(candidates >= all.size());
      REQUIRE(found[0].differing == 0);
      CHECK(std::ranges::any_of(found, [&](const probed_kernel& p) {
        return p.kernel.names == chosen.names && p.kernel.parts == chosen.parts;
      }));
      // Sums in few bits are added exactly in float32, in any order, and the last addition of pairs may be that of two
      // parts: what is told with it is the same.
      const bool is_alone = chosen.order.how.order.kind != sum_order::pairwise;
      if (is_alone && chosen.order.how.accumulator.precision() > 8) CHECK(found.size() == 1);
      const probe_operands other = operands_of(f, x.depth);
      const std::vector<double> results = results_of(chosen, other);
      for (const probed_kernel& p : found) {
        INFO(p.kernel.names[0] << ": " << p.kernel.orders[0]);
        CHECK(same(results_of(p.kernel, other), results));
      }
      ++hidden;
    }
  }
  CHECK(hidden == 28);
}

// The results are matmul()'s, which shares neither the order of steps nor the arithmetic with the candidates.
TEST_CASE("every unit is named from its own products, whole, split and in two levels") {
  for (const tensor_core& unit : tensor_cores()) {
    if (unit.scales || unit.operands == float4_e2m1 || unit.how.order.kind != sum_order::blocks) continue;
    INFO(unit.name << ' ' << unit.operands_name);
    const probe_operands x = probes(unit.operands, 384);
    const auto answer = [&](const matmul_order& order) {
      std::vector<double> results;
      for (std::size_t row = 0; row < x.rows(); ++row)
        results.push_back(
            to_double(order.result(),
                      std::uint64_t{matmul(order, {x.of, std::span{x.a}.subspan(row * x.depth, x.depth), x.of,
                                                   std::span{x.b}.subspan(row * x.depth, x.depth), x.depth})[0]}));
      std::size_t candidates = 0;
      const auto found = kernels_that_give(x, results, candidates);
      REQUIRE(found.size() == 1);
      REQUIRE(found[0].differing == 0);
      const std::string into = unit.how.accumulator == float16 ? " into float16" : "";
      CHECK(has(found[0].kernel.names, std::string{unit.name} + into));
      return found[0].kernel.orders;
    };
    CHECK(has(answer(split_order(unit.how, 1)), "one sum"));
    CHECK(has(answer(split_order(unit.how, 3)), "one sum, split in 3"));
    CHECK(has(answer(split_order(in_two_levels(unit, 4), 1)), "every 4 groups added in float32"));
    CHECK(has(answer(split_order(in_two_levels(unit, 2), 2)), "every 2 groups added in float32, split in 2"));
  }
}

TEST_CASE("results that are rounded to 16 bits, and results of no kernel that is known") {
  const probe_operands x = probes(float16, 256);
  const auto all = kernel_candidates(float16, 256);
  const auto hopper =
      std::ranges::find_if(all, [](const kernel_candidate& k) { return has(k.names, "hopper") && k.parts.empty(); });
  REQUIRE(hopper != all.end());
  kernel_candidate rounded = *hopper;
  rounded.output = bfloat16;
  std::size_t candidates = 0;
  const auto found = kernels_that_give(x, results_of(rounded, x), candidates);
  CHECK(std::ranges::any_of(found, [](const probed_kernel& p) {
    return p.differing == 0 && has(p.kernel.names, "hopper") && p.kernel.output == bfloat16;
  }));

  std::vector<double> exact;
  for (std::size_t row = 0; row < x.rows(); ++row) {
    const number_span a{float16, std::span{x.a}.subspan(row * 256, 256)};
    exact.push_back(to_double(float32, exact_dot(float32, a, {float16, std::span{x.b}.subspan(row * 256, 256)}).code));
  }
  const auto once = kernels_that_give(x, exact, candidates);
  REQUIRE(once.size() == 1);
  CHECK(once.front().differing == 0);
  CHECK(once.front().kernel.names == std::vector<std::string>{"exact"});

  std::vector<double> wrong = results_of(*hopper, x);
  wrong[40] = std::nextafter(static_cast<float>(wrong[40]), 1e9F);
  const auto nearest = kernels_that_give(x, wrong, candidates);
  CHECK(nearest.front().differing == 1);
  CHECK(has(nearest.front().kernel.names, "hopper"));
  CHECK(nearest.size() == 5);
  wrong.pop_back();
  CHECK_THROWS_AS(kernels_that_give(x, wrong, candidates), std::invalid_argument);
  CHECK_THROWS_AS(probes(float16, 1), std::invalid_argument);
}

// FPRev: with M at 0 and -M at k, what a sum keeps is what does not meet M alone.
TEST_CASE("pairs show the groups of a unit") {
  const probe_operands x = probes(float16, 64);
  const auto all = kernel_candidates(float16, 64);
  const auto find = [&](const std::string& name, bool whole) {
    return *std::ranges::find_if(
        all, [&](const kernel_candidate& k) { return has(k.names, name) && k.parts.empty() == whole; });
  };
  const auto reaches = reaches_of(x, results_of(find("hopper", true), x));
  REQUIRE(reaches.size() == 4);
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(reaches[i].first == (i == 0 ? 1 : 16 * i));
    CHECK(reaches[i].last == 16 * i + 15);
    CHECK(reaches[i].products == 16 * (i + 1));
  }
  // One after the other.
  const auto sequential = reaches_of(x, results_of(find("float32, fused products", true), x));
  REQUIRE(sequential.size() == 63);
  CHECK(sequential[5].products == 7);
}
