// Pins the table of formats to `ulp advise` on the same made-up runs, and what each threshold and measure changes.
#include <ulp/report/findings/format_matrix.hpp>

#include "support/catch.hpp"

#include <ulp/formats/catalog.hpp>
#include <ulp/model/cells/cell_counter.hpp>
#include <ulp/report/findings/advice.hpp>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

using namespace ulp;

namespace {

const std::vector<tensor_info> two{{.name = "big", .kind = tensor_kind::weight_grad},
                                   {.name = "small", .kind = tensor_kind::activation_grad}};

tensor_row row_of(std::uint32_t tensor, const std::vector<float>& values) {
  tensor_row row;
  row.tensor = tensor;
  row.type = dtype::float32;
  row.factor = 1;
  row.table = count_cells(std::span{values});
  return row;
}

struct made_run {
  run_picture picture;
  std::vector<step> steps;

  void add(const std::vector<float>& big, const std::vector<float>& small) {
    step s;
    s.key.step = static_cast<std::int64_t>(picture.steps().size());
    s.tensors = {row_of(0, big), row_of(1, small)};
    picture.add(s, two);
    steps.push_back(std::move(s));
  }
  [[nodiscard]] format_question asked() const {
    format_question q{.run = picture, .end = picture.steps().size(), .tensors = two, .shown = {true, true}};
    for (const tensor_tables& c : picture.columns().columns()) q.tables.merge(c);
    return q;
  }
  [[nodiscard]] std::string advice_number(const std::string& topic, const std::string& name) {
    run_examination advised({.format_name = "float16", .how = {float16}}, {}, {});
    for (const step& s : steps) advised.add(s, two);
    for (const finding& f : advice_on(advised.result(two)).findings)
      for (const named_value& v : f.numbers)
        if (f.topic == topic && v.name == name) return to_cell(v.value);
    return "absent";
  }
};

std::string text_at(const table& t, const std::string& row, const std::string& key) {
  const auto c = std::ranges::find(t.columns, key, &table_column::key) - t.columns.begin();
  for (const auto& r : t.rows)
    if (to_cell(r.front()) == row) return to_cell(r[static_cast<std::size_t>(c)]);
  return "absent";
}

listener& quiet = nobody();

// What float16 loses without a scale: the activation gradients.
struct underflowing : made_run {
  underflowing() {
    for (int i = 0; i < 4; ++i) add({1.0F, -0.5F, 3.0F}, {0x1p-20F, 0x1p-27F, -0x1p-26F});
  }
};

}  // namespace

TEST_CASE("the table of formats says what advice says") {
  underflowing run;
  const table t = format_matrix(run.asked(), quiet);
  CHECK(text_at(t, "float16", "lowest_log2") == run.advice_number("static_scale", "lowest_log2"));
  CHECK(text_at(t, "float16", "highest_log2") == run.advice_number("static_scale", "highest_log2"));
  CHECK(text_at(t, "float16", "loss_scaling") == "needed");
  CHECK(text_at(t, "float16", "tensors") == "activation gradients");
  CHECK(text_at(t, "bfloat16", "loss_scaling") == "not needed");
  CHECK(text_at(t, "float16", "first_step") == "0");
  CHECK(text_at(t, "float16", "last_step") == "3");
}

TEST_CASE("lost magnitude and lost values are two things") {
  const underflowing run{};
  format_question q = run.asked();
  q.epsilon = 0.1;
  // Two of three values underflow, and hold 3 of 131 parts of the magnitude.
  CHECK(text_at(format_matrix(q, quiet), "float16", "loss_scaling") == "not needed");
  q.measure = lost_share::of_values;
  CHECK(text_at(format_matrix(q, quiet), "float16", "loss_scaling") == "needed");
}

TEST_CASE("a scale that overflows ends the range, in steps where all tensors are shown") {
  made_run run;
  run.add({1.0F}, {0x1p-2F});
  run.add({0x1p10F}, {0x1p-2F});
  format_question q = run.asked();
  q.scale = 0x1p8;
  const table all = format_matrix(q, quiet);
  CHECK(text_at(all, "float16", "highest_log2") == run.advice_number("static_scale", "highest_log2"));
  CHECK(text_at(all, "float16", "overflow_steps_at_1") == "0");
  CHECK(text_at(all, "float16", "overflow_steps_at_scale") == "1");
  q.shown = {false, true};
  const table one = format_matrix(q, quiet);
  CHECK(text_at(one, "float16", "overflow_steps_at_scale") == "-");
  CHECK(text_at(one, "float16", "highest_log2") == "17");
}

TEST_CASE("the smallest format of each tensor is named, the tensor that is worst off first") {
  const underflowing run{};
  const table t = tensor_format_matrix(run.asked(), quiet);
  REQUIRE(t.rows.size() == 2);
  CHECK(text_at(t, "big", "smallest_format") == "float8_e4m3fn");
  CHECK(text_at(t, "small", "smallest_format") == "cbfloat16");
  CHECK(to_cell(t.rows.front().front()) == "big");
  // Values 60 binades apart fit no scale of float16.
  made_run wide;
  wide.add({1.0F}, {1.0F, 0x1p-60F});
  format_question q = wide.asked();
  q.measure = lost_share::of_values;
  const table worst = tensor_format_matrix(q, quiet);
  CHECK(to_cell(worst.rows.front().front()) == "small");
  CHECK(text_at(worst, "small", "float16") == "none");
  CHECK(text_at(worst, "small", "smallest_format") == "bfloat16");
}

TEST_CASE("values of unknown factor carry no verdict") {
  const underflowing run{};
  format_question q = run.asked();
  q.as_recorded = true;
  CHECK(text_at(format_matrix(q, quiet), "bfloat16", "loss_scaling").starts_with("unknown"));
}
