// Block tables against counting one element after the other.
#include <ulp/model/cells/block_table.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <map>
#include <span>
#include <string_view>
#include <vector>

#include <ulp/model/cells/cell_counter.hpp>

#include "model/cells/block_samples.hpp"
#include "support/catch.hpp"

namespace {

using namespace ulp;
using namespace ulp::test;

// As block_table.hpp says it, one element after the other, in doubles.
block_table counted_one_by_one(const sample& s, block_extent block) {
  block_table all{.block = block, .numel = s.x.size()};
  std::map<std::uint32_t, std::uint64_t> classes;
  std::map<std::uint32_t, std::uint64_t> cells;
  const auto place = [](const auto& places, double significand) {
    return static_cast<std::uint8_t>(
        std::ranges::find_if(places, [&](const significands& p) { return significand <= p.high; }) - places.begin());
  };
  bool seen = false;
  for (std::size_t row = 0; row < s.of.rows; row += block.rows)
    for (std::size_t column = 0; column < s.of.columns; column += block.columns) {
      std::vector<double> elements;
      for (std::size_t r = row; r < std::min(row + block.rows, s.of.rows); ++r)
        for (std::size_t c = column; c < std::min(column + block.columns, s.of.columns); ++c)
          elements.push_back(s.x[r * s.of.columns + c]);
      const auto is_nan = [](double x) { return std::isnan(x); };
      const auto is_infinite = [](double x) { return std::isinf(x); };
      const auto is_zero = [](double x) { return x == 0; };
      const auto n = [&](auto which) { return static_cast<std::uint64_t>(std::ranges::count_if(elements, which)); };
      if (n(is_nan) + n(is_infinite) > 0) {
        nonfinite_blocks& to = n(is_nan) > 0 ? all.with_nan : all.with_infinity;
        ++to.blocks;
        to.zeros += n(is_zero);
        to.infinities += n(is_infinite);
        to.nans += n(is_nan);
        to.numbers += elements.size() - n(is_zero) - n(is_infinite) - n(is_nan);
        continue;
      }
      double amax = 0;
      for (const double x : elements) amax = std::max(amax, std::fabs(x));
      if (amax == 0) {
        ++all.zero_blocks;
        all.in_zero_blocks += elements.size();
        continue;
      }
      const int k = std::ilogb(amax);
      const bool is_ordinary = k >= least_ordinary && k <= greatest_ordinary;
      if (is_ordinary) {
        all.least_exponent = static_cast<std::int16_t>(seen ? std::min<int>(all.least_exponent, k) : k);
        all.greatest_exponent = static_cast<std::int16_t>(seen ? std::max<int>(all.greatest_exponent, k) : k);
        seen = true;
      }
      const block_class of{.exponent = is_ordinary ? ordinary : static_cast<std::int16_t>(k),
                           .place = place(amax_places, std::ldexp(amax, -k))};
      ++classes[of.key()];
      for (const double x : elements) {
        if (x == 0) {
          ++all.zeros;
          continue;
        }
        const int e = std::ilogb(x);
        ++cells[block_cell{.of = of.key(),
                           .below = static_cast<std::uint16_t>(k - e),
                           .place = place(element_places, std::ldexp(std::fabs(x), -e)),
                           .negative = x < 0}
                    .key()];
      }
    }
  for (const auto& [key, count] : classes) {
    all.classes.push_back(block_class::of_key(key));
    all.classes.back().blocks = count;
  }
  for (const auto& [key, count] : cells) {
    all.cells.push_back(block_cell::of_key(key));
    all.cells.back().count = count;
  }
  return all;
}

TEST_CASE("Block tables are what counting one by one gives, and merging parts gives them in any order") {
  for (const block_extent block : {block_extent{1, 32}, block_extent{1, 16}, block_extent{16, 1}, block_extent{32, 32},
                                   block_extent{1, 3}, block_extent{5, 7}}) {
    CAPTURE(block.rows, block.columns);
    for (const sample& s : samples(17)) {
      CAPTURE(s.name);
      const block_table whole = count_blocks(s.x, s.of, block);
      CHECK(whole == counted_one_by_one(s, block));
      CHECK(whole.is_consistent());
      const std::size_t upper = s.of.rows / 2 / block.rows * block.rows;
      const std::span<const float> x = s.x;
      block_table top = count_blocks(x.first(upper * s.of.columns), {upper, s.of.columns}, block);
      block_table bottom = count_blocks(x.subspan(upper * s.of.columns), {s.of.rows - upper, s.of.columns}, block);
      const block_table again = bottom;
      bottom.merge(top);
      CHECK(bottom == whole);
      top.merge(again);
      CHECK(top == whole);
    }
  }
}

TEST_CASE("All places of amax and of elements are found, whatever the fraction") {
  // Each fraction once as the largest of its block, beside a 1 of its own binade.
  std::array<std::uint64_t, amax_places.size()> of_amax{};
  std::array<std::uint64_t, element_places.size()> of_element{};
  std::vector<float> x;
  for (std::uint32_t fraction = 0; fraction < 1U << 23; fraction += 1U << 20) {
    x.clear();
    for (std::uint32_t i = fraction; i < fraction + (1U << 20); ++i) {
      x.push_back(-1);
      x.push_back(std::bit_cast<float>(0x3F800000 | i));
    }
    const block_table t = count_blocks(x, {1, x.size()}, {1, 2});
    for (const block_class& c : t.classes) of_amax[c.place] += c.blocks;
    for (const block_cell& c : t.cells) of_element[c.place] += c.negative ? 0 : c.count;
  }
  const auto size_of = [](const significands& s) {
    return static_cast<std::uint64_t>(std::bit_cast<std::uint32_t>(s.high) - std::bit_cast<std::uint32_t>(s.low) + 1);
  };
  for (std::size_t p = 0; p < amax_places.size(); ++p) CHECK(of_amax[p] == size_of(amax_places[p]));
  for (std::size_t p = 0; p < element_places.size(); ++p) CHECK(of_element[p] == size_of(element_places[p]));
}

TEST_CASE("All levels of the processor count the same blocks") {
  std::vector<block_table> first;
  for (const std::string_view kernel : counting_kernels()) {
    CAPTURE(kernel);
    REQUIRE(force_counting_kernel(kernel));
    std::vector<block_table> tables;
    for (const sample& s : samples(23))
      for (const block_extent block : {block_extent{1, 32}, block_extent{32, 1}, block_extent{1, 7}})
        tables.push_back(count_blocks(s.x, s.of, block));
    if (first.empty()) first = tables;
    CHECK(tables == first);
  }
}

TEST_CASE("Threads do not change block tables") {
  random_numbers random(3);
  const sample large = filled("large", {3000, 3001}, [&] { return random.of_binades(-30, 2); });
  for (const block_extent block : {block_extent{1, 32}, block_extent{32, 1}, block_extent{128, 128}})
    CHECK(count_blocks(large.x, large.of, block, 2) == count_blocks(large.x, large.of, block, 1));
}

TEST_CASE("A table whose parts do not add up is not consistent") {
  const std::vector<sample> all = samples(19);
  const sample& s = all[2];
  const block_table good = count_blocks(s.x, s.of, {1, 32});
  REQUIRE(good.is_consistent());
  const auto breaks = [&](auto change) {
    block_table bad = good;
    change(bad);
    return !bad.is_consistent();
  };
  CHECK(breaks([](block_table& t) { ++t.numel; }));
  CHECK(breaks([](block_table& t) { t.cells.pop_back(); }));
  CHECK(breaks([](block_table& t) { ++t.cells.front().count; }));
  CHECK(breaks([](block_table& t) { t.cells.front().below = 277; }));
  CHECK(breaks([](block_table& t) { t.cells.front().place = 18; }));
  CHECK(breaks([](block_table& t) { std::swap(t.cells[0], t.cells[1]); }));
  CHECK(breaks([](block_table& t) { t.classes.pop_back(); }));
  CHECK(breaks([](block_table& t) { t.classes.front().blocks = t.numel; }));
  CHECK(breaks([](block_table& t) { t.classes.front().place = 9; }));
  CHECK(breaks([](block_table& t) { t.least_exponent = 127; }));
  CHECK(breaks([](block_table& t) { t.with_nan.blocks = 1; }));
  CHECK(breaks([](block_table& t) { t.zero_blocks = 1; }));
  // No element of a block is larger than its largest: 1.5 is beside 1.
  std::vector<float> ones(32);
  ones[0] = ones[1] = 1;
  block_table above = count_blocks(ones, {1, 32}, {1, 32});
  REQUIRE(above.cells.size() == 1);
  REQUIRE(above.is_consistent());
  above.cells.push_back(above.cells.front());
  for (block_cell& cell : above.cells) cell.count = 1;
  above.cells.back().place = 2;
  CHECK_FALSE(above.is_consistent());
  above.cells.back().below = 1;
  CHECK(above.is_consistent());
}

}  // namespace
