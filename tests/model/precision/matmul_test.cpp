// Pins matmul.hpp: that each element is the dot product that dot.hpp gives, in every unit, order and split, and what its
// errors count, against exact sums.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include <ulp/formats/catalog.hpp>
#include <ulp/formats/convert.hpp>
#include <ulp/formats/neighbours.hpp>
#include <ulp/formats/random_bits.hpp>
#include <ulp/formats/tensor_cores.hpp>
#include <ulp/model/precision/dot_error.hpp>
#include <ulp/model/precision/matmul.hpp>
#include <ulp/model/precision/unit_choice.hpp>

#include "support/catch.hpp"

using namespace ulp;

namespace {

// Kinds: normal numbers; of all exponents, with infinities and NaN; the smallest; few that are not zero.
std::vector<std::uint32_t> operands_of(const format& f, std::size_t count, std::uint64_t seed, int kind) {
  std::vector<std::uint32_t> codes(count);
  const auto numbers = generated_numbers(distribution::normal, seed, 0, count);
  encode_array(f, std::span<const double>(numbers), std::span(codes));
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t bits = random_bits(seed, 1, i, 32);
    if (kind == 1) codes[i] = bits & static_cast<std::uint32_t>(f.code_mask());
    if (kind == 2) codes[i] = bits & static_cast<std::uint32_t>(f.sign_mask() | (2 * f.fraction_mask() + 1));
    if (kind == 3 && bits % 8 != 0) codes[i] &= static_cast<std::uint32_t>(f.sign_mask());
  }
  return codes;
}

}  // namespace

TEST_CASE("every element is the dot product of its row and column, as dot() adds it") {
  constexpr std::size_t rows = 5;
  constexpr std::size_t columns = 7;
  for (const tensor_core& unit : tensor_cores()) {
    if (unit.scales) continue;
    const bool in_blocks = unit.how.order.kind == sum_order::blocks;
    std::vector<accumulation> ways{unit.how};
    if (in_blocks) ways.insert(ways.end(), {in_two_levels(unit, 0), in_two_levels(unit, 1), in_two_levels(unit, 3)});
    for (const std::size_t depth : {1, 16, 150})
      for (int kind = 0; kind < 4; ++kind) {
        INFO(name_of(unit) << ' ' << unit.operands_name << ' ' << depth << ' ' << kind);
        const format& f = unit.operands;
        const auto a = operands_of(f, rows * depth, 1 + depth, kind);
        const auto b = operands_of(f, columns * depth, 2 + depth, kind);
        for (const accumulation& how : ways) {
          const auto all = matmul(split_order(how, 1), {f, a, f, b, depth});
          REQUIRE(all.size() == rows * columns);
          std::size_t differing = 0;
          for (std::size_t i = 0; i < all.size(); ++i) {
            const auto x = std::span{a}.subspan(i / columns * depth, depth);
            const auto y = std::span{b}.subspan(i % columns * depth, depth);
            differing += all[i] == dot({f, x}, {f, y}, how).code ? 0 : 1;
          }
          CHECK(differing == 0);
        }
      }
  }
}

TEST_CASE("split-K adds the sums of whole groups in float32") {
  const tensor_core* const unit = find_tensor_core("H100", float16);
  REQUIRE(unit != nullptr);
  const auto a = operands_of(float16, 2 * 150, 1, 0);
  const auto b = operands_of(float16, 3 * 150, 2, 0);
  // 150 are ten groups of 16: three parts are four, four and two of them.
  const auto split = matmul(split_order(unit->how, 3), {float16, a, float16, b, 150});
  for (std::size_t i = 0; i < split.size(); ++i) {
    float sum = 0;
    for (const auto& [begin, size] : {std::pair{0, 64}, {64, 64}, {128, 22}}) {
      const auto x =
          std::span{a}.subspan(i / 3 * 150 + static_cast<std::size_t>(begin), static_cast<std::size_t>(size));
      const auto y =
          std::span{b}.subspan(i % 3 * 150 + static_cast<std::size_t>(begin), static_cast<std::size_t>(size));
      sum += std::bit_cast<float>(static_cast<std::uint32_t>(dot({float16, x}, {float16, y}, unit->how).code));
    }
    CHECK(split[i] == std::bit_cast<std::uint32_t>(sum));
  }
  const auto whole = matmul(split_order(unit->how, 1), {float16, a, float16, b, 150});
  CHECK(whole != split);
  // Ten groups: six parts of two would be five.
  for (const auto& [asked, made] :
       {std::pair<std::size_t, std::size_t>{1, 1}, {3, 3}, {4, 4}, {5, 5}, {6, 5}, {9, 5}, {10, 10}, {1000, 10}})
    CHECK(split_order(unit->how, asked).parts(150) == made);
  CHECK(matmul(split_order(unit->how, 1000), {float16, a, float16, b, 150}) ==
        matmul(split_order(unit->how, 10), {float16, a, float16, b, 150}));
  // Of a float16 accumulator the sums are still added in float32.
  const tensor_core* const half = find_tensor_core("H100", float16, float16);
  CHECK(split_order(half->how, 2).result() == float32);
  CHECK(split_order(half->how, 1).result() == float16);
}

