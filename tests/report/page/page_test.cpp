// Pins what the page about a run says of it beside the sections of html_test.cpp.
#include <ulp/report/page/page.hpp>

#include "support/catch.hpp"

#include <ulp/model/cells/cell_counter.hpp>

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <vector>

using namespace ulp;

namespace {

// Half of the nonzero values are 2^-25, the other half 1.
step half_tiny() {
  std::vector<float> values(500, 0x1p-25F);
  values.resize(1000, 1);
  step s;
  s.tensors.push_back({.tensor = 0, .type = dtype::float32, .factor = 1, .table = count_cells(std::span{values})});
  return s;
}

const std::vector<tensor_info> one{{.name = "a.weight", .kind = tensor_kind::weight_grad}};

report_page made_page(page_question asked) {
  asked.run.inputs = {"a"};
  page_reading reading(std::move(asked));
  reading.add(half_tiny(), one);
  return page_of(reading.result(one));
}

}  // namespace

TEST_CASE("a note that is true of several policies stands once on the page") {
  const scenario_text first{
      .scaler = "pytorch_gradscaler", .format = "float16", .clip_norm = "1", .order = "clip,unscale,check"};
  scenario_text second = first;
  second.scaler = "tf_keras_dynamic";
  const report_page page = made_page({.policies = {first, second}});
  CHECK(std::ranges::count_if(page.notes, [](const std::string& n) { return n.starts_with("--order: "); }) == 1);
}

TEST_CASE("findings and matrix of a page round to each format alike") {
  const report_page page = made_page({.policies = {{.scaler = "pytorch_gradscaler", .format = "dlfloat16"}}});
  const auto format = std::ranges::find(page.findings, "format", &finding::topic);
  REQUIRE(format != page.findings.end());
  const auto& columns = page.matrix.columns;
  const auto column = std::ranges::find(columns, "float16", &table_column::title) - columns.begin();
  CHECK(to_cell(page.matrix.rows.front()[static_cast<std::size_t>(column)]) == "50 %");
  CHECK(std::ranges::any_of(format->evidence, [](const std::string& line) {
    return line.starts_with("float16 ") && line.find("50 % of nonzero underflow") != std::string::npos;
  }));
}

TEST_CASE("what was logged is in the columns of the page, and a lost loss is told from a missing one") {
  page_reading reading({.run = {.inputs = {"a"}}, .policies = {{.scaler = "static", .format = "float16"}}});
  step now = half_tiny();
  for (int i = 0; i < 60; ++i) {
    now.key.step = i;
    now.scalars = {.loss = i == 50 ? std::numeric_limits<double>::infinity() : 60.0 - i, .learning_rate = 0.5};
    if (i == 20 || i == 55) now.scalars.loss = not_known;
    now.scalars.loss_is_nan = i == 55;
    reading.add(now, one);
  }
  const report_page page = page_of(reading.result(one));
  REQUIRE(page.logged.columns().size() == page.binades.columns().size());
  const auto& columns = page.logged.columns();
  CHECK(columns[3].loss.least == 57);
  CHECK(columns[3].learning_rate.greatest == 0.5);
  CHECK(columns[20].loss.steps == 0);
  CHECK(columns[20].losses_lost == 0);
  CHECK(columns[50].loss.steps == 0);
  CHECK(columns[50].losses_lost == 1);
  CHECK(columns[55].losses_lost == 1);
}

TEST_CASE("a page does not round by chance") {
  CHECK_THROWS_AS(
      page_reading({.policies = {{.scaler = "static", .format = "float16", .rounding = {.direction = "sr"}}}}),
      std::invalid_argument);
  CHECK_THROWS_AS(page_reading({.policies = {{.scaler = "static", .format = "float16"}}, .epsilon = "1"}),
                  std::invalid_argument);
}
