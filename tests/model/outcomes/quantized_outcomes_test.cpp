// Counts and errors of quantized values, against a loop over the elements that rounds each by itself, and against block tables of
// the same values.
#include <ulp/model/outcomes/quantized_outcomes.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>

#include <ulp/formats/catalog.hpp>
#include <ulp/formats/codec.hpp>

#include "model/cells/block_samples.hpp"
#include "support/catch.hpp"

namespace {

using namespace ulp;
using namespace ulp::test;

// Of many binades, so that some of each block underflow; no two are alike.
std::vector<float> spread(std::size_t size, std::uint32_t state) {
  std::vector<float> all(size);
  for (float& x : all) {
    state = state * 1664525U + 1013904223U;
    const int exponent = static_cast<int>(state >> 28U) - 12;
    state = state * 1664525U + 1013904223U;
    x = std::ldexp(1 + static_cast<float>(state >> 9U) * 0x1p-23F, exponent) * (state % 2 == 0 ? 1.0F : -1.0F);
  }
  for (std::size_t i = 0; i < size; i += 37) all[i] = 0;
  return all;
}

bool is_near(double a, double b) { return std::fabs(a - b) <= 1e-12 * std::fabs(b); }

// By the definition of NVFP4 with two levels: float4_e2m1 over E4M3 over float32.
struct by_hand {
  std::uint64_t zero = 0, underflow = 0, subnormal = 0, overflow = 0;
  long double signal = 0, error = 0;
};
by_hand nvfp4_by_hand(const std::vector<float>& x, matrix_extent of) {
  by_hand found;
  float all = 0;
  for (const float v : x) all = std::max(all, std::fabs(v));
  const float tensor = all / 2688;
  for (std::size_t r = 0; r < of.rows; ++r)
    for (std::size_t first = 0; first < of.columns; first += 16) {
      const std::size_t end = std::min(of.columns, first + 16);
      float amax = 0;
      for (std::size_t c = first; c < end; ++c) amax = std::max(amax, std::fabs(x[r * of.columns + c]));
      const float wanted = std::clamp(amax / 6 / tensor, 0x1p-6F, 448.0F);
      const float scale = to_float(float8_e4m3fn, encode(float8_e4m3fn, wanted).code) * tensor;
      for (std::size_t c = first; c < end; ++c) {
        const float v = x[r * of.columns + c];
        const double scaled = static_cast<double>(v) / static_cast<double>(scale);
        // Halfway cases are none; 0.25 is half of the least number, 0.75 between that and 1, 7 beyond 6 by half a step.
        constexpr double numbers[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
        double nearest = 0;
        for (const double n : numbers)
          if (std::fabs(std::fabs(scaled) - n) < std::fabs(std::fabs(scaled) - nearest)) nearest = n;
        found.zero += v == 0 ? 1 : 0;
        found.underflow += v != 0 && nearest == 0 ? 1 : 0;
        found.subnormal += nearest == 0.5 ? 1 : 0;
        found.overflow += std::fabs(scaled) > 7 ? 1 : 0;
        const float number = std::copysign(static_cast<float>(nearest), v) * scale;
        const long double apart = static_cast<long double>(v) - static_cast<long double>(number);
        found.signal += static_cast<long double>(v) * static_cast<long double>(v);
        found.error += apart * apart;
      }
    }
  return found;
}

TEST_CASE("NVFP4 of two levels is what its definition makes of each element") {
  const block_format& row = *find_block_format("torchao_nvfp4_twolevel");
  for (const matrix_extent of : {matrix_extent{64, 160}, matrix_extent{33, 100}, matrix_extent{1, 7}}) {
    const std::vector<float> x = spread(of.rows * of.columns, static_cast<std::uint32_t>(of.columns));
    const by_hand expected = nvfp4_by_hand(x, of);
    const quantized_outcomes found = quantize_values({.row = row, .with_errors = true}, x, of);
    CHECK(found.counts.zero == expected.zero);
    CHECK(found.counts.underflow == count_range{expected.underflow, expected.underflow});
    CHECK(found.counts.subnormal == count_range{expected.subnormal, expected.subnormal});
    CHECK(found.counts.overflow == count_range{expected.overflow, expected.overflow});
    CHECK(found.counts.blocks == of.rows * ((of.columns + 15) / 16));
    REQUIRE(found.errors);
    CHECK(is_near(found.errors->signal, static_cast<double>(expected.signal)));
    CHECK(is_near(found.errors->error, static_cast<double>(expected.error)));
    CHECK(is_near(found.errors->relative(), static_cast<double>(expected.error / expected.signal)));
    CHECK(is_near(found.errors->sqnr(), static_cast<double>(10 * std::log10(expected.signal / expected.error))));
    CHECK_FALSE(found.knows_clamped);
  }
}

// Each element over what 1 stands for in its block, to the nearest of the codes.
TEST_CASE("every row, 4 over 6 and transforms too: counts and errors are those of a loop over the elements") {
  const matrix_extent size{48, 160};
  const std::vector<float> given = spread(size.rows * size.columns, 5);
  std::size_t rows = 0;
  for (const block_format& row : block_formats()) {
    if (row.element.numbers == nullptr || row.rounding == direction::stochastic) continue;
    INFO(row.name);
    ++rows;
    const quantized_outcomes found = quantize_values({.row = row, .with_errors = true}, given, size);
    const std::vector<float> x = row.transposed_hadamard ? hadamard_of_transpose(given, size) : given;
    const matrix_extent of = row.transposed_hadamard ? matrix_extent{size.columns, size.rows} : size;
    const block_grid grid = grid_of(row, of);
    std::vector<std::uint8_t> codes(x.size());
    std::vector<std::uint8_t> scale_codes(grid.scales());
    std::vector<float> scale_numbers(grid.scales());
    std::vector<float> numbers(x.size());
    const bool is_number = row.scale == scale_type::float32;
    quantize_blocks(row, x, of, codes, is_number ? scale_span{scale_numbers} : scale_span{scale_codes}, {}, numbers);
    const format& element = *row.element.numbers;
    const double least_normal = std::ldexp(1.0, element.emin());
    std::vector<std::uint8_t> ones(x.size(), static_cast<std::uint8_t>(encode(element, 1.0F).code));
    std::vector<float> units(x.size());
    const std::vector<float> amax = tensor_amax(row, x, of);
    dequantize_blocks(row, ones, is_number ? const_scale_span{scale_numbers} : const_scale_span{scale_codes}, of, units,
                      {.tensor_amax = amax});
    std::uint64_t zero = 0;
    std::uint64_t underflow = 0;
    std::uint64_t subnormal = 0;
    std::uint64_t overflow = 0;
    long double signal = 0;
    long double error = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double scaled = static_cast<double>(x[i]) / static_cast<double>(units[i]);
      const double result = static_cast<double>(numbers[i]) / static_cast<double>(units[i]);
      zero += x[i] == 0 ? 1 : 0;
      underflow += x[i] != 0 && numbers[i] == 0 ? 1 : 0;
      subnormal += result != 0 && std::fabs(result) < least_normal * 0.999 ? 1 : 0;
      overflow += any(encode(element, scaled, {.direction = row.rounding}).flags, status::overflow) ? 1 : 0;
      if (!std::isfinite(numbers[i])) continue;
      const long double apart = static_cast<long double>(x[i]) - static_cast<long double>(numbers[i]);
      signal += static_cast<long double>(x[i]) * static_cast<long double>(x[i]);
      error += apart * apart;
    }
    CHECK(found.counts.numel == x.size());
    CHECK(found.counts.zero == zero);
    CHECK(found.counts.underflow == count_range{underflow, underflow});
    CHECK(found.counts.subnormal == count_range{subnormal, subnormal});
    CHECK(found.counts.overflow == count_range{overflow, overflow});
    CHECK(found.counts.blocks == grid.scales());
    CHECK(is_near(found.errors->signal, static_cast<double>(signal)));
    CHECK(is_near(found.errors->error, static_cast<double>(error)));
  }
  CHECK(rows > 40);
}

TEST_CASE("counts of values lie in those of their block tables, and are equal where these are numbers") {
  const auto holds = [](const count_range& range, const count_range& exact) {
    return exact.exact() && range.low <= exact.low && exact.low <= range.high;
  };
  std::uint64_t cases = 0;
  for (const block_format& row : block_formats()) {
    if (!why_block_tables_do_not_tell(row).empty() || row.block.rows == 0 || row.block.columns == 0) continue;
    for (const bool along_other : {false, true}) {
      block_format lying = row;
      if (along_other) std::swap(lying.block.rows, lying.block.columns);
      const block_outcome_counter outcomes(lying);
      for (const sample& s : samples(11)) {
        INFO(row.name << ", " << s.name);
        const block_outcomes told = outcomes(count_blocks(s.x, s.of, lying.block));
        const quantized_outcomes found = quantize_values({.row = row, .along_other = along_other}, s.x, s.of);
        ++cases;
        CHECK(found.counts.numel == told.numel);
        CHECK(found.counts.zero == told.zero);
        CHECK(found.counts.nonfinite == told.nonfinite);
        CHECK(found.counts.blocks == told.blocks);
        CHECK(found.counts.zero_blocks == told.zero_blocks);
        CHECK(found.counts.nonfinite_blocks == told.nonfinite_blocks);
        for (const auto part : {&block_outcomes::underflow, &block_outcomes::subnormal, &block_outcomes::normal,
                                &block_outcomes::overflow, &block_outcomes::lost, &block_outcomes::clamped_blocks,
                                &block_outcomes::nan_blocks})
          CHECK(holds(told.*part, found.counts.*part));
        CHECK(found.knows_clamped);
        CHECK_FALSE(found.errors);
      }
    }
  }
  CHECK(cases > 100);
}

TEST_CASE("the second level is of the whole tensor, along either axis") {
  const matrix_extent of{32, 48};
  const std::vector<float> x = spread(of.rows * of.columns, 9);
  std::vector<float> turned(x.size());
  for (std::size_t r = 0; r < of.rows; ++r)
    for (std::size_t c = 0; c < of.columns; ++c) turned[c * of.rows + r] = x[r * of.columns + c];
  for (const char* const name : {"torchao_nvfp4_twolevel", "te_nvfp4_4over6_mse256", "te_nvfp4_1x16"}) {
    const block_format& row = *find_block_format(name);
    const quantized_outcomes other = quantize_values({.row = row, .along_other = true, .with_errors = true}, x, of);
    const quantized_outcomes direct = quantize_values({.row = row, .with_errors = true}, turned, {of.columns, of.rows});
    CHECK(other.counts == direct.counts);
    CHECK(other.errors->error == direct.errors->error);
  }
}

TEST_CASE("where the scale of a block underflows, all of it does, whatever its codes are") {
  const block_format& row = *find_block_format("te_nvfp4_1x16");
  std::vector<float> x = spread(64, 21);
  for (std::size_t i = 16; i < 32; ++i) x[i] = std::ldexp(1.0F + static_cast<float>(i), -40);
  const quantized_outcomes found = quantize_values({.row = row, .with_errors = true}, x, {1, 64});
  std::vector<float> rest = x;
  for (std::size_t i = 16; i < 32; ++i) rest[i] = 0;
  const quantized_outcomes others = quantize_values({.row = row, .with_errors = true}, rest, {1, 64});
  CHECK(found.counts.underflow.low == others.counts.underflow.low + 16);
  CHECK(found.counts.subnormal == others.counts.subnormal);
  CHECK(found.counts.overflow == others.counts.overflow);
  CHECK(found.counts.normal == others.counts.normal);
  CHECK(found.counts.normal.low + found.counts.underflow.low + found.counts.subnormal.low + found.counts.overflow.low ==
        found.counts.nonzero());
}

TEST_CASE("sums of errors, and what has none") {
  const block_format& row = *find_block_format("torchao_mxe4m3_floor");
  const std::vector<float> exact(64, 1.5F);
  quantized_outcomes all = quantize_values({.row = row, .with_errors = true}, exact, {2, 32});
  CHECK(all.errors->relative() == 0);
  CHECK(std::isinf(all.errors->sqnr()));
  const std::vector<float> none(32);
  CHECK(std::isnan(quantize_values({.row = row, .with_errors = true}, none, {1, 32}).errors->sqnr()));
  std::vector<float> x = spread(64, 3);
  const quantized_outcomes more = quantize_values({.row = row, .with_errors = true}, x, {2, 32});
  all += more;
  CHECK(all.counts.numel == 128);
  CHECK(all.errors->error == more.errors->error);
  CHECK(all.errors->signal == 64 * 2.25 + more.errors->signal);
  // What is finite no more has no error that could be told.
  x[5] = INFINITY;
  const quantized_outcomes lost = quantize_values({.row = row, .with_errors = true}, x, {2, 32});
  CHECK(lost.counts.lost.low == 30);  // of its block, less the infinity and a zero
  CHECK(lost.errors->not_finite == 31);
  CHECK(std::isnan(lost.errors->relative()));
  CHECK(std::isnan(lost.errors->sqnr()));
  CHECK(quantize_values({.row = row}, {}, {0, 0}).counts.numel == 0);
}

// The results themselves say what became of each, by another function of the library.
TEST_CASE(
    "where an infinity decides the scale of a tensor, finite numbers become NaN or infinite, and none is said to underflow") {
  constexpr matrix_extent of{64, 128};
  std::size_t seen = 0;
  for (const block_format& row : block_formats()) {
    if (row.transposed_hadamard || !why_not_quantized({.row = row}, of).empty()) continue;
    CAPTURE(row.name);
    ++seen;
    std::vector<float> x = spread(of.rows * of.columns, 3);
    x[5] = INFINITY;
    const block_outcomes counts = quantize_values({.row = row}, x, of).counts;
    std::vector<std::uint8_t> codes(x.size());
    const std::size_t size = grid_of(row, of).scales();
    std::vector<std::uint8_t> scale_codes(size);
    std::vector<float> scale_numbers(size);
    const scale_span scales = row.scale == scale_type::float32 ? scale_span{scale_numbers} : scale_span{scale_codes};
    std::vector<float> made(x.size());
    quantize_blocks(row, x, of, codes, scales, {}, made);
    std::uint64_t lost = 0;
    std::uint64_t zero = 0;
    std::uint64_t infinite = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (!std::isfinite(x[i]) || x[i] == 0) continue;
      lost += std::isnan(made[i]) ? 1 : 0;
      zero += made[i] == 0 ? 1 : 0;
      infinite += std::isinf(made[i]) ? 1 : 0;
    }
    CHECK(counts.lost == count_range{lost, lost});
    CHECK(counts.underflow == count_range{zero, zero});
    CHECK(counts.overflow.low >= infinite);
    CHECK(counts.nonzero() ==
          counts.lost.low + counts.underflow.low + counts.subnormal.low + counts.overflow.low + counts.normal.low);
  }
  CHECK(seen > 50);
}

}  // namespace
