// Pins conclusions to made-up runs of which they are known.
#include <ulp/report/findings/advice.hpp>

#include "support/catch.hpp"

#include <ulp/formats/catalog.hpp>
#include <ulp/io/bytes/regex.hpp>
#include <ulp/model/cells/cell_counter.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
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
  explicit run(advice_options options = {.how = {float16}}) : options_(std::move(options)) {}
  void add(const std::vector<float>& big, const std::vector<float>& small) { add_step(step_of(big, small), two); }
  void add_step(step s, const std::vector<tensor_info>& tensors) {
    s.key.step = number_++;
    tensors_ = tensors;
    steps_.push_back(std::move(s));
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
  [[nodiscard]] advice given(const std::optional<weights_told>& updates = {}) const {
    run_examination all(options_, {}, {});
    for (const step& s : steps_) all.add(s, tensors_);
    if (const auto less = all.again(tensors_))
      for (const step& s : steps_)
        if (less->takes(s.key.step)) all.add_again(s, tensors_);
    return advice_on(all.result(tensors_), updates);
  }
  [[nodiscard]] std::vector<finding> findings() const { return given().findings; }

 private:
  advice_options options_;
  std::vector<step> steps_;
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
  // From 2^-34 to 1: float16 loses the small half at scale 1, cbfloat16 nothing. As magnitude they are nothing.
  for (int i = 0; i < 40; ++i) r.add({1, 0.5F}, {0x1p-34F, 0x1p-33F});
  CHECK(r.conclusion("without a loss scale") == "float16");
  CHECK(says(r.conclusion("static loss scales"),
             "none needed: without one 1.2e-08 % of the magnitude of the weight gradients is lost"));
  CHECK(says(r.conclusion("static loss scales"), "no finite step overflows up to 2^15"));
  CHECK(says(r.conclusion("lose most"), "none: nothing underflows"));
  CHECK(r.number("worst_tensors", "tensors") == "{}");
  CHECK(says(r.conclusion("scale for each tensor"), "33.0 binades apart"));
  CHECK(says(r.conclusion("scale for each tensor"), "no: 2^15 serves all, and none loses more than 0.1 %"));
  CHECK(says(r.conclusion("clipping by the norm"), "in 100 % of the finite steps"));
  CHECK(r.number("format", "format") == "float16");
  CHECK(r.number("format", "formats").starts_with(R"({"float16":{"lost_l1_share":1.16415)"));
  CHECK(r.number("static_scale", "highest_log2") == "15");
  CHECK(r.number("clipping", "trigger_rate_at_1") == "1");
  CHECK(r.number("tensor_scales", "octaves_apart") == "33");
  CHECK(r.number("tensor_scales", "least") == R"({"name":"big.weight","scale_log2":15.9})");
  CHECK(says(r.conclusion("not fix"), "nothing of that kind"));
  CHECK(r.given().first.cause == "healthy");
}

TEST_CASE("what parts of a sum were rounded to does not say how large they were") {
  run r;
  const std::vector<tensor_info> tied{
      {.name = "tied.weight", .kind = tensor_kind::weight_grad, .role = tensor_role::low, .through = "bfloat16"}};
  for (int i = 0; i < 40; ++i) {
    step s;
    s.scalars.loss_scale = 1;
    s.tensors = {row_of(0, {1.5F, -0x1p-20F})};
    s.tensors[0].parts.rounded = 2;
    r.add_step(s, tied);
  }
  // bfloat16's parts may have been as large as 2^127, and cancelled: that stays open, and is not the estimate.
  CHECK(r.number("static_scale", "highest_log2") == "15");
  CHECK(says(r.conclusion("static loss scales"), "no finite step overflows up to 2^15"));
  CHECK(r.number("format", "format") == "float16");
  CHECK(r.given().first.cause == "healthy");
  CHECK(says(r.findings()[0].evidence[0], "overflow in 0 steps (40 not decided)"));
}

TEST_CASE("the least scale is that which loses no more than epsilon of the magnitude") {
  run r;
  // Of 1 + 2^-26 + 2^-14 lost at the scale 1: 2^-26; at 2^-11 both.
  for (int i = 0; i < 40; ++i) r.add({1}, {0x1p-26F, 0x1p-14F});
  CHECK(r.number("static_scale", "lowest_log2") == "-10");
  run strict({.how = {float16}, .epsilon = 1e-9});
  for (int i = 0; i < 40; ++i) strict.add({1}, {0x1p-26F, 0x1p-14F});
  CHECK(strict.number("static_scale", "lowest_log2") == "2");
  CHECK(says(strict.conclusion("static loss scales"), "2^2 to 2^15 lose at most 1e-07 % of the magnitude"));
  CHECK(strict.conclusion("without a loss scale") == "cbfloat16 (on GPUs bfloat16)");
}

TEST_CASE("what one tensor loses of its own is said, though of all together it is little") {
  run r;
  // 2^-26 is zero in float16, and 2^-18 of the magnitude.
  for (int i = 0; i < 40; ++i) r.add({0x1p-8F}, {0x1p-26F});
  CHECK(says(r.conclusion("static loss scales"), "none needed: without one"));
  CHECK(says(r.conclusion("static loss scales"), "; but small.weight loses 100 % of its own without one"));
  CHECK(says(r.number("tensor_scales", "tensors"), R"("small.weight":{"scale_log2":)"));
}

