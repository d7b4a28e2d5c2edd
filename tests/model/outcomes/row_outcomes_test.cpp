// Pins what complete histograms of codes decide to rounding every value, where cells leave ranges.
#include <ulp/model/outcomes/row_outcomes.hpp>

#include "support/catch.hpp"

#include <ulp/formats/catalog.hpp>
#include <ulp/formats/codec.hpp>
#include <ulp/formats/names.hpp>
#include <ulp/model/cells/cell_counter.hpp>

#include <cmath>
#include <random>
#include <vector>

#include "support/raw.hpp"

using namespace ulp;
using namespace ulp::test;

namespace {

// Codes of all kinds, some of them several times.
tensor_row row_of(dtype type, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  tensor_row row;
  row.type = type;
  const std::uint64_t mask = format_of_codes(type)->code_mask();
  const std::uint64_t widest_gap = mask < 256 ? 3 : 40;
  for (std::uint32_t code = 0; code <= mask; code += 1 + static_cast<std::uint32_t>(random() % widest_gap))
    row.codes.push_back({.code = code, .count = 1 + random() % 3});
  cell_counter counter;
  counter.add(*format_of_codes(type), row.codes);
  row.table = counter.take();
  return row;
}

std::vector<double> values_of(const tensor_row& row) {
  std::vector<double> values;
  for (const code_count& c : row.codes)
    values.insert(values.end(), c.count, to_double(*format_of_codes(row.type), c.code));
  return values;
}

}  // namespace

TEST_CASE("the table of codes is that of their values") {
  for (const dtype type : {dtype::float16, dtype::bfloat16, dtype::float8_e4m3fn, dtype::float8_e5m2,
                           dtype::float8_e4m3fnuz, dtype::float8_e5m2fnuz}) {
    const tensor_row row = row_of(type, 1);
    CHECK(row.table == count_cells(values_of(row)));
  }
}

TEST_CASE("counts are exact at scales that are no power of two, and in formats whose edges lie inside cells") {
  for (const dtype type : {dtype::float16, dtype::bfloat16, dtype::float8_e4m3fn, dtype::float8_e5m2fnuz}) {
    const tensor_row row = row_of(type, 2);
    const std::vector<double> values = values_of(row);
    std::size_t ranges = 0;
    for (const char* const f : {"float16", "cbfloat16", "float8_e4m3fn", "dlfloat16", "e5m14"})
      for (const direction d : deterministic_directions)
        for (const double scale : {1.0, 3.0, 1000.0, 0x1.8p-9}) {
          CAPTURE(f, static_cast<int>(d), scale);
          const format to = *find_format(f);
          const rounding mode{.direction = d};
          const outcome_counts truth = count_raw(values, to, mode, scale);
          CHECK(outcomes_of(row, {to, mode}, {.scale = scale}) == truth);
          ranges += outcomes_of(row.table, {to, mode}, {.scale = scale}) == truth ? 0 : 1;
        }
    CHECK(ranges > 20);  // which the cells alone would leave
  }
}

TEST_CASE("few random bits: means and variances over all draws of every value") {
  const tensor_row row = row_of(dtype::float16, 3);
  const std::vector<double> values = values_of(row);
  for (const char* const f : {"float8_e5m2", "float16", "float8_e4m3fn"})
    for (const stochastic_definition how :
         {stochastic_definition::a, stochastic_definition::b, stochastic_definition::c})
      for (const double scale : {1.0, 0x1p-4, 0x1p-12}) {
        CAPTURE(f, static_cast<int>(how), scale);
        const format to = *find_format(f);
        const rounding mode{.direction = direction::stochastic, .definition = how, .random_bits = 3};
        expected_outcomes truth;
        const auto add = [](expected_count& c, double p) {
          c += {.mean = {p, p}, .variance = {p * (1 - p), p * (1 - p)}};
        };
        for (const double x : values) {
          const unpacked y = product(x, scale);
          if (y.kind != number_class::finite) continue;
          double zeros = 0;
          double overflows = 0;
          for (std::uint32_t r = 0; r < 8; ++r) {
            const encoded e = encode(to, y, mode, r);
            zeros += (e.code & to.magnitude_mask()) == 0 ? 1.0 / 8 : 0;
            overflows += any(e.flags, status::overflow) ? 1.0 / 8 : 0;
          }
          add(truth.underflow, zeros);
          add(truth.overflow, overflows);
        }
        const expected_outcomes e = expected_outcomes_of(row, {to, mode}, {.scale = scale});
        CHECK(e.underflow.mean.low == Approx(truth.underflow.mean.low).epsilon(1e-13));
        CHECK(e.underflow.mean.exact());
        CHECK(e.underflow.variance.low == Approx(truth.underflow.variance.low).epsilon(1e-13));
        CHECK(e.overflow.mean.low == Approx(truth.overflow.mean.low).epsilon(1e-13));
        CHECK(e.overflow.variance.high == Approx(truth.overflow.variance.high).epsilon(1e-13));
      }
}

TEST_CASE("errors of every deterministic rounding, and clamping, are exact") {
  const tensor_row row = row_of(dtype::bfloat16, 4);
  const std::vector<double> values = values_of(row);
  for (const char* const f : {"float16", "float8_e4m3fn"})
    for (const direction d : deterministic_directions)
      for (const double scale : {1.0, 3.0, 0x1p-20}) {
        CAPTURE(f, static_cast<int>(d), scale);
        const format to = *find_format(f);
        rounding_noise truth;
        for (const double x : values) {
          const encoded e = encode(to, product(x, scale), {.direction = d});
          if (!std::isfinite(x) || any(e.flags, status::overflow)) continue;
          const double error = x - to_double(to, e.code) / scale;
          truth += {.signal = x * x, .squares = error * error, .products = error * x, .values = 1};
        }
        const rounding_noise noise = noise_of(row, {to, {.direction = d}}, {.scale = scale});
        CHECK(noise.exact);
        CHECK(noise.values == truth.values);
        CHECK(noise.squares == Approx(truth.squares).epsilon(1e-12));
        CHECK(noise.cosine() == Approx(truth.cosine()).epsilon(1e-12));
      }
  // Into a format with more bits than doubles have nothing but the product's own last bits is lost.
  tensor_row few;
  few.type = dtype::bfloat16;
  few.codes = {{0x3EAB, 1}, {0x3F81, 1}, {0x4049, 1}};
  cell_counter counter;
  counter.add(bfloat16, few.codes);
  few.table = counter.take();
  CHECK(noise_of(few, {binary64}, {.scale = 0.1}).squares * 0x1p110 ==
        Approx(3.1553207111947246e-33 * 0x1p110).epsilon(1e-9));

  std::uint64_t above = 0;
  for (const double x : values) above += std::fabs(x) > 0.3 ? 1 : 0;
  CHECK(clamping_of(row, 0.3, {}).elements == count_range{above, above});
  CHECK(count_above(row, 0.3, {}) == count_range{above, above});
}
