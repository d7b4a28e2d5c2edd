// Pins what trainings in blocks come to beside their float32 twins.
#include <ulp/train/block_loop.hpp>

#include <cmath>
#include <stdexcept>

#include "support/catch.hpp"

using namespace ulp;

namespace {

block_loop_options loop_in(const char* row, std::int64_t steps, network_kind network = network_kind::mlp) {
  return {.training = {.network = network}, .row = *find_block_format(row), .steps = steps, .judged = 1};
}

}  // namespace

TEST_CASE("weights and first inputs of the first step are foretold exactly, the rest nearly") {
  const block_loop_result r = run_block_loop(loop_in("mxfp8", 1));
  REQUIRE(r.tensors.size() == 9);  // three layers: input, weight, gradient of the output
  std::size_t equal = 0;
  for (const block_loop_tensor& t : r.tensors) {
    CAPTURE(t.name);
    if (t.kind == tensor_kind::weight) CHECK(t.closed == t.open);
    equal += t.closed == t.open ? 1 : 0;
    CHECK(t.closed == Approx(t.open).epsilon(0.2));
  }
  CHECK(equal == 4);
}

TEST_CASE("fewer bits lose more, of tensors and of the loss") {
  const block_loop_result eight = run_block_loop(loop_in("mxfp8", 60));
  const block_loop_result four = run_block_loop(loop_in("mxfp4", 60));
  CHECK(eight.float32_loss == four.float32_loss);
  CHECK(eight.loss != eight.float32_loss);
  CHECK(std::fabs(eight.loss - eight.float32_loss) < 0.05);
  for (std::size_t i = 0; i < 9; ++i) CHECK(eight.tensors[i].closed < four.tensors[i].closed);
  CHECK(eight.rank_correlation > 0.5);
}

TEST_CASE(
    "every layer of a transformer is in blocks, and a scale for each row, square or tensor is one of blocks too") {
  for (const char* const row : {"nvfp4", "fp8_row", "fp8_128x128,block=16x16", "te_current_e4m3_f32"}) {
    CAPTURE(row);
    const block_loop_result r = run_block_loop(loop_in(row, 2, network_kind::transformer));
    CHECK(r.tensors.size() == 27);
    CHECK(std::isfinite(r.loss));
    CHECK(r.loss != r.float32_loss);
  }
}

TEST_CASE("several micro-batches, judged steps that are not there and transforms are refused") {
  block_loop_options o = loop_in("mxfp8", 3);
  o.training.microbatches = 2;
  CHECK_THROWS_AS(run_block_loop(o), std::invalid_argument);
  o.training.microbatches = 1;
  o.judged = 4;
  CHECK_THROWS_AS(run_block_loop(o), std::invalid_argument);
  CHECK_THROWS_AS(run_block_loop(loop_in("te_nvfp4_1x16_rht_columnwise", 3)), std::invalid_argument);
}