TEST_CASE("few steps that alone hold a static scale down are told apart") {
  const auto with_outliers = [](int steps, int outliers, float large) {
    run r;
    for (int i = 0; i < steps; ++i) r.add({i < outliers ? large : 1.0F}, {0x1p-3F});
    return r;
  };
  run one = with_outliers(300, 3, 0x1p12F);
  CHECK(one.number("static_scale", "highest_log2") == "3");
  CHECK(one.number("static_scale", "outlier_steps") == "3");
  CHECK(one.number("static_scale", "highest_log2_without_outliers") == "15");
  // More than one in a hundred, less than three binades, too few steps.
  CHECK(with_outliers(300, 4, 0x1p12F).number("static_scale", "outlier_steps") == "0");
  CHECK(with_outliers(300, 3, 0x1.fp2F).number("static_scale", "outlier_steps") == "0");
  CHECK(with_outliers(300, 3, 0x1p3F).number("static_scale", "outlier_steps") == "3");
  CHECK(with_outliers(99, 1, 0x1p12F).number("static_scale", "outlier_steps") == "0");
  CHECK(with_outliers(99, 1, 0x1p12F).number("static_scale", "highest_log2_without_outliers") == "3");
}

TEST_CASE("weight gradients are judged apart from activation gradients") {
  run r;
  const std::vector<tensor_info> both{{.name = "w", .kind = tensor_kind::weight_grad},
                                      {.name = "a", .kind = tensor_kind::activation_grad}};
  for (int i = 0; i < 40; ++i) r.add_step(step_of({1}, {0x1p-30F}), both);
  CHECK(r.conclusion("without a loss scale") ==
        "weight gradients: float16; activation gradients: cbfloat16 (on GPUs bfloat16)");
  CHECK(r.number("format", "format") == "float16");
  CHECK(says(r.number("format", "other_kinds"), R"("activation_grad":{"format":"cbfloat16")"));
}

TEST_CASE("few steps carry no answer about rates") {
  run r;
  for (int i = 0; i < 29; ++i) r.add({1}, {1});
  CHECK(says(r.conclusion("growth interval"), "not answered: 29 steps"));
  CHECK(says(r.conclusion("clipping"), "not answered: 29 finite steps"));
  CHECK(r.given().first.lines.empty());
  r.add({1}, {1});
  CHECK(says(r.conclusion("growth interval"), "init_scale="));
}

TEST_CASE("each format that is compared rounds in its own way where none is given") {
  run r(advice_options_of("dlfloat16", {}, "0.001", {}));
  r.add({1}, {0x1p-25F});  // a tie in float16, which goes to zero in rounding to even
  CHECK(says(r.number("format", "formats"), R"("underflow_share":0.5,)"));
  run away(advice_options_of("dlfloat16", {.direction = "rna"}, "0.001", {}));
  away.add({1}, {0x1p-25F});
  CHECK(says(away.number("format", "formats"), R"("underflow_share":0.0,)"));
}

TEST_CASE("advice is asked in words that mean something") {
  const advice_options o = advice_options_of("dlfloat16", {.saturate = true}, "0.25", {.groups = {"a=conv"}});
  CHECK(o.how.rounding == rounding{.direction = direction::nearest_away, .overflow = overflow_mode::saturate});
  CHECK(o.epsilon == 0.25);
  CHECK(o.groups.size() == 1);
  CHECK_THROWS_AS(advice_options_of("float16", {.direction = "sr"}, "0.1", {}), std::invalid_argument);
  CHECK_THROWS_AS(advice_options_of("float16", {}, "1", {}), std::invalid_argument);
}

TEST_CASE("a range wider than the format has no static scale") {
  run r;
  for (int i = 0; i < 40; ++i) r.add({0x1p10F}, {0x1p-40F});
  r.add({0x1p-14F}, {0x1p-40F});
  run equal({.how = {float16}, .epsilon = 1e-18});
  for (int i = 0; i < 40; ++i) equal.add({0x1p10F}, {0x1p-40F});
  CHECK(says(equal.conclusion("static loss scales"), "no scale does both: no finite step overflows up to 2^5"));
  CHECK(says(equal.conclusion("static loss scales"), "would take 2^16"));
  CHECK(equal.conclusion("without a loss scale") == "bfloat16");
  CHECK(equal.number("static_scale", "lowest_log2") == "16");
  CHECK(equal.number("static_scale", "highest_log2") == "5");
  CHECK(equal.number("worst_tensors", "scale_log2") == "5");
  CHECK(says(equal.number("worst_tensors", "tensors"), R"({"small.weight":{"lost_l1_share":1.0,)"));
  CHECK(equal.number("growth", "best").find(R"("underflow_share":)") != std::string::npos);
  // What is tiny beside the others moves nothing.
  CHECK(equal.given().first.cause == "healthy");
}

TEST_CASE("a tensor that loses its gradients is told first, though no step is lost") {
  const auto given = [](float large) {
    run r;
    for (int i = 0; i < 40; ++i) {
      step s = step_of({large}, {0x1p-18F});
      s.scalars.loss_scale = 0x1p-8;
      r.add_step(s, two);
    }
    return r.given().first;
  };
  CHECK(given(1).cause == "underflow");
  CHECK(says(given(1).happened, "1 of 2 tensors lose more than 10 % of their magnitude in float16 at the scale 2^-8"));
  CHECK(given(1).lines == std::vector<std::string>{"torch.amp.GradScaler(init_scale=2.0**15)"});
}

