// Pins what is told of formats of blocks: with block tables what quantize_blocks gives, element by element; without, no more than
// what follows from tensors as wholes, and why.
#include <ulp/ask/runs/compared_blocks.hpp>

#include "support/catch.hpp"

#include <ulp/io/recording/recording.hpp>
#include <ulp/model/cells/cell_counter.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "model/cells/block_samples.hpp"
#include "model/outcomes/quantized_blocks.hpp"
#include "support/files.hpp"

using namespace ulp;
using namespace ulp::test;

namespace {

constexpr matrix_extent extent{24, 96};
constexpr int steps = 3;

// Of that step and tensor.
std::vector<float> values_of(int step, std::uint32_t tensor) {
  random_numbers random(static_cast<std::uint32_t>(step * 7 + 1) + tensor);
  std::vector<float> x;
  for (std::size_t row = 0; row < extent.rows; ++row) {
    const int top = -static_cast<int>(random.below(24));
    for (std::size_t i = 0; i < extent.columns; ++i)
      x.push_back(random.below(9) == 0 ? 0 : random.of_binades(top - 14, top));
  }
  return x;
}

pictured_run recorded(const temporary_dir& dir, const std::vector<block_extent>& blocks) {
  const std::string path = (dir / "run.ulp").string();
  {
    recording_writer writer(path, recording_writer::mode::create);
    for (int i = 0; i < steps; ++i) {
      step now;
      now.key.step = i;
      for (std::uint32_t t = 0; t < 2; ++t) {
        const std::vector<float> x = values_of(i, t);
        now.tensors.push_back({.tensor = t, .type = dtype::float32, .factor = 1, .table = count_cells(std::span(x))});
        std::vector<block_table> tables;
        for (const block_extent& block : blocks) tables.push_back(count_blocks(x, extent, block));
        if (!tables.empty())
          now.tensors.back().blocks = std::make_shared<const std::vector<block_table>>(std::move(tables));
      }
      writer.write(
          now, {{.name = "fc", .kind = tensor_kind::weight_grad}, {.name = "out", .kind = tensor_kind::weight_grad}});
    }
  }
  pictured_run run;
  run.text.inputs = {path};
  picture(run, nobody());
  return run;
}

compared_blocks of(const pictured_run& run, const std::string& name, const step_bounds& within = {},
                   const tensor_mask& shown = {true, true}) {
  return compare_blocks(run, within, shown, block_formats_named({name}, "--block"), nobody()).front();
}

// Element by element.
block_outcomes given(const std::string& name, int first, int last, const std::vector<std::uint32_t>& tensors) {
  block_outcomes all;
  for (int i = first; i <= last; ++i)
    for (const std::uint32_t t : tensors)
      all += quantized_blocks(*find_block_format(name), {})(values_of(i, t), extent);
  return all;
}

}  // namespace

TEST_CASE("with block tables counts are those of every element, of the steps and tensors that are shown") {
  const temporary_dir dir;
  const pictured_run run = recorded(dir, {{1, 32}, {1, 16}});
  for (const char* const name : {"mxfp8", "mxfp6_e3m2", "mxfp4", "te_mxfp8_e4m3_cppref"}) {
    CAPTURE(name);
    const compared_blocks all = of(run, name);
    CHECK(all.basis == block_basis::scale);
    CHECK(all.why_open.empty());
    CHECK(all.counted == 6);
    const block_outcomes exact = given(name, 0, steps - 1, {0, 1});
    CHECK(all.outcomes.underflow == exact.underflow);
    CHECK(all.outcomes.subnormal == exact.subnormal);
    CHECK(all.outcomes.overflow == exact.overflow);
    const compared_blocks part = of(run, name, {1, 1}, {false, true});
    CHECK(part.counted == 1);
    CHECK(part.outcomes.underflow == given(name, 1, 1, {1}).underflow);
    std::uint64_t placed = part.exponents.zeros;
    for (const auto& [exponent, n] : part.exponents.by_exponent) placed += n.low;
    CHECK(placed == extent.rows * extent.columns);
  }
}

TEST_CASE("what tables do not tell is not counted, and exponents are those below the largest number") {
  const temporary_dir dir;
  const pictured_run run = recorded(dir, {{1, 32}, {1, 16}});
  const compared_blocks told = of(run, "nvfp4", {0, 0});
  CHECK(told.basis == block_basis::amax);
  CHECK_FALSE(told.has_outcomes);
  CHECK_THAT(told.why_open, Contains("no powers of two"));
  CHECK(told.exponents.by_exponent.rbegin()->first == 0);
}

TEST_CASE("blocks down the columns are taken where there are no others") {
  const temporary_dir dir;
  const compared_blocks told = of(recorded(dir, {{32, 1}}), "mxfp4", {0, 0}, {true, false});
  CHECK(told.along_other);
  CHECK(told.basis == block_basis::scale);
  block_format down = *find_block_format("mxfp4");
  down.block = {32, 1};
  CHECK(told.outcomes.underflow == quantized_blocks(down, {})(values_of(0, 0), extent).underflow);
}

TEST_CASE("without block tables there is a bound, and the option that would record them") {
  const temporary_dir dir;
  const pictured_run run = recorded(dir, {});
  for (const char* const name : {"mxfp8", "mxfp4", "fp8_1x128", "fp8_128x128", "fp8_row"}) {
    CAPTURE(name);
    const compared_blocks told = of(run, name);
    CHECK(told.basis == block_basis::tensor_scale);
    CHECK_FALSE(told.has_outcomes);
    CHECK(told.outcomes.underflow.high >= given(name, 0, steps - 1, {0, 1}).underflow.low);
  }
  CHECK_THAT(of(run, "mxfp4").why_open, Contains("ulp record --blocks 32"));
  CHECK_THAT(of(run, "fp8_128x128").why_open, Contains("ulp record --blocks 128x128"));
  CHECK(of(run, "nvfp4").basis == block_basis::none);
}

TEST_CASE("a scale for the tensor needs no block tables") {
  const temporary_dir dir;
  const pictured_run run = recorded(dir, {});
  const compared_blocks told = of(run, "fp8_tensor");
  CHECK(told.basis == block_basis::scale);
  CHECK(told.why_open.empty());
  const block_outcomes exact = given("fp8_tensor", 0, steps - 1, {0, 1});
  CHECK(told.outcomes.underflow.low <= exact.underflow.low);
  CHECK(exact.underflow.low <= told.outcomes.underflow.high);
  CHECK(told.outcomes.underflow.high - told.outcomes.underflow.low < told.outcomes.numel / 20);
}

TEST_CASE("names are those of ulp formats --blocks") {
  CHECK_THROWS_WITH(block_formats_named({"mxfp5"}, "--block"),
                    Contains("--block: 'mxfp5' is no format of blocks; did you mean 'mxfp"));
  std::vector<const block_format*> rows;
  for (const named_block_format& usual : usual_block_formats()) {
    CHECK(std::ranges::find(rows, usual.row) == rows.end());
    rows.push_back(usual.row);
  }
  CHECK(rows.size() == 11);
}

TEST_CASE("as the format of a replay they are refused, with the option that shows them") {
  CHECK_THROWS_WITH(refuse_blocks_as_format("mxfp4"), Contains("--block mxfp4 shows it beside the replay"));
  CHECK_NOTHROW(refuse_blocks_as_format("float16"));
}

TEST_CASE("a recording says whether it keeps block tables") {
  const temporary_dir with;
  const temporary_dir without;
  CHECK(keeps_block_tables(recorded(with, {{1, 32}}).text));
  CHECK_FALSE(keeps_block_tables(recorded(without, {}).text));
}
