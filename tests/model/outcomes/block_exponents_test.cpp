// How far elements lie from their scale, against each element over the scale that quantize_blocks gave to its block.
#include <ulp/model/outcomes/block_exponents.hpp>
#include <ulp/model/outcomes/block_outcomes.hpp>

#include <cmath>
#include <cstdint>
#include <map>
#include <vector>

#include <ulp/formats/codec.hpp>

#include "model/cells/block_samples.hpp"
#include "support/catch.hpp"

namespace {

using namespace ulp;
using namespace ulp::test;

// What the code of 1 stands for at each element.
std::vector<float> units_of(const block_format& row, const sample& s) {
  const block_grid grid = grid_of(row, s.of);
  std::vector<std::uint8_t> codes(s.x.size());
  std::vector<std::uint8_t> scale_codes(grid.scales());
  std::vector<float> numbers(grid.scales());
  const scale_span scales = row.scale == scale_type::float32 ? scale_span{numbers} : scale_span{scale_codes};
  quantize_blocks(row, s.x, s.of, codes, scales);
  const auto one = static_cast<std::uint8_t>(row.element.numbers != nullptr ? encode(*row.element.numbers, 1.0F).code
                                                                            : 1U << row.element.fraction_bits);
  const std::vector<std::uint8_t> ones(s.x.size(), one);
  std::vector<float> units(s.x.size());
  dequantize_blocks(row, ones, scales, s.of, units);
  return units;
}

bool has_nonfinite(const block_format& row, const sample& s, std::size_t i) {
  const block_grid grid = grid_of(row, s.of);
  const std::size_t down = i / s.of.columns / grid.block.rows;
  const std::size_t across = i % s.of.columns / grid.block.columns;
  for (std::size_t r = down * grid.block.rows; r < std::min(s.of.rows, (down + 1) * grid.block.rows); ++r)
    for (std::size_t c = across * grid.block.columns; c < std::min(s.of.columns, (across + 1) * grid.block.columns);
         ++c)
      if (!std::isfinite(s.x[r * s.of.columns + c])) return true;
  return false;
}

std::uint64_t sum_of(const std::map<int, std::uint64_t>& counts) {
  std::uint64_t sum = 0;
  for (const auto& [exponent, n] : counts) sum += n;
  return sum;
}

TEST_CASE("Each element is in the binade of its quotient by the scale of its block") {
  std::uint64_t rows = 0;
  std::uint64_t exact = 0;
  std::uint64_t all = 0;
  for (const block_format& row : block_formats()) {
    if (!why_block_tables_do_not_tell(row).empty() || row.block.columns == 0) continue;
    ++rows;
    CAPTURE(row.name);
    const block_outcome_counter counter(row);
    for (const sample& s : samples(17)) {
      CAPTURE(s.name);
      const std::vector<float> units = units_of(row, s);
      std::map<int, std::uint64_t> counted;
      std::uint64_t lost = 0;
      std::uint64_t unplaced = 0;
      for (std::size_t i = 0; i < s.x.size(); ++i) {
        if (s.x[i] == 0 || !std::isfinite(s.x[i])) continue;
        if (has_nonfinite(row, s, i))
          ++unplaced;
        else if (std::isnan(units[i]))
          ++lost;
        else
          ++counted[std::ilogb(s.x[i]) - std::ilogb(units[i])];
      }
      const block_exponents told = counter.exponents(count_blocks(s.x, s.of, row.block));
      CHECK(told.numel == s.x.size());
      CHECK(told.unplaced == unplaced);
      CHECK(told.lost.low <= lost);
      CHECK(lost <= told.lost.high);
      CHECK(told.zeros + told.nonfinite + unplaced + lost + sum_of(counted) == s.x.size());
      for (const auto& [exponent, n] : counted) {
        CAPTURE(exponent);
        const auto found = told.by_exponent.find(exponent);
        REQUIRE(found != told.by_exponent.end());
        CHECK(found->second.low <= n);
        CHECK(n <= found->second.high);
      }
      for (const auto& [exponent, n] : told.by_exponent) {
        CHECK((n.low == 0 || counted.contains(exponent)));
        all += 1;
        exact += n.exact() ? 1 : 0;
      }
    }
  }
  CHECK(rows > 60);
  WARN(exact << " of " << all << " binades are exact");
  CHECK(exact * 100 >= all * 95);
}

TEST_CASE("Exponents below the largest number of a block need no rule") {
  const std::vector<float> x{6, -1.5F, 0.25F, 0, 0.01F, 0.01F, -0.005F, 0};
  const block_exponents told = exponents_below_amax(count_blocks(x, {1, 8}, {1, 4}));
  CHECK(told.numel == 8);
  CHECK(told.zeros == 2);
  // 6 and 2^-7 * 1.28 are the largest.
  CHECK(told.by_exponent == std::map<int, count_range>{{0, {3, 3}}, {-1, {1, 1}}, {-2, {1, 1}}, {-4, {1, 1}}});
}

TEST_CASE("Over a unit that is no power of two a cell may be in either of two binades") {
  cell_table table;
  table.numel = 10;
  table.zeros = 1;
  table.max_abs = 1.75;
  table.min_abs = 1;
  table.cells = {{.sign = cell_sign::positive, .slot = 0, .exponent = 0, .count = 4},
                 {.sign = cell_sign::positive, .slot = 1, .exponent = 0, .count = 5}};
  const block_exponents halves = exponents_over(table, 0.5);
  CHECK(halves.by_exponent == std::map<int, count_range>{{1, {9, 9}}});
  const block_exponents told = exponents_over(table, 1.25);  // 1 to 1.5 is 0.8 to 1.2
  CHECK(told.by_exponent == std::map<int, count_range>{{-1, {4, 9}}, {0, {0, 5}}});
  CHECK(told.zeros == 1);
}

}  // namespace