TEST_CASE("advice is not against the configuration, and is in its program's settings") {
  const auto underflowing = [](const own_configuration& own) {
    run r({.how = {float16}, .configured = own});
    for (int i = 0; i < 40; ++i) {
      step s = step_of({1}, {0x1p-18F});
      s.scalars.loss_scale = 0x1p-8;
      r.add_step(s, two);
    }
    return r.given().first;
  };
  const advice_summary fixed = underflowing({.framework = "Megatron-LM", .format = "float16", .is_static = true});
  CHECK(fixed.lines == std::vector<std::string>{"--fp16 --loss-scale 32768"});
  CHECK(fixed.sure.find("the configuration is not") == std::string::npos);
  const advice_summary wide = underflowing({.framework = "Megatron-LM", .format = "bfloat16", .is_scaled = false});
  CHECK(says(wide.change,
             "nothing if it trains in bfloat16, as the configuration says; for float16, a scale "
             "of 2^15, up to which no finite step overflows"));
  CHECK(wide.lines == std::vector<std::string>{"--fp16 --initial-loss-scale 32768"});
  CHECK(
      says(wide.sure, "the configuration is not that of all of this run: it has no loss scale, and the run had 2^-8"));
  const advice_summary none = underflowing({.framework = "torchtune", .format = "bfloat16", .is_scaled = false});
  CHECK(none.lines == std::vector<std::string>{"# torchtune: no setting for float16 with a loss scale is known here"});

  // Nothing is wrong.
  const auto healthy = [](const own_configuration& own, double scale) {
    run r({.how = {float16}, .configured = own});
    for (int i = 0; i < 40; ++i) {
      step s = step_of({0x1p-4F}, {0x1p-6F});
      s.scalars.loss_scale = scale;
      r.add_step(s, two);
    }
    return r.given().first;
  };
  const advice_summary kept = healthy({.framework = "DeepSpeed", .format = "float16", .is_static = true}, 4096);
  CHECK(kept.change == "nothing");
  CHECK(kept.lines.empty());
  const advice_summary other = healthy({.framework = "timm", .format = "float32", .is_scaled = false}, 1);
  CHECK(says(other.change,
             "nothing; for a new run of this kind: float16 instead of float32, which the configuration has, "
             "with init_scale="));
  CHECK(other.lines.front() == "--amp --amp-dtype float16");
  CHECK(other.sure.find("the configuration is not") == std::string::npos);
  CHECK(says(healthy({.framework = "DeepSpeed", .format = "float32", .is_scaled = false}, 4096).sure,
             "it has no loss scale, and the run had 2^12"));
  const auto constant_at = [&](double scale) {
    return healthy({.framework = "DeepSpeed", .format = "float16", .is_static = true, .static_scale = scale}, 4096)
        .sure;
  };
  CHECK(says(constant_at(1024),
             "the configuration is not that of all of this run: it keeps the scale at 2^10, and the run had 2^12"));
  CHECK(constant_at(4096).find("the configuration is not") == std::string::npos);
}

TEST_CASE("a scale that moves is not of a configuration that keeps it constant") {
  run r({.how = {float16}, .configured = {.framework = "MMEngine", .format = "float16", .is_static = true}});
  constexpr int search = 16;
  for (int i = 0; i < 120; ++i) {
    step s = step_of({i < search ? INFINITY : 1}, {1});
    s.scalars.found_inf = i < search;
    s.scalars.loss = 2;
    s.scalars.loss_scale = std::ldexp(1.0, i < search ? 32 - i : 16);
    r.add_step(s, two);
  }
  const advice_summary given = r.given().first;
  CHECK(given.cause == "initial_scale");
  CHECK(given.lines == std::vector<std::string>{"optim_wrapper = dict(type='AmpOptimWrapper', loss_scale=2.0**16)"});
  CHECK(says(given.sure, "it keeps the scale constant, but the run's scale went from 2^16 to 2^32"));
}

TEST_CASE("a cause comes first, and what came after the run's death is left out of the rest") {
  const auto dying = [](double scale, const own_configuration& own) {
    run r({.how = {float16}, .configured = own});
    for (int i = 0; i < 120; ++i) {
      step s = i < 60 ? step_of({1}, {1}) : step_of({NAN}, {1});
      s.scalars.loss = i < 60 ? 2 : NAN;
      s.scalars.loss_scale = i < 60 ? scale : std::ldexp(scale, 60 - i);
      r.add_step(s, two);
    }
    return r;
  };
  run r = dying(4096, {});
  const advice given = r.given();
  CHECK(given.first.cause == "forward_overflow");
  CHECK(
      says(given.first.happened,
           "from step 60 on: the loss is NaN or infinite in all 60 steps that overflowed (steps 60 to 119), at every"));
  CHECK(given.first.left_out_from == 60);
  CHECK(given.first.lines ==
        std::vector<std::string>{"torch.autocast(\"cuda\", dtype=torch.bfloat16)  # and no GradScaler, or "
                                 "GradScaler(enabled=False)"});
  CHECK(given.findings.front().topic == "forward_overflow");
  CHECK(says(r.conclusion("static loss scales"), "no finite step overflows up to 2^15"));
  CHECK(r.number("clipping", "norms") == "60");
  CHECK(says(r.number("growth", "best"), R"("skipped":0)"));

  // What is in bfloat16, or nowhere in 16 bits, is not advised bfloat16.
  for (const advice_summary& other : {dying(4096, {.format = "bfloat16"}).given().first,
                                      dying(4096, {.format = "float32"}).given().first, dying(NAN, {}).given().first}) {
    CHECK(other.cause == "forward_overflow");
    CHECK(other.lines.empty());
    CHECK(says(other.change, "set_detect_anomaly"));
    CHECK_FALSE(says(other.change, "bfloat16"));
  }
}