TEST_CASE("scaled products are those of dot() with the scales of the row and the column, in parts too") {
  constexpr std::size_t rows = 3;
  constexpr std::size_t columns = 4;
  for (const tensor_core& unit : tensor_cores()) {
    if (!unit.scales) continue;
    const format& f = unit.operands;
    const format& of_scales = unit.scales->format;
    const std::size_t size = unit.scales->size;
    for (const std::size_t depth : {1, 64, 200})
      for (int kind = 0; kind < 4; ++kind) {
        INFO(name_of(unit) << ' ' << unit.operands_name << ' ' << depth << ' ' << kind);
        const std::size_t blocks = (depth + size - 1) / size;
        const auto a = operands_of(f, rows * depth, 1 + depth, kind);
        const auto b = operands_of(f, columns * depth, 2 + depth, kind);
        std::vector<std::uint32_t> of_a(rows * blocks);
        std::vector<std::uint32_t> of_b(columns * blocks);
        for (std::vector<std::uint32_t>* const all : {&of_a, &of_b})
          for (std::size_t i = 0; i < all->size(); ++i)
            (*all)[i] = (of_scales == float8_e8m0 ? 120 : 40) + random_bits(all == &of_a ? 3 : 4, 2, i, 4);
        const matmul_operands x{f, a, f, b, depth, row_scales{of_scales, of_a, of_b, size}};
        const auto sum_of = [&](std::size_t i, std::size_t begin, std::size_t end) {
          const std::size_t r = i / columns;
          const std::size_t c = i % columns;
          const std::size_t parts = (end - begin + size - 1) / size;
          const block_scales by{{of_scales, std::span{of_a}.subspan(r * blocks + begin / size, parts)},
                                {of_scales, std::span{of_b}.subspan(c * blocks + begin / size, parts)},
                                size};
          return dot({f, std::span{a}.subspan(r * depth + begin, end - begin)},
                     {f, std::span{b}.subspan(c * depth + begin, end - begin)}, by, unit.how)
              .code;
        };
        const auto all = matmul(split_order(unit.how, 1), x);
        REQUIRE(all.size() == rows * columns);
        std::size_t differing = 0;
        for (std::size_t i = 0; i < all.size(); ++i) differing += all[i] == sum_of(i, 0, depth) ? 0 : 1;
        CHECK(differing == 0);

        // The exact sums of these small numbers, in two parts of 53 bits.
        const matmul_errors errors = matmul_error(float32, all, x);
        double largest = 0;
        for (std::size_t i = 0; i < all.size(); ++i) {
          std::vector<double> xs(depth);
          std::vector<double> ys(depth);
          for (std::size_t k = 0; k < depth; ++k) {
            xs[k] = to_double(f, std::uint64_t{a[i / columns * depth + k]}) *
                    to_double(of_scales, std::uint64_t{of_a[i / columns * blocks + k / size]});
            ys[k] = to_double(f, std::uint64_t{b[i % columns * depth + k]}) *
                    to_double(of_scales, std::uint64_t{of_b[i % columns * blocks + k / size]});
          }
          const double exact = to_double(float64, exact_dot(float64, xs, ys).code);
          if (!std::isfinite(exact)) continue;
          largest = std::max(largest, error_in_ulps(float32, std::uint64_t{all[i]}, exact));
        }
        if (errors.nonfinite < errors.elements) CHECK(errors.largest_ulps == largest);

        if (depth != 200) continue;
        CHECK_THROWS_AS(matmul({unit.how, 2, 3}, x), std::invalid_argument);  // it would cut a block
        const auto split = matmul(split_order(unit.how, 2), x);
        const std::size_t half = (200 + unit.how.order.size - 1) / unit.how.order.size / 2 * unit.how.order.size;
        const std::size_t cut = half < 100 ? half + unit.how.order.size : half;
        for (std::size_t i = 0; i < all.size(); ++i) {
          const float sum = std::bit_cast<float>(static_cast<std::uint32_t>(sum_of(i, 0, cut))) +
                            std::bit_cast<float>(static_cast<std::uint32_t>(sum_of(i, cut, 200)));
          const float got = std::bit_cast<float>(split[i]);
          CHECK((got == sum || (std::isnan(got) && std::isnan(sum))));
        }
      }
  }
  const std::vector<std::uint32_t> some(64, 0);
  const std::vector<std::uint32_t> two(2, 127);
  const matmul_order order = split_order(find_scaled_tensor_core("B200", float8_e5m2, float8_e8m0, 32)->how, 1);
  const auto with = [&](std::size_t size) {
    return matmul_operands{float8_e5m2, some, float8_e5m2, some, 64, row_scales{float8_e8m0, two, two, size}};
  };
  CHECK(matmul(order, with(32)) == std::vector<std::uint32_t>{0});
  CHECK_THROWS_WITH(matmul(order, with(16)), Contains("not a scale for each block"));
  CHECK_THROWS_WITH(matmul(order, with(0)), Contains("blocks of no products"));
  CHECK_THROWS_WITH(matmul({order.how, 2, 48}, with(32)), Contains("would cut a block"));
}

