// Pins conclusions to made-up runs of which they are known.
#include <ulp/report/advice.hpp>

#include "support/catch.hpp"

#include <ulp/formats/catalog.hpp>
#include <ulp/io/regex.hpp>
#include <ulp/model/cell_counter.hpp>

#include <cmath>
#include <vector>

using namespace ulp;

namespace {

const std::vector<tensor_info> two{{.name = "big.weight", .kind = tensor_kind::weight_grad},
                                   {.name = "small.weight", .kind = tensor_kind::weight_grad}};

tensor_row row_of(std::uint32_t tensor, const std::vector<float>& values) {
  tensor_row row;
  row.tensor = tensor;
  row.type = dtype::float32;
  row.factor = 1;
  row.table = count_cells(std::span{values});
  return row;
}

step step_of(const std::vector<float>& big, const std::vector<float>& small) {
  step s;
  s.tensors = {row_of(0, big), row_of(1, small)};
  return s;
}

class run {
 public:
  explicit run(advice_options options = {.format = float16}) : options_(std::move(options)) {}
  void add(const std::vector<float>& big, const std::vector<float>& small) { add_step(step_of(big, small), two); }
  void add_step(step s, const std::vector<tensor_info>& tensors) {
    s.key.step = number_++;
    survey_.add(s, tensors);
    trials_.add(s, tensors);
    tensors_ = tensors;
  }
  [[nodiscard]] std::string conclusion(const std::string& question) {
    for (const finding& f : findings())
      if (f.question.find(question) != std::string::npos) return f.conclusion;
    return "";
  }
  // Of the finding of that topic, as the text of a table.
  [[nodiscard]] std::string number(const std::string& topic, const std::string& name) {
    for (const finding& f : findings())
      for (const named_value& v : f.numbers)
        if (f.topic == topic && v.name == name) return to_cell(v.value);
    return "absent";
  }
  void group(const std::string& name, const std::string& expression) {
    options_.groups.push_back({name, regex(expression)});
  }
  [[nodiscard]] std::vector<finding> findings() {
    return advice_of(survey_, tensors_, scenarios_, trials_.results(), options_);
  }