TEST_CASE("groups are compared as tensors are") {
  run r;
  for (int i = 0; i < 4; ++i) r.add({1, 0x1p-60F, 1, 1}, {0x1p-60F, 0x1p-60F});
  CHECK(r.conclusion("Which groups lose most").empty());
  r.group("all", "weight");
  CHECK(says(r.conclusion("Which groups lose most"), "all loses less than 1e-10 % of the magnitude"));
  CHECK(says(r.conclusion("scale for each group"), "no: there is only one group"));
  run parted;
  for (int i = 0; i < 4; ++i) parted.add({1, 0x1p-60F, 1, 1}, {0x1p-60F, 0x1p-60F});
  parted.group("nothing", "^$");
  parted.group("large", "^big");
  CHECK(
      says(parted.conclusion("Which groups lose most"), "the rest loses all of the magnitude, the others listed less"));
  CHECK(says(parted.conclusion("scale for each group"),
             "yes: one scale cannot serve all; the largest safe scales of the groups are 60.0 binades apart"));
  CHECK(parted.number("group_scales", "least") == R"({"name":"large","scale_log2":15.9})");
}

TEST_CASE("what cannot be judged is not") {
  run nan;
  for (int i = 0; i < 3; ++i) nan.add({NAN}, {NAN});
  CHECK(says(nan.conclusion("What does the run need?"), "nothing to judge"));
  CHECK(nan.conclusion("static loss scales").empty());
  run zero;
  zero.add({0}, {0});
  CHECK(says(zero.conclusion("What does the run need?"), "nothing to judge"));
  CHECK(zero.given().first.cause == "zero_gradients");
  // Zeros of values that had been float16 may have underflowed.
  run half;
  for (int i = 0; i < 3; ++i) {
    step s = step_of({0, 0, 0, 1}, {1});
    s.tensors[0].type = dtype::float16;
    half.add_step(s, two);
  }
  CHECK(half.conclusion("without a loss scale") == "float16");  // 9 zeros below 2^-25 each are nothing beside 1
  CHECK(half.number("format", "censored_zeros") == "9");
  CHECK(says(half.conclusion("not fix"), "nothing of that kind"));
}

TEST_CASE("zeros that may have been most of the magnitude leave the format open") {
  run r;
  for (int i = 0; i < 3; ++i) {
    step s = step_of({0, 0, 0, 0x1p-24F}, {0x1p-24F});
    s.tensors[0].type = dtype::float16;
    r.add_step(s, two);
  }
  CHECK(says(r.conclusion("without a loss scale"), "unknown, since zeros were rounded"));
  CHECK(r.number("format", "format") == "-");
  CHECK(r.number("format", "censored_zeros") == "9");
}

TEST_CASE("one of a thing is not called several") {
  run r;
  for (int i = 0; i < 2; ++i) r.add({1}, {0x1p-60F});
  CHECK(says(r.conclusion("lose most"), "small.weight loses all of the magnitude"));
  run half;
  step s = step_of({0}, {1});
  s.tensors[0].type = dtype::float16;
  half.add_step(s, two);
  CHECK(says(half.findings().front().limits, "1 zero was rounded to a narrow format before recording"));
  CHECK(says(half.conclusion("clipping"), "not answered: 1 finite step cannot tell"));
}

TEST_CASE("zeros that are always there are no underflow") {
  run r;
  for (int i = 0; i < 5; ++i) r.add({1, 2}, {0, 0, 0, 1});
  CHECK(says(r.conclusion("not fix"), "zeros of 1 tensor"));
  CHECK_FALSE(says(r.conclusion("not fix"), "tensors"));
}

TEST_CASE("a log of maxima answers what maxima can answer") {
  run r;
  for (int i = 0; i < 300; ++i) {
    step s;
    s.key.step = i;
    s.max_abs = 2;
    r.add_step(s, {});
  }
  CHECK(says(r.conclusion("static loss scales"), "no finite step overflows up to 2^14"));
  CHECK(r.number("static_scale", "lowest_log2") == "-");
  CHECK(r.number("static_scale", "highest_log2") == "14");
  CHECK_FALSE(r.conclusion("growth interval").empty());
  CHECK(r.conclusion("without a loss scale").empty());
  CHECK(r.conclusion("clipping").empty());
}

TEST_CASE("overflow flags alone tell that a step overflowed, and nothing of the rest") {
  run r;
  step s;
  s.scalars.found_inf = true;
  r.add_step(s, {});
  CHECK(r.given().first.cause == "open_overflow");
  CHECK(r.given().findings.size() == 1);
}

TEST_CASE("a scale just below which a step overflows is not called safe") {
  run r;
  for (int i = 0; i < 3; ++i) r.add({65520.0F / 32768, 0.5F}, {0.25F});  // the largest safe scale is just below 2^15
  CHECK(r.number("static_scale", "highest_log2") == "14");
}

