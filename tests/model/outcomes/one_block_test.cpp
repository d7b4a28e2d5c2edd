// A tensor as one block, from its cells, against quantize_blocks, element by element; and the bound for smaller blocks.
#include <ulp/model/outcomes/one_block.hpp>

#include <algorithm>
#include <cstdint>
#include <ulp/model/cells/cell_counter.hpp>

#include "model/cells/block_samples.hpp"
#include "quantized_blocks.hpp"
#include "support/catch.hpp"

namespace {

using namespace ulp;
using namespace ulp::test;

bool holds(const count_range& range, const count_range& exact) {
  return range.low <= exact.low && exact.low <= range.high;
}

TEST_CASE("A scale of the tensor: counts from cells hold what every element gave, and most are exact") {
  std::uint64_t rows = 0;
  std::uint64_t counts = 0;
  std::uint64_t exact = 0;
  for (const block_format& row : block_formats()) {
    if (row.block.rows != 0 || row.block.columns != 0) continue;
    ++rows;
    CAPTURE(row.name);
    for (const sample& s : samples(23)) {
      CAPTURE(s.name);
      const block_outcomes told = outcomes_as_one_block(row, count_cells(s.x));
      const block_outcomes given = quantized_blocks(row, {})(s.x, s.of);
      CHECK(told.numel == given.numel);
      CHECK(told.zero == given.zero);
      CHECK(told.nonfinite == given.nonfinite);
      CHECK(holds(told.lost, given.lost));
      for (const auto part : {&block_outcomes::underflow, &block_outcomes::subnormal, &block_outcomes::normal,
                              &block_outcomes::overflow}) {
        INFO("[" << (told.*part).low << ", " << (told.*part).high << "], counted " << (given.*part).low);
        CHECK((given.nonfinite > 0 || holds(told.*part, given.*part)));
        ++counts;
        exact += (told.*part).exact() ? 1 : 0;
      }
    }
  }
  CHECK(rows == 10);
  WARN(exact << " of " << counts << " counts are exact");
  CHECK(exact * 100 >= counts * 60);
}

TEST_CASE("No block loses more to underflow than the tensor's own scale would") {
  std::uint64_t rows = 0;
  for (const block_format& row : block_formats()) {
    if (!why_one_block_does_not_tell(row).empty()) continue;
    ++rows;
    CAPTURE(row.name);
    for (const sample& s : samples(29)) {
      CAPTURE(s.name);
      const block_outcomes bound = outcomes_as_one_block(row, count_cells(s.x));
      const block_outcomes given = quantized_blocks(row, {})(s.x, s.of);
      CHECK(given.underflow.low <= bound.underflow.high + bound.lost.high);
    }
  }
  CHECK(rows > 70);
}

TEST_CASE("Rows whose scales follow from tensor and block together are not told of") {
  CHECK_THAT(why_one_block_does_not_tell(*find_block_format("nvfp4")), Contains("from the whole tensor"));
  CHECK(why_one_block_does_not_tell(*find_block_format("fp8_tensor")).empty());
}

}  // namespace