 private:
  advice_options options_;
  std::vector<scenario> scenarios_ = scaler_trials(options_, {}, {});
  survey survey_{{}, {}};
  sweep trials_{scenarios_};
  std::vector<tensor_info> tensors_;
  std::int64_t number_ = 0;
};

bool says(const std::string& text, const std::string& part) {
  INFO(text);
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("the format and the scales that hold a run of known range") {
  run r;
  // From 2^-34 to 1: float16 loses the small half at scale 1, cbfloat16 nothing.
  for (int i = 0; i < 20; ++i) r.add({1, 0.5F}, {0x1p-34F, 0x1p-33F});
  CHECK(says(r.conclusion("without a loss scale"), "cbfloat16: no more than 0.1 %"));
  // 2^-34 becomes nonzero above 2^-25: from 2^10 on; 1 overflows from 65520 on.
  CHECK(says(r.conclusion("static loss scale"), "2^10 to 2^15: "));
  CHECK(says(r.conclusion("lose most"), "none: nothing underflows"));
  CHECK(r.number("worst_tensors", "tensors") == "{}");
  CHECK(says(r.conclusion("scale for each tensor"), "33.0 binades apart"));
  CHECK(says(r.conclusion("scale for each tensor"), "yes, one scale cannot serve all"));
  CHECK(says(r.conclusion("clipping by the norm"), "in 100 % of the finite steps"));
  CHECK(r.conclusion("What happened?").empty());
  CHECK(r.number("format", "format") == "cbfloat16");
  CHECK(
      r.number("format", "formats")
          .starts_with(
              R"({"float16":{"underflow_share":0.5,"underflow_share_low":0.5,"underflow_share_high":0.5,"lost_l1_share":1.16415)"));
  CHECK(r.number("static_scale", "lowest_log2") == "10");
  CHECK(r.number("static_scale", "highest_log2") == "15");
  CHECK(r.number("clipping", "trigger_rate_at_1") == "1");
  CHECK(r.number("tensor_scales", "octaves_apart") == "33");
  CHECK(r.number("tensor_scales", "least") == R"({"name":"big.weight","scale_log2":15.9})");
  CHECK(says(r.conclusion("not help"), "nothing of that kind"));
}

TEST_CASE("each format that is compared rounds in its own way where none is given") {
  run r(advice_options_of("dlfloat16", {}, "0.001", {}));
  r.add({1}, {0x1p-25F});  // a tie in float16, which goes to zero in rounding to even
  CHECK(says(r.number("format", "formats"), R"("float16":{"underflow_share":0.5,)"));
  run away(advice_options_of("dlfloat16", {.direction = "rna"}, "0.001", {}));
  away.add({1}, {0x1p-25F});
  CHECK(says(away.number("format", "formats"), R"("float16":{"underflow_share":0.0,)"));
}

TEST_CASE("advice is asked in words that mean something") {
  const advice_options o = advice_options_of("dlfloat16", {.saturate = true}, "0.25", {.groups = {"a=conv"}});
  CHECK(o.rounding == rounding{.direction = direction::nearest_away, .overflow = overflow_mode::saturate});
  CHECK(o.epsilon == 0.25);
  CHECK(o.groups.size() == 1);
  CHECK_THROWS_AS(advice_options_of("float16", {.direction = "sr"}, "0.1", {}), std::invalid_argument);
  CHECK_THROWS_AS(advice_options_of("float16", {}, "1", {}), std::invalid_argument);
}

TEST_CASE("a range wider than the format has no static scale") {
  run r;
  for (int i = 0; i < 20; ++i) r.add({0x1p10F}, {0x1p-40F});
  CHECK(says(r.conclusion("static loss scale"), "none: from 2^16 on no more than 0.1 % underflow, but only up to 2^5"));
  CHECK(says(r.conclusion("without a loss scale"), "bfloat16"));
  CHECK(r.number("static_scale", "lowest_log2") == "16");
  CHECK(r.number("static_scale", "highest_log2") == "5");
  CHECK(r.number("worst_tensors", "scale_log2") == "5");
  CHECK(
      r.number("worst_tensors", "tensors") ==
      R"({"small.weight":{"underflow_share":1.0,"underflow_share_low":1.0,"underflow_share_high":1.0,"of_all_underflow":1.0,"max_abs":9.094947017729282e-13}})");
  CHECK(r.number("growth", "best").find(R"("underflow_share":)") != std::string::npos);
}

TEST_CASE("overflows that a lower scale cures are told from those that last, and from a lost loss") {
  run r;
  const auto good = [&](int n) {
    for (int i = 0; i < n; ++i) r.add({1}, {1});
  };
  const auto bad = [&](int n) {
    for (int i = 0; i < n; ++i) r.add({NAN}, {1});
  };
  good(5);
  bad(1);
  good(5);
  bad(17);  // from 2^32 down to 2^16
  good(2);
  const std::string by_duration = "; classified by duration alone, since no loss was logged (see --scalars)";
  CHECK(r.conclusion("What happened?") ==
        "gradient overflow in 18 steps (steps 5 to 27), after which training goes on at a lower scale" + by_duration);
  CHECK(r.number("happened", "forward_overflow") == "-");
  bad(40);
  CHECK(r.conclusion("What happened?") ==
        "gradient overflow in 18 steps (steps 5 to 27), after which training goes on at a lower scale; then forward "
        "overflow in 40 steps (steps 30 to 69), which no scale can cure" +
            by_duration);
  CHECK(r.number("happened", "gradient_overflow") == R"({"steps":18,"first_step":5,"last_step":27})");
  CHECK(r.number("happened", "forward_overflow") == R"({"steps":40,"first_step":30,"last_step":69})");

  run logged;
  const auto step_with = [&](float value, double loss) {
    step s = step_of({value}, {1});
    s.scalars.loss = loss;
    logged.add_step(s, two);
  };
  step_with(1, 2);
  step_with(INFINITY, 2);
  step_with(1, 2);
  step_with(NAN, NAN);
  step_with(1, 2);
  CHECK(logged.conclusion("What happened?") ==
        "gradient overflow in 1 step (step 1), after which training goes on at a lower scale; then forward overflow in "
        "1 step (step 3), which no scale can cure");
}

TEST_CASE("groups are compared as tensors are") {
  run r;
  for (int i = 0; i < 4; ++i) r.add({1, 0x1p-60F, 1, 1}, {0x1p-60F, 0x1p-60F});
  CHECK(r.conclusion("Which groups lose most").empty());
  r.group("all", "weight");
  CHECK(says(r.conclusion("Which groups lose most"), "all with 50 %; it holds 100 % of all underflow"));
  CHECK(says(r.conclusion("scale for each group"), "no: fewer than two groups"));
  run parted;
  for (int i = 0; i < 4; ++i) parted.add({1, 0x1p-60F, 1, 1}, {0x1p-60F, 0x1p-60F});
  parted.group("nothing", "^$");
  parted.group("large", "^big");
  CHECK(says(parted.conclusion("Which groups lose most"), "the rest with 100 %; the 2 named hold 100 %"));
  CHECK(says(parted.conclusion("scale for each group"), "groups are 60.0 binades apart"));
  CHECK(parted.number("group_scales", "least") == R"({"name":"large","scale_log2":15.9})");
}

TEST_CASE("what cannot be judged is not") {
  run nan;
  for (int i = 0; i < 3; ++i) nan.add({NAN}, {NAN});
  CHECK(says(nan.conclusion("What does the run need?"), "nothing to judge"));
  CHECK(nan.conclusion("static loss scale").empty());
  run zero;
  zero.add({0}, {0});
  CHECK(says(zero.conclusion("What does the run need?"), "nothing to judge"));
  // Zeros of values that had been float16 may have underflowed.
  run half;
  for (int i = 0; i < 3; ++i) {
    step s = step_of({0, 0, 0, 1}, {1});
    s.tensors[0].type = dtype::float16;
    half.add_step(s, two);
  }
  CHECK(says(half.conclusion("without a loss scale"), "unknown: 9 zeros"));
  CHECK(half.number("format", "format") == "-");
  CHECK(half.number("format", "censored_zeros") == "9");
  CHECK(says(half.conclusion("not help"), "nothing of that kind"));
}

TEST_CASE("one of a thing is not called several") {
  run r;
  for (int i = 0; i < 2; ++i) r.add({1}, {0x1p-60F});
  CHECK(says(r.conclusion("lose most"), "small.weight with 100 %; it holds 100 % of all underflow"));
  run half;
  step s = step_of({0}, {1});
  s.tensors[0].type = dtype::float16;
  half.add_step(s, two);
  CHECK(says(half.conclusion("without a loss scale"), "1 zero was rounded to a narrow format before it was recorded"));
  CHECK(says(half.findings().at(4).evidence.at(0), "norm in 1 finite step: "));
}

TEST_CASE("zeros that are always there are no underflow") {
  run r;
  for (int i = 0; i < 5; ++i) r.add({1, 2}, {0, 0, 0, 1});
  CHECK(says(r.conclusion("not help"), "zeros of 1 tensor"));
  CHECK_FALSE(says(r.conclusion("not help"), "tensors"));
}

TEST_CASE("a log of maxima answers what maxima can answer") {
  run r;
  for (int i = 0; i < 300; ++i) {
    step s;
    s.key.step = i;
    s.max_abs = 2;
    r.add_step(s, {});
  }
  CHECK(says(r.conclusion("static loss scale"), "up to 2^14 no finite step overflows"));
  CHECK(r.number("static_scale", "lowest_log2") == "-");
  CHECK(r.number("static_scale", "highest_log2") == "14");
  CHECK_FALSE(r.conclusion("growth interval").empty());
  CHECK(r.conclusion("without a loss scale").empty());
  CHECK(r.conclusion("clipping").empty());
}

TEST_CASE("overflow flags alone answer nothing") {
  run r;
  step s;
  s.scalars.found_inf = true;
  r.add_step(s, {});
  CHECK(r.findings().empty());
}

TEST_CASE("a scale just below which a step overflows is not called safe") {
  run r;
  for (int i = 0; i < 3; ++i) r.add({65520.0F / 32768, 0.5F}, {0.25F});  // the largest safe scale is just below 2^15
  CHECK(r.number("static_scale", "highest_log2") == "14");
}

TEST_CASE("percentiles of few steps are norms that so many steps do not exceed") {
  run r;
  for (const float x : {1.0F, 3.0F, 2.0F}) r.add({x}, {0});
  CHECK(r.number("clipping", "median") == "2");
  CHECK(r.number("clipping", "p90") == "3");
  CHECK(r.number("clipping", "p99") == "3");
}