TEST_CASE("percentiles of few steps are norms that so many steps do not exceed") {
  run r;
  for (int i = 0; i < 10; ++i)
    for (const float x : {1.0F, 3.0F, 2.0F}) r.add({x}, {0});
  CHECK(r.number("clipping", "median") == "2");
  CHECK(r.number("clipping", "p90") == "3");
  CHECK(r.number("clipping", "p99") == "3");
}

namespace {

weights_told lost_updates_told(finding_grade grade) {
  return {.about = {.topic = "lost_updates", .question = "Are updates lost?", .conclusion = "lost", .grade = grade},
          .happened = grade == finding_grade::fine ? "" : "90 % of the updates are lost",
          .change = "keep a float32 copy",
          .sure = "certain of these"};
}

}  // namespace

TEST_CASE("where updates are lost the first line does not say that nothing is wrong") {
  run r;
  for (int i = 0; i < 40; ++i) r.add({1, 0.5F}, {1, 0.25F});
  const advice well = r.given(lost_updates_told(finding_grade::fine));
  CHECK(well.first.cause == "healthy");
  CHECK(well.first.happened == "no fault found: none of 40 steps overflowed as recorded");
  CHECK(well.first.change.starts_with("nothing"));
  CHECK(well.findings.back().topic == "lost_updates");
  for (const finding_grade grade : {finding_grade::trouble, finding_grade::notable}) {
    const advice ill = r.given(lost_updates_told(grade));
    CHECK(ill.first.cause == "lost_updates");
    CHECK(ill.first.happened == "90 % of the updates are lost; none of 40 steps overflowed as recorded");
    CHECK(ill.first.change == "keep a float32 copy");
    CHECK(ill.first.sure.starts_with("certain of these; of the gradients: the recorded steps are certain"));
    CHECK(ill.first.grade == grade);
    CHECK(ill.findings.front().topic == "lost_updates");
    CHECK(!ill.all_clear());
  }
}

TEST_CASE("a worse cause keeps the first line, and lost updates are told after it") {
  run r;
  for (int i = 0; i < 40; ++i) r.add({0, 0}, {0, 0});
  const advice given = r.given(lost_updates_told(finding_grade::trouble));
  CHECK(given.first.cause == "zero_gradients");
  CHECK(given.findings.front().topic == "zero_gradients");
  CHECK(std::ranges::any_of(given.findings, [](const finding& f) { return f.topic == "lost_updates"; }));
}

TEST_CASE("besides what the gradients lose the summary says how sure it is of the weights") {
  run r;
  for (int i = 0; i < 40; ++i) {
    step s = step_of({1}, {0x1p-18F});
    s.scalars.loss_scale = 0x1p-8;
    r.add_step(s, two);
  }
  const advice_summary both = r.given(lost_updates_told(finding_grade::trouble)).first;
  CHECK(both.cause == "underflow");
  CHECK(says(both.happened, "; besides, 90 % of the updates are lost"));
  CHECK(says(both.sure, "; of the weights: certain of these"));
  CHECK(!says(r.given().first.sure, "of the weights"));
}

TEST_CASE("where only weights were recorded, the summary does not say that nothing was judged but them") {
  run r;
  step s;
  s.tensors = {row_of(0, {1, 2})};
  for (int i = 0; i < 3; ++i) r.add_step(s, {{.name = "weight/a", .kind = tensor_kind::weight}});
  CHECK(r.given().first.cause == "unknown");
  const advice_summary first = r.given(lost_updates_told(finding_grade::trouble)).first;
  CHECK(first.cause == "lost_updates");
  CHECK(says(first.happened, "90 % of the updates are lost; the input says nothing else"));
}

TEST_CASE("weights that are infinite or NaN come first") {
  const std::vector<tensor_info> tensors{{.name = "wgrad/a", .kind = tensor_kind::weight_grad},
                                         {.name = "weight/a", .kind = tensor_kind::weight}};
  const auto of = [&](const std::vector<std::vector<float>>& weights) {
    run r;
    for (const std::vector<float>& w : weights) {
      step s = step_of({1, 0.5F}, w);
      r.add_step(std::move(s), tensors);
    }
    return r.given();
  };
  const advice well = of({{1, 2}, {1, 2}, {1, 2}});
  CHECK(says(well.first.happened, "none of 3 steps overflowed as recorded"));
  CHECK(well.first.cause == "too_short");
  const advice all = of({{NAN, NAN}, {NAN, NAN}, {NAN, NAN}});
  CHECK(all.first.cause == "weights_not_finite");
  CHECK(all.first.happened ==
        "weights are infinite or NaN: all 2 elements of weight/a in step 0, and some in 2 later steps; none of 3 steps "
        "overflowed as recorded; 3 steps are too few to judge a run by");
  CHECK(says(all.first.change, "start from finite weights"));
  CHECK(all.first.grade == finding_grade::trouble);
  CHECK(all.findings.front().topic == "weights_not_finite");
  const advice late = of({{1, 2}, {1, 2}, {INFINITY, 2}});
  CHECK(says(late.first.happened, "1 of 2 elements of weight/a in step 2;"));
  CHECK(says(late.first.change, "a checkpoint before step 2"));
  CHECK(late.findings.front().step == 2);
}

