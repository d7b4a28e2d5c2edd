// Pins what a run is told of formats of blocks: the share that each tensor loses and what becomes of its values, against
// quantize_blocks element by element; and which rows a name leaves open.
#include <ulp/ask/runs/block_trial.hpp>

#include "support/catch.hpp"

#include <ulp/io/recording/recording.hpp>
#include <ulp/model/cells/cell_counter.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "io/builders.hpp"
#include "model/cells/block_samples.hpp"
#include "model/outcomes/quantized_blocks.hpp"
#include "support/files.hpp"

using namespace ulp;
using namespace ulp::test;

namespace {

constexpr matrix_extent tried_extent{24, 96};
constexpr int tried_steps = 3;
constexpr std::uint32_t tried_tensors = 3;

// Rows of one size each, which differ by up to `spread` binades; tensor 2 has elements of very different size in a block.
std::vector<float> tried_values(int step, std::uint32_t tensor) {
  random_numbers random(static_cast<std::uint32_t>(step * 7 + 1) + tensor);
  std::vector<float> x;
  for (std::size_t row = 0; row < tried_extent.rows; ++row) {
    const int top = -static_cast<int>(random.below(12));
    for (std::size_t i = 0; i < tried_extent.columns; ++i)
      x.push_back(random.below(9) == 0 ? 0 : random.of_binades(top - (tensor == 2 ? 30 : 4), top));
  }
  return x;
}

tensor_info info_of(std::uint32_t tensor) {
  return {.name = "t" + std::to_string(tensor), .kind = tensor_kind::weight_grad, .shape = {24, 96}};
}

std::string recorded_tables(const temporary_dir& dir, const std::vector<block_extent>& blocks) {
  const std::string path = (dir / "run.ulp").string();
  recording_writer writer(path, recording_writer::mode::create);
  for (int i = 0; i < tried_steps; ++i) {
    step now;
    now.key.step = i;
    for (std::uint32_t t = 0; t < tried_tensors; ++t) {
      const std::vector<float> x = tried_values(i, t);
      now.tensors.push_back({.tensor = t, .type = dtype::float32, .factor = 1, .table = count_cells(std::span(x))});
      std::vector<block_table> tables;
      for (const block_extent& block : blocks) tables.push_back(count_blocks(x, tried_extent, block));
      if (!tables.empty())
        now.tensors.back().blocks = std::make_shared<const std::vector<block_table>>(std::move(tables));
    }
    writer.write(now, {info_of(0), info_of(1), info_of(2)});
  }
  return path;
}

// A safetensors file for each step, in the order of their names.
std::vector<std::string> dumped(const temporary_dir& dir) {
  std::vector<std::string> paths;
  for (int i = 0; i < tried_steps; ++i) {
    std::string header;
    std::string values;
    for (std::uint32_t t = 0; t < tried_tensors; ++t) {
      const std::vector<float> x = tried_values(i, t);
      header += (t == 0 ? "{\"t" : ",\"t") + std::to_string(t) +
                R"(":{"dtype":"F32","shape":[24,96],"data_offsets":[)" + std::to_string(values.size()) + "," +
                std::to_string(values.size() + 4 * x.size()) + "]}";
      values.append(reinterpret_cast<const char*>(x.data()), 4 * x.size());
    }
    paths.push_back((dir / ("step" + std::to_string(i) + ".safetensors")).string());
    write_file(paths.back(), safetensors(header + "}", values));
  }
  return paths;
}

struct true_loss {
  double share = 0;
  int step = 0;
};

// The greatest share of any step.
true_loss loss_of(const block_format& row, std::uint32_t tensor) {
  true_loss worst;
  for (int i = 0; i < tried_steps; ++i) {
    const std::vector<float> x = tried_values(i, tensor);
    const std::size_t scales = grid_of(row, tried_extent).scales();
    std::vector<std::uint8_t> codes(x.size());
    std::vector<std::uint8_t> scale_codes(scales);
    std::vector<float> scale_numbers(scales);
    std::vector<float> numbers(x.size());
    const bool has_numbers = row.scale == scale_type::float32;
    const scale_span span = has_numbers ? scale_span{scale_numbers} : scale_span{scale_codes};
    quantize_blocks(row, x, tried_extent, codes, span, {}, numbers);
    long double signal = 0;
    long double error = 0;
    for (std::size_t k = 0; k < x.size(); ++k) {
      signal += static_cast<long double>(x[k]) * x[k];
      const long double by = static_cast<long double>(numbers[k]) - x[k];
      error += by * by;
    }
    const auto share = static_cast<double>(error / signal);
    if (share > worst.share) worst = {share, i};
  }
  return worst;
}

std::vector<const block_format*> rows_named(const std::vector<std::string>& names) {
  std::vector<const block_format*> rows;
  for (const std::string& name : names) rows.push_back(find_block_format(name));
  return rows;
}

block_trial tried(const std::vector<std::string>& inputs, const std::vector<std::string>& names) {
  const run_text run{.inputs = inputs};
  const auto made = try_blocks(run, run.selected(), rows_named(names), nobody(), first_look::yes);
  REQUIRE(made);
  REQUIRE(made->steps == tried_steps);
  REQUIRE(made->tensors.size() == tried_tensors);
  return *made;
}

const std::vector<std::string> some{"torchao_mxe4m3_floor", "torchao_mxe4m3_rceil",       "torchao_mxe4m3_ceil",
                                    "torchao_mxe4m3_even",  "torchao_mxe5m2_rceil",       "torchao_mxe2m1_rceil",
                                    "te_nvfp4_1x16",        "te_blockfp8_e4m3_1x128_pow2"};

}  // namespace

TEST_CASE("of dumps the share that is lost, and what saturates, are those of every element") {
  const temporary_dir dir;
  const block_trial all = tried(dumped(dir), some);
  CHECK(all.from_values);
  for (std::size_t r = 0; r < some.size(); ++r)
    for (const tried_tensor& t : all.tensors) {
      CAPTURE(some[r], t.tensor);
      const true_loss loss = loss_of(*all.rows[r], t.tensor);
      const judged_treatment& j = t.of[r];
      CHECK(std::fabs(j.worst.high - loss.share) <= 1e-6 * loss.share);
      CHECK(j.worst.low == j.worst.high);
      CHECK(j.step_of_high == loss.step);
      REQUIRE(t.counts[r]);
      if (all.rows[r]->scale == scale_type::e4m3) continue;
      std::uint64_t saturating = 0;
      block_outcomes sum;
      for (int i = 0; i < tried_steps; ++i) {
        const block_outcomes here = quantized_blocks(*all.rows[r], {})(tried_values(i, t.tensor), tried_extent);
        saturating += here.overflow.low > 0 ? 1 : 0;
        sum += here;
      }
      CHECK(j.saturating == saturating);
      CHECK(t.counts[r]->underflow == sum.underflow);
      CHECK(t.counts[r]->overflow == sum.overflow);
    }
}

TEST_CASE("of block tables counts are those of every element, and the share that is lost lies within its bounds") {
  const temporary_dir dir;
  const block_trial all = tried({recorded_tables(dir, {{1, 32}})}, some);
  CHECK_FALSE(all.from_values);
  for (std::size_t r = 0; r < some.size(); ++r)
    for (const tried_tensor& t : all.tensors) {
      CAPTURE(some[r], t.tensor);
      const true_loss loss = loss_of(*all.rows[r], t.tensor);
      CHECK(t.of[r].worst.low <= loss.share * (1 + 1e-6));
      CHECK(t.of[r].worst.high >= loss.share * (1 - 1e-6));
      const bool has_table = all.rows[r]->block == block_extent{1, 32};
      CHECK(t.counts[r].has_value() == has_table);
      if (!has_table) continue;
      block_outcomes sum;
      for (int i = 0; i < tried_steps; ++i)
        sum += quantized_blocks(*all.rows[r], {})(tried_values(i, t.tensor), tried_extent);
      CHECK(t.counts[r]->underflow == sum.underflow);
      CHECK(t.counts[r]->overflow == sum.overflow);
    }
  // A scale that is rounded up loses nothing at the top, the one of OCP does.
  CHECK(all.counts(1)->overflow.high == 0);
  CHECK(all.counts(0)->overflow.low > 0);
}

TEST_CASE("verdicts: what is known to hold, to lose more, to be drowned, to become infinite, and what is open") {
  const auto of = [](double low, double high, std::uint64_t saturating, std::uint64_t nonfinite) {
    judged_treatment j;
    j.steps = 1;
    j.worst = {low, high};
    j.saturating = j.may_saturate = saturating;
    j.nonfinite = nonfinite;
    return verdict_of(j);
  };
  CHECK(of(0, usual_lost_share, 0, 0) == trial_verdict::held);
  CHECK(of(0, usual_lost_share, 1, 0) == trial_verdict::held);
  CHECK(of(0, std::nextafter(usual_lost_share, 1), 0, 0) == trial_verdict::loses_more);
  CHECK(of(0.01, drowning_share, 0, 0) == trial_verdict::loses_more);
  CHECK(of(0.01, std::nextafter(drowning_share, 1), 0, 0) == trial_verdict::not_decided);
  CHECK(of(std::nextafter(drowning_share, 1), 1, 0, 0) == trial_verdict::drowned);
  CHECK(of(drowning_share, 1, 0, 0) == trial_verdict::not_decided);
  CHECK(of(0, no_bound, 1, 1) == trial_verdict::nonfinite);
  CHECK(verdict_of(judged_treatment{}) == trial_verdict::not_decided);
}

TEST_CASE("what does better loses no third, leaves little open, and then loses little") {
  const temporary_dir dir;
  const block_trial all = tried(dumped(dir), {"torchao_mxe2m1_rceil", "torchao_mxe4m3_rceil", "torchao_mxe4m3_floor"});
  CHECK(all.is_better(1, 0));
  CHECK_FALSE(all.is_better(0, 1));
  // Saturation is part of what is lost, and no reason by itself.
  CHECK(all.saturating(2) == 3);
  CHECK(all.is_better(2, 0));
  CHECK(all.is_better(1, 2));
}

TEST_CASE("a name leaves elements and scale rules open, or says them") {
  const block_family both = block_family_named("MXFP8");
  REQUIRE(both.rows.size() == 2);
  CHECK(both.rows[0]->name == "torchao_mxe4m3_rceil");
  CHECK(both.rows[1]->name == "torchao_mxe5m2_rceil");
  REQUIRE(both.by_rule.size() == 2);
  REQUIRE(both.by_rule[1].size() == 4);
  std::vector<std::string_view> rules;
  for (const block_format* row : both.by_rule[1]) rules.push_back(scale_rule_of(*row));
  CHECK(rules == std::vector<std::string_view>{"floor", "rceil", "ceil", "even"});
  CHECK(block_family_named("mxfp8_e5m2").rows.size() == 1);
  CHECK(block_family_named("mxfp4,block=16").rows.front()->block == block_extent{1, 16});
  CHECK(scale_rule_of(*block_family_named("mxfp4,block=16").by_rule[0][3]) == "even");
  const block_family exact = block_family_named("torchao_mxe4m3_floor");
  CHECK(exact.rows.size() == 1);
  CHECK(exact.by_rule.empty());
  CHECK(block_family_named("nvfp4").by_rule.empty());
  CHECK_THROWS_AS(block_family_named("mxint8"), std::invalid_argument);
  CHECK_THROWS_AS(block_family_named("mxfp9"), std::invalid_argument);
}
