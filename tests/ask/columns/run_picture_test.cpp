// Pins that a run kept in columns counts as its steps do, however the steps came in; and words of a command line.
#include <ulp/ask/columns/run_picture.hpp>

#include "support/catch.hpp"

#include <ulp/ask/questions/command_text.hpp>
#include <ulp/formats/catalog.hpp>
#include <ulp/model/cells/cell_counter.hpp>

#include <cmath>
#include <vector>

using namespace ulp;

namespace {

const std::vector<tensor_info> two{{.name = "a", .kind = tensor_kind::weight_grad},
                                   {.name = "b", .kind = tensor_kind::weight_grad}};

step step_of(std::int64_t number) {
  step s;
  s.key.step = number;
  s.scalars.loss = static_cast<double>(number);
  const auto x = static_cast<float>(std::ldexp(1.0, -static_cast<int>(number % 40)));
  for (std::uint32_t t = 0; t < 2; ++t) {
    tensor_row row{.tensor = t, .type = dtype::float32, .factor = number % 3 == 0 ? 2.0 : not_known};
    row.table = count_cells(std::vector<float>{x, -3 * x, t == 0 ? 0.0F : 0x1p-30F});
    s.tensors.push_back(row);
  }
  return s;
}

// Of all steps, table by table.
outcome_counts counted(std::int64_t steps, const format& to, double scale, std::uint32_t tensor) {
  outcome_counts all;
  for (std::int64_t n = 0; n < steps; ++n) {
    const tensor_row row = step_of(n).tensors[tensor];
    all += outcomes_of(row.table, {to}, {.scale = scale, .factor = row.unit()});
  }
  return all;
}

}  // namespace

TEST_CASE("columns count what the steps in them count") {
  constexpr std::int64_t steps = 1001;  // more than there are columns
  run_picture picture;
  for (std::int64_t n = 0; n < steps; ++n) picture.add(step_of(n), two);
  REQUIRE(picture.steps().size() == steps);
  CHECK(picture.steps()[7].scalars.loss == 7);
  const auto& spans = picture.columns().spans();
  CHECK(spans.size() <= most_columns);
  CHECK(spans.back().last_step == steps - 1);
  for (const std::int64_t n : {0L, 1L, 500L, 1000L}) {
    const column_span& span = spans[picture.column_of(n)];
    CHECK((span.first_step <= n && n <= span.last_step));
  }
  for (const double scale : {1.0, 0x1p-4, 0x1p20}) {
    std::vector<outcome_counts> of(2);
    outcome_counts both;
    for (const tensor_tables& column : picture.columns().columns()) {
      of[0] += column.outcomes({true, false}, {float16}, scale);
      of[1] += column.outcomes({false, true}, {float16}, scale);
      both += column.outcomes({true, true}, {float16}, scale);
    }
    outcome_counts sum = of[0];
    sum += of[1];
    CHECK(of[0] == counted(steps, float16, scale, 0));
    CHECK(of[1] == counted(steps, float16, scale, 1));
    CHECK(both == sum);
  }
  double values = 0;
  double zeros = 0;
  for (const tensor_tables& column : picture.columns().columns()) {
    const binade_counts o = column.binades({true, false});
    for (const auto& [exponent, count] : o.by_exponent) values += count;
    zeros += o.zeros;
  }
  CHECK(values == 2 * steps);
  CHECK(zeros == steps);
  CHECK(picture.columns().columns().front().binades({}).by_exponent.empty());
}

TEST_CASE("blocks of merged steps give the columns that their steps would") {
  run_picture by_step;
  run_picture by_block;
  for (std::int64_t first = 0; first < 64; first += 8) {
    step block;
    for (std::int64_t n = first; n < first + 8; ++n) {
      by_step.add(step_of(n), two);
      by_block.add_step(step_of(n), two);
      for (const tensor_row& row : step_of(n).tensors) block.tensors.push_back(row);
    }
    by_block.add_block(first, first + 7, block.tensors, two);
  }
  CHECK(by_block.steps().size() == 64);
  REQUIRE(by_block.columns().spans().size() == 8);
  CHECK(by_block.columns().spans()[3].first_step == 24);
  CHECK(by_block.columns().spans()[3].last_step == 31);
  CHECK(by_block.column_of(30) == 3);
  tensor_tables merged;
  for (std::size_t c = 24; c < 32; ++c) merged.merge(by_step.columns().columns()[c]);
  const tensor_tables& block = by_block.columns().columns()[3];
  REQUIRE(block.entries.size() == merged.entries.size());
  for (std::size_t i = 0; i < merged.entries.size(); ++i) CHECK(block.entries[i].table == merged.entries[i].table);
}

TEST_CASE("words are quoted where a shell would change them") {
  CHECK(shell_quoted("a/b-1.ulp") == "a/b-1.ulp");
  CHECK(shell_quoted("") == "''");
  CHECK(shell_quoted("a b") == "'a b'");
  CHECK(shell_quoted("it's") == "'it'\\''s'");
  CHECK(shell_quoted("$(x)") == "'$(x)'");
}

TEST_CASE("a command with unprintable words is printable and means the same") {
  CHECK(shell_quoted("a\x1B[31m\n'\\\xC2\x9B") == R"($'a\033[31m\012\'\\\302\233')");
  CHECK(shell_quoted("\xE6\xA2\xAF") == "'\xE6\xA2\xAF'");
}
