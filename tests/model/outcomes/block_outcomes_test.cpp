// Counts from block tables against quantize_blocks, element by element.
#include <ulp/model/outcomes/block_outcomes.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "model/cells/block_samples.hpp"
#include "quantized_blocks.hpp"
#include "support/catch.hpp"

namespace {

using namespace ulp;
using namespace ulp::test;

constexpr std::array roundings{direction::nearest_even,    direction::nearest_away,    direction::toward_zero,
                               direction::toward_positive, direction::toward_negative, direction::to_odd};

bool holds(const count_range& range, const count_range& exact) {
  return range.low <= exact.low && exact.low <= range.high;
}

void expect_held(const block_outcomes& told, const block_outcomes& exact) {
  CHECK(told.numel == exact.numel);
  CHECK(told.zero == exact.zero);
  CHECK(told.nonfinite == exact.nonfinite);
  CHECK(told.blocks == exact.blocks);
  CHECK(told.zero_blocks == exact.zero_blocks);
  CHECK(told.nonfinite_blocks == exact.nonfinite_blocks);
  for (const auto& [name, part] :
       {std::pair{"underflow", &block_outcomes::underflow}, std::pair{"subnormal", &block_outcomes::subnormal},
        std::pair{"normal", &block_outcomes::normal}, std::pair{"overflow", &block_outcomes::overflow},
        std::pair{"lost", &block_outcomes::lost}, std::pair{"clamped", &block_outcomes::clamped_blocks},
        std::pair{"nan", &block_outcomes::nan_blocks}}) {
    INFO(name << " [" << (told.*part).low << ", " << (told.*part).high << "], counted " << (exact.*part).low);
    CHECK(holds(told.*part, exact.*part));
  }
}

block_format in_blocks_of(block_format row, block_extent block) {
  row.block = block;
  return row;
}

TEST_CASE("Counts from block tables are those of every element, under four rules, five formats and six roundings") {
  const std::array rules{amax_rule::floor, amax_rule::ceil, amax_rule::even, amax_rule::round_up};
  std::uint64_t cases = 0;
  std::uint64_t exact = 0;
  for (const block_format& row : block_formats()) {
    if (row.scale != scale_type::e8m0 || std::ranges::find(rules, row.rule) == rules.end()) continue;
    CAPTURE(row.name);
    for (const direction way : roundings) {
      CAPTURE(static_cast<int>(way));
      const rounding how{.direction = way};
      const block_outcome_counter outcomes(row, how);
      for (const sample& s : samples(7)) {
        CAPTURE(s.name);
        const block_outcomes told = outcomes(count_blocks(s.x, s.of, row.block));
        expect_held(told, quantized_blocks(row, how)(s.x, s.of));
        ++cases;
        exact += told.exact() ? 1 : 0;
      }
    }
  }
  CHECK(cases == 20 * 6 * samples(7).size());
  WARN(exact << " of " << cases << " counts are exact");
  CHECK(exact * 100 >= cases * 95);
}

TEST_CASE("Every row that block tables tell of is counted in ranges that hold, in blocks of other extents too") {
  for (const block_format& row : block_formats()) {
    if (!why_block_tables_do_not_tell(row).empty()) continue;
    CAPTURE(row.name);
    for (const block_extent block : {row.block, block_extent{1, 16}, block_extent{32, 32}, block_extent{32, 1}}) {
      CAPTURE(block.rows, block.columns);
      const block_format changed = in_blocks_of(row, block);
      const block_outcome_counter outcomes(changed);
      for (const sample& s : samples(11)) {
        CAPTURE(s.name);
        expect_held(outcomes(count_blocks(s.x, s.of, block)), quantized_blocks(changed, {})(s.x, s.of));
      }
    }
  }
}

TEST_CASE("Flushing results and saturating are counted as quantize_blocks does") {
  const block_format& row = *find_block_format("mxfp8_e5m2");
  for (const flush ftz : {flush::before_rounding, flush::after_rounding, flush::result}) {
    const rounding how{.flush = ftz, .daz = true};
    const block_outcome_counter outcomes(row, how);
    for (const sample& s : samples(13)) {
      CAPTURE(s.name);
      expect_held(outcomes(count_blocks(s.x, s.of, row.block)), quantized_blocks(row, how)(s.x, s.of));
    }
  }
}

TEST_CASE("Rows that take more than a block's own numbers are refused, with the reason") {
  CHECK_THROWS_WITH(block_outcome_counter(*find_block_format("nvfp4")), Contains("follow from the whole tensor"));
  CHECK_THROWS_WITH(block_outcome_counter(*find_block_format("te_current_e4m3_f32")), Contains("no powers of two"));
  CHECK_THROWS_WITH(block_outcome_counter(*find_block_format("mxfp8"), rounding{.direction = direction::stochastic}),
                    Contains("place of each element"));
  CHECK(why_block_tables_do_not_tell(*find_block_format("fp8_1x128")).empty());
}

}  // namespace