TEST_CASE("an excerpt is not called healthy, and what it counts is") {
  run r;
  for (int i = 0; i < 5; ++i) r.add({1, 2}, {0.5F});
  const advice_summary first = r.given().first;
  CHECK(first.cause == "too_short");
  CHECK(says(first.happened, "5 steps are too few to judge a run by"));
  CHECK_FALSE(says(first.happened, "no fault"));
  CHECK_FALSE(says(first.sure, "certain"));
  CHECK(first.grade == finding_grade::fine);

  run log;
  for (const double loss : {2.28, 2.3, 9.0, 11.05}) {
    step s;
    s.scalars.loss = loss;
    s.scalars.found_inf = false;
    log.add_step(s, {});
  }
  const advice_summary rising = log.given().first;
  CHECK(says(rising.happened, "the loss goes from 2.28 (step 0) to 11"));
  CHECK(says(rising.sure, "nothing is sure"));
  CHECK(rising.grade == finding_grade::notable);
}

TEST_CASE("what the format would lose without a scale is in the first line of a run that had none") {
  run r;
  for (int i = 0; i < 40; ++i) r.add({1, 2}, {0x1p-26F, 0x1p-27F, 1});
  CHECK(says(r.given().first.happened, "without a loss scale float16 would make 40 % of the nonzero gradients zero"));
  CHECK(says(r.given().first.happened, "small.weight 66.7 %"));
  run large;
  for (int i = 0; i < 40; ++i) large.add({1, 2}, {1});
  CHECK_FALSE(says(large.given().first.happened, "without a loss scale"));
}

TEST_CASE("of a format of 8 bits, too") {
  advice_options options{.how = {float8_e5m2}};
  options.format_name = "float8_e5m2";
  run r(options);
  for (int i = 0; i < 40; ++i) r.add({1, 2}, {0x1p-26F, 0x1p-27F, 1});
  CHECK(says(r.given().first.happened,
             "no fault found: without a scale float8_e5m2 would make 40 % of the nonzero gradients zero"));
}

TEST_CASE("one batch far above all others decides no share, and no static scale") {
  const auto told = [](float times) {
    run r;
    for (int i = 0; i < 200; ++i) {
      const float by = i == 100 ? times : 1;
      r.add({0x1p-8F * by, 0x1p-10F * by}, {0x1p-22F * by, 0x1p-26F * by});
    }
    return r;
  };
  run usual = told(1);
  run bad = told(0x1p27F);
  CHECK(bad.given().first.cause == "bad_batch");
  CHECK(bad.number("static_scale", "lowest_log2") == usual.number("static_scale", "lowest_log2"));
  CHECK(bad.number("static_scale", "highest_log2") == "-4");
  CHECK(bad.number("static_scale", "highest_log2_without_outliers") == usual.number("static_scale", "highest_log2"));
  CHECK(says(bad.conclusion("static loss scales"), "but 1 of 200 steps overflows there: no scale serves all"));
  CHECK(bad.number("worst_tensors", "scale_log2") == "16");
}

TEST_CASE("backward reaches gradients of activations in the order of their hooks, and weights from the last") {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const std::vector<tensor_info> weights{{.name = "in.weight", .kind = tensor_kind::weight_grad},
                                         {.name = "wgrad/mid.weight", .kind = tensor_kind::weight_grad},
                                         {.name = "out.weight", .kind = tensor_kind::weight_grad}};
  const auto first_of = [&](std::vector<std::string> activations, const std::vector<std::string>& lost,
                            tensor_kind kind = tensor_kind::activation_grad) {
    std::vector<tensor_info> all = weights;
    for (const std::string& name : activations) all.push_back({.name = name, .kind = kind});
    run r;
    for (int i = 0; i < 40; ++i) {
      step s;
      s.scalars.found_inf = i == 20;
      s.scalars.loss_scale = 65536;
      for (std::uint32_t t = 0; t < all.size(); ++t) {
        const bool is_lost = i == 20 && std::ranges::find(lost, all[t].name) != lost.end();
        s.tensors.push_back(row_of(t, {is_lost ? infinity : 1}));
      }
      r.add_step(s, all);
    }
    return r.conclusion("overflow first").substr(0, r.conclusion("overflow first").find(':'));
  };
  const std::vector<std::string> backward{"agrad/out", "act", "mid", "in"};
  const std::vector<std::string> forward{"in", "mid", "act", "agrad/out"};
  for (const std::vector<std::string>& recorded : {backward, forward}) {
    CHECK(first_of(recorded, {"act", "mid", "in", "in.weight", "wgrad/mid.weight"}) == "act");
    CHECK(first_of(recorded, {"mid", "in", "in.weight", "out.weight"}) == "out.weight");
    CHECK(first_of(recorded, {"agrad/out", "act", "mid", "in", "in.weight", "wgrad/mid.weight", "out.weight"}) ==
          "agrad/out");
  }
  // None is named after a module.
  CHECK(first_of({"x", "y"}, {"x", "y", "out.weight"}) == "y");
  CHECK(first_of({}, {"in.weight", "wgrad/mid.weight"}) == "wgrad/mid.weight");
  // Where activations were recorded, forward tells first.
  CHECK(first_of(forward, {"mid", "act", "agrad/out", "in.weight", "wgrad/mid.weight", "out.weight"},
                 tensor_kind::activation) == "mid");
}