TEST_CASE("errors are those against the exact sums") {
  for (const format& f : {float16, bfloat16, float8_e4m3fn, tf32}) {
    const std::size_t depth = 200;
    const auto a = operands_of(f, 4 * depth, 1, 0);
    auto b = operands_of(f, 3 * depth, 2, 0);
    b[2 * depth] = static_cast<std::uint32_t>(f.nan_code());
    const matmul_order order = split_order(find_tensor_core("H100", f)->how, 1);
    const auto codes = matmul(order, {f, a, f, b, depth});
    const matmul_errors errors = matmul_error(order.result(), codes, {f, a, f, b, depth});
    CHECK(errors.elements == 12);
    CHECK(errors.nonfinite == 4);
    CHECK(errors.overflowed == 0);
    std::uint64_t differing = 0;
    double largest = 0;
    for (std::size_t i = 0; i < 12; ++i) {
      if (i % 3 == 2) continue;
      const number_span x{f, std::span{a}.subspan(i / 3 * depth, depth)};
      const number_span y{f, std::span{b}.subspan(i % 3 * depth, depth)};
      differing += exact_dot(order.result(), x, y).code == codes[i] ? 0 : 1;
      const double ulps =
          error_in_ulps(order.result(), std::uint64_t{codes[i]}, to_double(float64, exact_dot(float64, x, y).code));
      if (ulps > largest) CHECK((ulps < errors.largest_ulps || errors.row * 3 + errors.column == i));
      largest = std::max(largest, ulps);
    }
    CHECK(errors.differing == differing);
    CHECK(errors.largest_ulps == largest);
  }
  // 2 * 65504 in float16.
  const std::vector<std::uint32_t> most{0x7BFF, 0x7BFF};
  const std::vector<std::uint32_t> ones{0x3C00, 0x3C00};
  // -2^-28 is -0 in float16, and stays so as the only part.
  const std::vector<std::uint32_t> tiny{0x8400}, small{0x0400};
  CHECK(matmul(split_order(find_tensor_core("H100", float16, float16)->how, 2), {float16, tiny, float16, small, 1}) ==
        std::vector<std::uint32_t>{0x80000000});
  const matmul_order half = split_order(find_tensor_core("H100", float16, float16)->how, 1);
  const auto infinite = matmul(half, {float16, most, float16, ones, 2});
  CHECK(infinite == std::vector<std::uint32_t>{0x7C00});
  CHECK(matmul_error(float16, infinite, {float16, most, float16, ones, 2}).differing == 0);
  CHECK(std::isnan(matmul_error(float16, infinite, {float16, most, float16, ones, 2}).largest_ulps));
  CHECK(matmul_error(float16, infinite, {float16, ones, float16, ones, 2}).overflowed == 1);
}

TEST_CASE("what is no product of matrices, and what is no unit") {
  const std::vector<std::uint32_t> three{0, 0, 0};
  const matmul_order order = split_order({}, 1);
  CHECK_THROWS_AS(matmul(order, {float16, three, float16, three, 0}), std::invalid_argument);
  CHECK_THROWS_AS(matmul(order, {float16, three, float16, three, 2}), std::invalid_argument);
  CHECK_THROWS_AS(matmul(split_order({}, 0), {float16, three, float16, three, 3}), std::invalid_argument);
  CHECK_THROWS_AS(matmul(split_order({.accumulator = float64}, 1), {float16, three, float16, three, 3}),
                  std::invalid_argument);
  CHECK_THROWS_AS(matmul_error(float32, three, {float16, three, float16, three, 3}), std::invalid_argument);
  CHECK_THROWS_WITH(unit_chosen({.unit = "H100"}, float32),
                    Contains("with operands in float32: it takes float16, float16 into float16, bfloat16"));
  CHECK_THROWS_WITH(unit_chosen({.unit = "pascal"}, float16), Contains("there are volta, turing, ampere"));
  CHECK(name_of(unit_chosen({.unit = "B200", .scale = float8_e8m0, .block = 32}, float8_e5m2)) ==
        "blackwell scaled by float8_e8m0 of 32");
}
