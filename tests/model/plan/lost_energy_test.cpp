// The energy that treatments lose, by tables, against every element quantized.
#include <ulp/model/plan/lost_energy.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <ulp/formats/codec.hpp>
#include <ulp/formats/names.hpp>
#include <ulp/model/cells/cell_counter.hpp>
#include <ulp/model/plan/hardware.hpp>

#include "model/cells/block_samples.hpp"
#include "support/catch.hpp"

namespace {

using namespace ulp;
using namespace ulp::test;

tensor_row row_of(const sample& s, cell_counter::with what) {
  tensor_row row;
  row.type = dtype::float32;
  cell_counter counter(what);
  counter.add(std::span<const float>(s.x));
  row.table = counter.take();
  return row;
}

// Finite, and of magnitudes that no float32 number near the ends of its range is needed for.
bool is_ordinary(const sample& s) {
  float amax = 0;
  for (const float x : s.x) {
    if (!std::isfinite(x)) return false;
    amax = std::max(amax, std::fabs(x));
  }
  return amax >= 0x1p-80F && amax <= 0x1p120F;
}

// Sums are of doubles, in other orders.
constexpr double about = 1e-11;

double exact_share(const block_format& row, const sample& s) {
  const quantized_outcomes all = quantize_values({.row = row, .with_errors = true}, s.x, s.of);
  REQUIRE(all.counts.overflow.high == 0);
  return all.errors->signal > 0 ? all.errors->error / all.errors->signal : 0;
}

std::vector<sample> gradients() {
  random_numbers random(41);
  std::vector<sample> all;
  // Normal numbers, of one size, and of one for each row, as gradients of tokens are.
  for (const int spread : {0, 4, 12}) {
    sample made{"normal " + std::to_string(spread), {40, 160}, std::vector<float>(40 * 160)};
    for (std::size_t r = 0; r < 40; ++r)
      for (std::size_t c = 0; c < 160; ++c) {
        double sum = 0;
        for (int i = 0; i < 12; ++i) sum += std::ldexp(static_cast<double>(random.bits()), -32);
        const int size = spread == 0 ? 0 : static_cast<int>(r) % spread;
        made.x[r * 160 + c] = static_cast<float>(std::ldexp(sum - 6, -size));
      }
    all.push_back(made);
  }
  for (const sample& s : samples(37))
    if (is_ordinary(s)) all.push_back(s);
  return all;
}

TEST_CASE("The energy lost in blocks lies within what tables say, with and without block tables") {
  std::uint64_t rows = 0;
  std::uint64_t cases = 0;
  std::uint64_t narrow = 0;
  for (const block_format& row : block_formats()) {
    if (!why_tables_do_not_bound(row).empty()) continue;
    ++rows;
    CAPTURE(row.name);
    const block_energy energy(row);
    for (const sample& s : gradients()) {
      CAPTURE(s.name);
      const double exact = exact_share(row, s);
      const bool has_table = row.block.rows > 0 && row.block.columns > 0;
      for (const auto what :
           {cell_counter::with::sums_and_errors, cell_counter::with::sums, cell_counter::with::nothing})
        for (const bool with_blocks : {false, true}) {
          if (with_blocks && !has_table) continue;
          CAPTURE(static_cast<int>(what), with_blocks);
          const block_table blocks = with_blocks ? count_blocks(s.x, s.of, row.block) : block_table{};
          const lost_energy told = energy(row_of(s, what), with_blocks ? &blocks : nullptr);
          INFO(told.share.low << " to " << told.share.high << ", about " << told.estimate << "; " << exact);
          CHECK(told.share.low <= exact * (1 + about));
          CHECK(exact <= told.share.high * (1 + about));
          CHECK((told.share.low <= told.estimate && told.estimate <= told.share.high));
          CHECK(!told.may_saturate);
          if (what != cell_counter::with::sums_and_errors || (has_table && !with_blocks)) continue;
          ++cases;
          narrow += told.share.high <= 1.01 * told.share.low ? 1 : 0;
        }
    }
  }
  CHECK(rows >= 10);
  WARN(narrow << " of " << cases << " ranges are within 1 %");
  CHECK(narrow * 2 > cases);
}

TEST_CASE("The energy lost under a scale for the tensor is that of every element, exactly") {
  for (const auto& [name, to] :
       {std::pair{"te_current_e4m3_pow2", float8_e4m3fn}, {"te_current_e5m2_pow2", float8_e5m2}}) {
    CAPTURE(name);
    for (const sample& s : gradients()) {
      CAPTURE(s.name);
      const lost_energy told = lost_energy_in_tensor_scale(row_of(s, cell_counter::with::sums_and_errors), to);
      const double exact = exact_share(*find_block_format(name), s);
      CHECK(told.share.low == told.share.high);
      CHECK(std::fabs(told.share.low - exact) <= about * exact);
      CHECK(!told.may_saturate);
    }
  }
}

TEST_CASE("The energy lost in formats of 16 bits is that of every element, and saturation is told") {
  for (const format& to : {float16, bfloat16, cbfloat16})
    for (const double scale : {0x1p-20, 1.0, 0x1p12})
      for (const sample& s : gradients()) {
        CAPTURE(to_string(to), scale, s.name);
        double signal = 0;
        double error = 0;
        bool overflows = false;
        for (const float x : s.x) {
          const double exact = static_cast<double>(x);
          const encoded result = encode(to, exact * scale);
          overflows = overflows || any(result.flags, status::overflow);
          const double left = exact - to_double(to, result.code) / scale;
          signal += exact * exact;
          error += left * left;
        }
        const lost_energy told =
            lost_energy_of(row_of(s, cell_counter::with::sums_and_errors), {to, {}}, {.scale = scale});
        CHECK(told.saturates == overflows);
        CHECK(told.may_saturate == overflows);
        if (overflows || signal == 0) continue;
        CHECK(told.share.low == told.share.high);
        CHECK(std::fabs(told.share.low - error / signal) <= about * error / signal);
      }
}

TEST_CASE("Zeros lose nothing, and of a tensor whose largest value is not known nothing is known") {
  const sample zeros{"zeros", {2, 32}, std::vector<float>(64)};
  CHECK(lost_energy_in_tensor_scale(row_of(zeros, cell_counter::with::sums_and_errors), float8_e4m3fn).share.high == 0);
  tensor_row buckets;
  buckets.table = {.numel = 4, .max_abs = not_known, .min_abs = not_known, .buckets = {{1, 2, 4}}};
  CHECK(lost_energy_in_tensor_scale(buckets, float8_e4m3fn).share.high == no_bound);
  CHECK(block_energy(*find_block_format("te_mxfp8_e4m3_cppref"))(buckets, nullptr).share.high == no_bound);
  CHECK(!lost_energy_of(buckets, {float16, {}}, {}).may_saturate);
  CHECK(lost_energy_of(buckets, {float16, {}}, {.scale = 0x1p15}).may_saturate);
  CHECK(!lost_energy_of(buckets, {float16, {}}, {.scale = 0x1p15}).saturates);
}

TEST_CASE("Treatments take the bits of their elements and scales, and each hardware has its own") {
  const auto named = [](std::string_view name) {
    return *std::ranges::find(plan_treatments(), name, &plan_treatment::name);
  };
  const std::vector<std::uint64_t> shape{3, 100};
  CHECK(named("float16").bits(300, shape) == 4800);
  CHECK(named("tf32").bits(300, shape) == 9600);
  CHECK(named("fp8_e4m3").bits(300, shape) == 2432);
  CHECK(named("mxfp8_e4m3").bits(300, shape) == 2400 + 3 * 4 * 8);
  CHECK(named("fp8_e4m3_row").bits(300, shape) == 2400 + 3 * 32);
  CHECK(named("fp8_e4m3_128x128").bits(300, shape) == 2400 + 32);
  CHECK(named("nvfp4").bits(300, shape) == 1200 + 3 * 7 * 8 + 32);
  CHECK(named("mxfp4").bits(0, {}) == 0);
  for (const plan_hardware& h : plan_hardware_catalog()) {
    CAPTURE(h.name);
    CHECK(h.rows().size() == h.treatments.size());
    CHECK(h.rows().back().name == "float32");
    const bool has_cbfloat16 = std::ranges::find(h.treatments, "cbfloat16") != h.treatments.end();
    CHECK(has_cbfloat16 == (h.name == "cs" || h.name == "any"));
    for (const plan_treatment& t : h.rows()) {
      CHECK(t.elements().is_valid());
      CHECK((t.blocks() != nullptr) == (t.scale == plan_scale::block));
    }
  }
  CHECK_THROWS_AS(plan_hardware_named("tpu"), std::invalid_argument);
}

}  // namespace