TEST_CASE("many steps, or the last, with gradients far above those around are no healthy run") {
  const auto told = [](auto is_far) {
    run r;
    for (int i = 0; i < 200; ++i) r.add({is_far(i) ? 0x1p7F : 0x1p-10F}, {0x1p-12F});
    return r.given().first;
  };
  for (const advice_summary& first : {told([](int i) { return i % 25 == 10; }), told([](int i) { return i == 199; })}) {
    CHECK(says(first.happened, "the median of all steps"));
    CHECK_FALSE(says(first.happened, "no fault found"));
    CHECK(first.grade == finding_grade::notable);
    CHECK_FALSE(first.change.starts_with("nothing"));
  }
  CHECK(says(told([](int) { return false; }).happened, "no fault found"));
  CHECK(says(told([](int i) { return i == 2; }).happened, "no fault found"));  // as trainings begin
}

TEST_CASE("a step or two at the usual scale are no search for it") {
  const auto told = [](std::int64_t first, int count) {
    run r;
    for (int i = 0; i < count; ++i) {
      step s;
      s.scalars.found_inf = true;
      s.scalars.applied = false;
      s.scalars.loss_scale = 0x1p17 / std::exp2(i);
      s.key.step = first + i;
      r.add_step(s, {});
    }
    return r.given().first.happened;
  };
  CHECK_FALSE(says(told(0, 1), "a search for the scale"));
  CHECK_FALSE(says(told(0, 2), "a search for the scale"));
}

TEST_CASE("steps whose loss is lost are not counted as overflow without a scale, nor take from it") {
  run r;
  for (int i = 0; i < 60; ++i) {
    const bool is_lost = i % 12 == 6;
    const bool is_large = i % 20 == 9;
    step s = step_of({is_lost ? std::numeric_limits<float>::quiet_NaN() : is_large ? 3e5F : 3e4F}, {1});
    s.scalars.loss = is_lost ? std::numeric_limits<double>::quiet_NaN() : 2;
    r.add_step(s, two);
  }
  CHECK(says(r.conclusion("not fix"), "losses that are infinite or NaN; overflow without any scale"));
  for (const finding& f : r.findings())
    if (f.topic == "not_helped") {
      CHECK(says(f.evidence[0], "in 5 steps"));
      CHECK(says(f.evidence[1], "of 3 steps even at the scale 1"));
    }
}

TEST_CASE("the tensor that overflows first is named, with its share of the overflows") {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  run r;
  for (int i = 0; i < 40; ++i) {
    step s = step_of({i % 10 == 5 ? infinity : 1}, {i == 25 ? infinity : 1});
    s.scalars.found_inf = i % 10 == 5;
    s.scalars.loss_scale = i % 10 == 5 ? 65536 : 32768;
    r.add_step(s, two);
  }
  CHECK(says(r.conclusion("overflow first"),
             "big.weight: first in 3 of 4 overflows, and infinite or NaN in 4, from step 5 on"));
}

TEST_CASE("a growth interval is not advised that loses more than the defaults") {
  run r;
  std::vector<float> values(200, 0.1F);
  values.front() = 0x1p-41F;
  for (int i = 0; i < 300; ++i) r.add({i % 60 == 59 ? 0.9F : 0.4F}, values);
  CHECK(says(r.conclusion("growth interval"), "init_scale=2^16 growth_interval=2000: 0 steps skipped"));
}

TEST_CASE("gradients that were clipped before they were recorded tell neither scale nor clipping") {
  run r;
  for (int i = 0; i < 60; ++i)
    r.add({std::min(0.1F * static_cast<float>(i), 1.0F + 1e-6F * static_cast<float>(i))}, {0});
  CHECK(r.given().first.cause == "recorded_clipped");
  CHECK(r.conclusion("clipping").empty());
  CHECK(r.conclusion("growth interval").empty());
  CHECK(r.conclusion("static loss scales").empty());
}

TEST_CASE("a run that ends with an overflow at the scale 1 is not without fault") {
  const auto ending = [](double scale) {
    run r({.how = {float16}});
    for (int i = 0; i < 101; ++i) {
      step s;
      s.scalars.found_inf = i == 100;
      s.scalars.applied = i < 100;
      s.scalars.loss = 2;
      s.scalars.loss_scale = scale;
      r.add_step(s, {});
    }
    return r.given().first;
  };
  const advice_summary least = ending(1);
  CHECK(least.cause == "open_overflow");
  CHECK(says(least.change, "the forward pass: that overflows at a scale of 1, where no usual loss scale helps"));
  CHECK(ending(2).cause != "open_overflow");
}

TEST_CASE("a lost loss beside a finite norm is not told as one of the forward pass for sure") {
  const auto told = [](int every, bool has_norms) {
    run log;
    for (int i = 0; i < 120; ++i) {
      step s;
      const bool is_lost = i > 0 && i % every == 0;
      s.scalars.loss = is_lost ? not_known : 2;
      s.scalars.loss_is_nan = is_lost;
      if (has_norms || !is_lost) s.scalars.grad_norm = 1 + 0.01 * (i % 7);
      if (is_lost && !has_norms) s.scalars.found_inf = true;
      log.add_step(s, {});
    }
    return log.given().first;
  };
  const advice_summary batches = told(25, true);
  CHECK(batches.cause == "bad_batch");
  CHECK(says(batches.happened, "finite before and after, while the gradient norm is finite: "));
  CHECK(says(batches.sure, "not sure: "));
  const advice_summary often = told(2, true);
  CHECK(often.cause == "forward_overflow");
  CHECK(says(often.happened, "while the gradient norm is finite"));
  CHECK(says(often.change, "see what is logged as the loss"));
  CHECK(says(often.sure, "not sure: "));
  CHECK_FALSE(often.left_out_from);
  CHECK_FALSE(says(told(2, false).sure, "not sure"));
}

