// Pins the numbers of layers: where the loss scale changes inside a column they are bounds of what its steps add up to, tensors
// and columns are added before a share is taken, and what is modelled or open is said to be so.
#include <ulp/report/pictures/layer_metrics.hpp>

#include "support/catch.hpp"

#include <ulp/formats/catalog.hpp>
#include <ulp/model/cells/cell_counter.hpp>

#include <array>
#include <cmath>
#include <vector>

using namespace ulp;

namespace {

constexpr std::array all_metrics{layer_metric::underflow, layer_metric::subnormal, layer_metric::overflow,
                                 layer_metric::lost_l1,   layer_metric::lost_l2,   layer_metric::sqnr,
                                 layer_metric::zeros,     layer_metric::largest,   layer_metric::headroom};

tensor_row row_of(std::uint32_t tensor, const std::vector<float>& values) {
  tensor_row row{.tensor = tensor, .type = dtype::float32, .factor = 1};
  row.table = count_cells(values);
  return row;
}

// Magnitudes on both sides of all limits of float16, some of them odd.
std::vector<float> values_of(int step) {
  std::vector<float> all{0, 3e-7F * static_cast<float>(step + 1)};
  for (int k = -40; k < 4; ++k) all.push_back(std::ldexp(1.0F + 0.1F * static_cast<float>(step), k));
  return all;
}

layer_question in_float16(layer_metric m) { return {.metric = m, .to = float16, .mode = {}}; }

layer_cell cell_of_steps(const layer_question& q, const tensor_tables& tables, const value_range& scales) {
  const layer_answer answer = answer_to(q, {{&tables, scales}}, 2, ulp::nobody());
  return answer.at(0, 0);
}

}  // namespace

TEST_CASE("a column whose loss scale changes has bounds of what its steps add up to") {
  const std::vector<double> scales{0x1p10, 0x1p12, 0x1p8, 0x1p11};
  for (const layer_metric m : all_metrics) {
    CAPTURE(static_cast<int>(m));
    const layer_question q = in_float16(m);
    tensor_tables merged;
    layer_cell truth;
    for (int n = 0; n < 4; ++n) {
      const tensor_row row = row_of(0, values_of(n));
      merged.add(row);
      tensor_tables alone;
      alone.add(row);
      add(m, truth, cell_of_steps(q, alone, {scales[n], scales[n]}));
    }
    const value_range bounds = value_of(q, cell_of_steps(q, merged, {0x1p8, 0x1p12}));
    const value_range is = value_of(q, truth);
    CHECK(bounds.low <= is.low);
    CHECK(is.high <= bounds.high);
    const bool depends = m != layer_metric::zeros && m != layer_metric::largest && m != layer_metric::overflow;
    CHECK((bounds.low < bounds.high) == depends);
  }
}

TEST_CASE("shares of several tensors are of their sums") {
  tensor_tables tables;
  tables.add(row_of(0, {1e-9F, 1}));
  tables.add(row_of(1, {1, 1, 1, 1, 1, 1}));
  const layer_question q = in_float16(layer_metric::underflow);
  const layer_answer answer = answer_to(q, {{&tables, {1, 1}}, {&tables, {1, 1}}}, 2, ulp::nobody());
  layer_cell all = answer.at(0, 0);
  add(q.metric, all, answer.at(0, 1));
  CHECK(value_of(q, answer.at(0, 0)) == value_range{0.5, 0.5});
  CHECK(value_of(q, all) == value_range{0.125, 0.125});  // and not the mean, a quarter
  add(q.metric, all, answer.at(1, 0));
  CHECK(all.part == value_range{2, 2});
  CHECK(all.whole == value_range{10, 10});
  CHECK(crosses(q, all));
  CHECK_FALSE(may_cross(q, answer.at(1, 1)));

  const layer_question largest = in_float16(layer_metric::largest);
  const layer_answer of_largest = answer_to(largest, {{&tables, {1, 1}}}, 2, ulp::nobody());
  layer_cell most = of_largest.at(0, 0);
  add(largest.metric, most, of_largest.at(0, 1));
  CHECK(value_of(largest, most) == value_range{0, 0});  // log2 of the largest, not of a sum
}

TEST_CASE("what no loss scale multiplies is rounded as it is") {
  tensor_tables tables;
  tables.add(row_of(0, {1e-9F, 1}), false);
  const layer_question q = in_float16(layer_metric::underflow);
  CHECK(value_of(q, cell_of_steps(q, tables, {0x1p20, 0x1p30})) == value_range{0.5, 0.5});
}

TEST_CASE("values tell nothing of lost updates") {
  tensor_tables tables;
  tables.add(row_of(0, {1, 2}));
  CHECK_FALSE(cell_of_steps(in_float16(layer_metric::lost_updates), tables, {1, 1}).known);
}

TEST_CASE("nothing is said of a tensor without finite nonzero values") {
  tensor_tables tables;
  tables.add(row_of(0, {0, NAN, INFINITY}));
  for (const layer_metric m : all_metrics) {
    CAPTURE(static_cast<int>(m));
    const layer_cell cell = cell_of_steps(in_float16(m), tables, {1, 1});
    CHECK(cell.known == (m == layer_metric::zeros));
    CHECK(value_text(in_float16(m), cell) == (m == layer_metric::zeros ? "33.33 %" : ""));
    CHECK_FALSE(answer_to(in_float16(m), {{&tables, {1, 1}}}, 2, ulp::nobody()).at(0, 1).known);
  }
}

TEST_CASE("values are written as ulp writes them") {
  tensor_tables tables;
  tables.add(row_of(0, {1e-9F, 0x1.0008p0F, 0, 0x1p-3F}));
  const auto text = [&](layer_metric m, value_range scales) {
    return value_text(in_float16(m), cell_of_steps(in_float16(m), tables, scales));
  };
  CHECK(text(layer_metric::underflow, {1, 1}) == "33.33 %");
  CHECK(text(layer_metric::underflow, {1, 0x1p20}) == "[0, 33.33] %");
  CHECK(text(layer_metric::zeros, {1, 0x1p20}) == "25 %");
  CHECK(text(layer_metric::largest, {1, 1}) == "0.0");
  CHECK(text(layer_metric::headroom, {1, 1}) == "16.0");
  CHECK(text(layer_metric::headroom, {1, 4}) == "[14.0, 16.0]");
  CHECK(text(layer_metric::sqnr, {1, 1}).front() == '~');
  tensor_tables powers;
  powers.add(row_of(0, {0x1p-30F}));
  const layer_question q = in_float16(layer_metric::sqnr);
  CHECK(value_text(q, cell_of_steps(q, powers, {1, 1})) == "0.00 dB");  // all of it is lost, which is exact
}

TEST_CASE("headroom crosses below zero") {
  const layer_question q = in_float16(layer_metric::headroom);
  tensor_tables tables;
  tables.add(row_of(0, {4}));
  CHECK_FALSE(may_cross(q, cell_of_steps(q, tables, {0x1p13, 0x1p13})));
  CHECK(crosses(q, cell_of_steps(q, tables, {0x1p15, 0x1p15})));
  CHECK(may_cross(q, cell_of_steps(q, tables, {0x1p13, 0x1p15})));
  CHECK_FALSE(crosses(q, cell_of_steps(q, tables, {0x1p13, 0x1p15})));
}