TEST_CASE("a scale that is logged as 0 beside living gradients is not the one they had") {
  run log;
  for (int i = 0; i < 100; ++i) {
    step s;
    s.scalars.loss = 2;
    s.scalars.grad_norm = 1 + 0.01 * (i % 7);
    s.scalars.found_inf = false;
    s.scalars.loss_scale = i < 60 ? 65536 : 0;
    log.add_step(s, {});
  }
  const advice_summary first = log.given().first;
  CHECK(first.cause == "collapsed_scale");
  CHECK(says(first.happened,
             "the loss scale is logged as 0 in 40 steps (steps 60 to 99), while the gradient norm is finite"));
}

TEST_CASE("what a scale of 0, an update that was applied and an outlier did to a run is told with what is open") {
  const auto lost_from = [](int first, double scale_before, double scale_after, bool with_loss, double norm_before) {
    run log;
    for (int i = 0; i < 100; ++i) {
      step s;
      const bool is_lost = i >= first;
      s.scalars.loss = is_lost && with_loss ? not_known : 2;
      s.scalars.loss_is_nan = is_lost && with_loss;
      s.scalars.grad_norm = is_lost ? not_known : i == first - 1 ? norm_before : 1 + 0.01 * (i % 7);
      s.scalars.grad_norm_is_nan = is_lost;
      if (is_lost || std::isinf(s.scalars.grad_norm)) s.scalars.found_inf = true;
      s.scalars.loss_scale = is_lost ? scale_after : scale_before;
      log.add_step(s, {});
    }
    return log.given().first;
  };
  constexpr double infinite = std::numeric_limits<double>::infinity();
  const advice_summary zero = lost_from(60, 65536, 0, false, 1);
  CHECK(zero.cause == "collapsed_scale");
  CHECK(
      says(zero.happened,
           "the loss scale is logged as 0 in 40 steps (from step 60 on), and gradients are not finite in any of them"));
  CHECK(says(zero.change, "a checkpoint before step 60"));
  CHECK(says(zero.sure, "fairly sure: a scale of 0 alone does that"));
  CHECK(says(lost_from(0, 0, 0, false, 1).happened, "the loss scale is never logged as anything but 0, in 100 steps"));
  const advice_summary applied = lost_from(60, 1024, 1024, true, infinite);
  CHECK(applied.cause == "unhandled_overflow");
  CHECK(says(applied.happened, "the loss scale 2^10 never falls, and they were applied"));
  CHECK(says(applied.change,
             "go on from a checkpoint before step 59, and leave out updates whose gradients are not finite"));
  CHECK(says(lost_from(60, 1, 1, true, infinite).happened, "no loss scale is in use, and they were applied"));
  const advice_summary outlier = lost_from(60, not_known, not_known, true, 3e4);
  CHECK(outlier.cause == "bad_batch");
  CHECK(says(outlier.happened, "times those before it, and the loss is NaN or infinite from step 60 on"));
  CHECK(says(outlier.sure, "whether its update made the loss NaN, or both have one cause, is open"));
}

TEST_CASE("lines that may be of many steps are not called steps, and that is said") {
  advice_options options{.how = {float16}};
  options.row_unit = "line";
  run log(options);
  for (int i = 0; i < 100; ++i) {
    step s;
    s.scalars.loss = 2 - 0.01 * i;
    s.scalars.grad_norm = i == 40 ? 5000 : 1 + 0.01 * (i % 7);
    log.add_step(s, {});
  }
  const advice_summary first = log.given().first;
  CHECK(says(first.happened, "line 40 stands alone"));
  CHECK(says(first.change, "the data of this line"));
  CHECK(says(first.sure, "; the lines have no step numbers, and each may stand for many steps"));
}

TEST_CASE("a loss that stands still to its last digit, and norms that are gone beside one that stays, are no health") {
  const auto told = [](const std::function<double(int)>& loss, const std::function<double(int)>& norm) {
    run log;
    for (int i = 0; i < 200; ++i) {
      step s;
      s.scalars.loss = loss(i);
      s.scalars.grad_norm = norm(i);
      s.scalars.found_inf = false;
      log.add_step(s, {});
    }
    return log.given().first;
  };
  const auto falling = [](int i) { return 5 - 0.01 * i + 0.0137 * (i % 5); };
  const auto usual = [](int i) { return 1 + 0.01 * (i % 7); };
  CHECK(told(falling, usual).cause == "healthy");
  const advice_summary same = told([](int) { return 10.8249; }, usual);
  CHECK(same.cause == "unknown");
  CHECK(says(same.happened, "the loss is 10.8249 in all steps that tell of it, to its last digit; none of 200 steps"));
  CHECK(says(told([&](int i) { return i < 150 ? falling(i) : 3.51234; }, usual).happened, "in all steps from 150 on"));
  CHECK(told([](int) { return 2.3; }, usual).cause == "healthy");  // it may be rounded
  const auto gone = [&](int i) { return i < 100 ? usual(i) : 1e-6; };
  const advice_summary vanished = told([&](int i) { return i < 100 ? falling(i) : 4.1 + 0.0137 * (i % 5); }, gone);
  CHECK(vanished.cause == "unknown");
  CHECK(says(vanished.happened, "the gradient norm fell from 1.03 to 1e-06, while the loss stays"));
  CHECK(told(falling, gone).cause == "healthy");  // it goes on falling
}
