// Pins scenarios as they are typed: what is refused and in which words, what several policies share, and that where the totals
// of a recording are said to suffice they give the trajectory of its tensors.
#include <ulp/ask/questions/scenario_text.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <span>
#include <stdexcept>
#include <ulp/formats/catalog.hpp>
#include <ulp/io/inputs/open.hpp>
#include <ulp/model/replay/replay.hpp>

#include "support/catch.hpp"
#include "support/files.hpp"

using namespace ulp;
using namespace ulp::test;

namespace {

scenario_text usual() { return {.scaler = "pytorch_gradscaler", .format = "float16"}; }

std::string refusal(const scenario_text& text, const run_text& run = {}) {
  try {
    static_cast<void>(scenario_of(text, run));
    return "";
  } catch (const std::invalid_argument& mistake) {
    return mistake.what();
  }
}

std::vector<trajectory_row> trajectory(const scenario& s, const std::string& input, source_options how) {
  const auto from = open_source({input}, how);
  replayer r(s);
  std::vector<trajectory_row> rows;
  step now;
  while (from->next(now)) {
    if (!s.counted.takes(now.key.step) || now.key.microbatch != -1) continue;
    rows.push_back(r.advance(now, from->tensors()));
    if (!rows.back().error.empty()) break;
  }
  return rows;
}

bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

bool same(const trajectory_row& a, const trajectory_row& b) {
  // Sums of rounded norms depend on the order of their parts.
  const bool norms_agree = same(a.norm, b.norm) || std::abs(a.norm - b.norm) <= 1e-9 * std::abs(a.norm);
  return a.key == b.key && a.found_inf == b.found_inf && a.found_inf_certain == b.found_inf_certain &&
         a.skipped == b.skipped && same(a.scale_used, b.scale_used) && same(a.scale_next, b.scale_next) &&
         same(a.critical_scale, b.critical_scale) && norms_agree && a.clipped == b.clipped && a.error == b.error &&
         a.counts.numel == b.counts.numel && a.counts.zero == b.counts.zero &&
         a.counts.nonfinite == b.counts.nonfinite && a.counts.underflow == b.counts.underflow &&
         a.counts.subnormal == b.counts.subnormal && a.counts.overflow == b.counts.overflow;
}

template <typename List>
auto one_of(std::mt19937& random, const List& list) {
  return list[std::uniform_int_distribution<std::size_t>(0, std::size(list) - 1)(random)];
}

}  // namespace

TEST_CASE("mistakes are refused in words that name the option") {
  const auto check = [](scenario_text text, const std::string& part) {
    const std::string why = refusal(text);
    INFO(why);
    CHECK(why.find(part) != std::string::npos);
    CHECK(why.find('\n') == std::string::npos);
  };
  const auto with = [](auto change) {
    scenario_text text = usual();
    change(text);
    return text;
  };
  check(with([](auto& t) { t.scaler = "nosuch"; }), "'nosuch'");
  check(with([](auto& t) { t.scaler = ""; }), "--scaler");
  check(with([](auto& t) { t.parameters = {"nosuch=1"}; }), "pytorch_gradscaler with nosuch=1: ");
  check(with([](auto& t) { t.parameters = {"init_scale"}; }), "--set: 'init_scale' is not of the form key=value");
  check(with([](auto& t) { t.parameters = {"init_scale=1", "init_scale=2"}; }), "--set: init_scale is given twice");
  check(with([](auto& t) { t.parameters = {"init_scale=many"}; }), "init_scale");
  check(with([](auto& t) { t.start = {"nosuch=1"}; }), "nosuch");
  check(with([](auto& t) { t.start = {"scale=1", "scale=2"}; }), "--start: scale is given twice");
  check(with([](auto& t) { t.start = {"scale=none"}; }), "--start: 'none' is not a number");
  check(with([](auto& t) { t.start = {"scale=-1"}; }), "cannot start from the scale -1");
  check(with([](auto& t) { t.format = "float17"; }), "float17");
  check(with([](auto& t) { t.format = ""; }), "format");
  check(with([](auto& t) { t.format = "e8m0"; }), "values are not rounded to it");
  check(with([](auto& t) { t.rounding.direction = "sideways"; }), "sideways");
  check(with([](auto& t) { t.rounding.flush = "never"; }), "--ftz: 'never' is not one of before, after, result");
  check(with([](auto& t) { t.rounding.tininess = ""; }), "--tininess");
  for (const char* const bad : {"wide", "0", "-1", "inf", "nan", "1x", "1,5"}) {
    check(with([&](auto& t) { t.clip_norm = bad; }), "--clip-norm: '" + std::string{bad} + "'");
    check(with([&](auto& t) { t.clip_value = bad; }), "--clip-value: '" + std::string{bad} + "'");
  }
  check(with([](auto& t) { t.clip_norm = t.clip_value = "1"; }), "not by both");
  check(with([](auto& t) { t.order = "clip,unscale,check"; }), "nothing to order");
  check(with([](auto& t) { t.order = "clip", t.clip_norm = "1"; }), "--order: 'clip'");
  check(with([](auto& t) { t.check = "conv("; }), "--check: 'conv('");
  check(with([](auto& t) { t.check = "(?!conv)"; }), "RE2 has no look-around");
  check(with([](auto& t) { t.check = std::string(20000, '(') + std::string(20000, ')'); }), "--check: '((((");
  CHECK(refusal(usual()).empty());
  CHECK(refusal(usual(), {.steps = "5:5"}).find("--steps: '5:5' selects no step") != std::string::npos);
  for (const std::string steps : {"-3:", "-1", ":-2", "-2:4"})
    CHECK(refusal(usual(), {.steps = steps}).find("has a step below 0") != std::string::npos);
  CHECK(refusal(usual(), {.groups = {"exact=conv"}}).find("--group: 'exact' is reserved") != std::string::npos);
  CHECK(refusal(usual(), {.kinds = {"grad"}}).find("--kind: unknown 'grad'") != std::string::npos);
}

TEST_CASE("what is typed is what is meant") {
  scenario_text text = usual();
  text.parameters = {"init_scale=8"};
  text.start = {"scale=4", "_growth_tracker=3"};
  text.format = "bf16";
  text.rounding = {.direction = "rz", .saturate = true, .daz = true, .flush = "before", .seed = 7};
  text.clip_norm = "2^-3";
  text.order = "clip,unscale,check";
  text.check = "conv";
  const scenario s =
      scenario_of(text, {.tensor = "w", .kinds = {"weight_grad", "x=weight"}, .steps = "3:9", .every = 2});
  CHECK(s.recipe.machine().scale() == 4);
  CHECK(s.recipe.machine().state()[1].second == 3);
  CHECK(s.recipe.usual().rounding.direction == direction::toward_zero);
  CHECK(s.recipe.usual().rounding.overflow == overflow_mode::saturate);
  CHECK(s.recipe.usual().rounding.daz);
  CHECK(s.recipe.usual().rounding.flush == flush::before_rounding);
  CHECK(s.seed == 7);
  CHECK(s.clip_norm->max_norm == 0.125);
  CHECK((s.order.clip_before_unscale && s.order.clip_before_check));
  CHECK((s.checked("conv1") && !s.checked("fc1")));
  CHECK((s.counted.tensor("fw") && !s.counted.tensor("fc")));
  CHECK(s.counted.kinds == std::vector{tensor_kind::weight_grad});
  CHECK((s.counted.takes(std::int64_t{4}) && !s.counted.takes(std::int64_t{5}) && !s.counted.takes(std::int64_t{10})));
}

TEST_CASE("names tell what was set") {
  CHECK(name_of(usual()) == "pytorch_gradscaler, float16");
  scenario_text text = usual();
  text.parameters = {"init_scale=8", "growth_interval=20"};
  text.format = "e5m7";
  CHECK(name_of(text) == "pytorch_gradscaler init_scale=8 growth_interval=20, e5m7");
  text.rounding.saturate = true;
  text.check = "fc";
  CHECK(name_of(text) == "pytorch_gradscaler init_scale=8 growth_interval=20, e5m7, saturating, checked fc");
}

TEST_CASE("a rounding in words tells all of it, and a name tells it alike") {
  scenario_text text = usual();
  text.rounding = {.saturate = true, .daz = true, .flush = "after", .tininess = "before"};
  CHECK(text.rounding.text(float16) == "nearest-even, saturating, ftz after, daz, tininess before");
  CHECK(name_of(text) == "pytorch_gradscaler, float16, saturating, ftz after, daz, tininess before");
  text.rounding = {.direction = "nvidia", .tininess = "before"};
  CHECK(text.rounding.text(float16) == "nvidia (stochastic:A,bits=13), tininess before");
  CHECK(rounding_text{}.text(dlfloat16) == "nearest-away");
  text.rounding = {.saturate_finite = true};
  CHECK(text.rounding.value(float16).overflow == overflow_mode::saturate_finite);
  CHECK(text.rounding.text(float16) == "nearest-even, saturating finite numbers");
}

TEST_CASE("each option that is given makes another name") {
  scenario_text text = usual();
  for (std::size_t i = 0; i < options_of(text).size(); ++i) {
    scenario_text changed = text;
    const text_option option = options_of(changed)[i];
    CAPTURE(option.name);
    std::visit(
        [](auto* value) {
          using type = std::remove_pointer_t<decltype(value)>;
          if constexpr (std::is_same_v<type, std::string>)
            *value = "before";
          else if constexpr (std::is_same_v<type, std::vector<std::string>>)
            value->push_back("a=7");
          else
            *value = 1;
        },
        option.value);
    CHECK(name_of(changed) != name_of(text));
  }
}

TEST_CASE("commands hold what was said, and files that look like options are none") {
  scenario_text text = usual();
  text.check = "-fc";
  CHECK(command_of(text, {.inputs = {"--help", "-x y"}}) ==
        "ulp replay ./--help './-x y' --scaler pytorch_gradscaler --format float16 --check=-fc");
  CHECK(command_of(usual(),
                   {.inputs = {"a"}, .scalars = "-s", .allow_empty = true, .limits = {"tensors=7", "text=none"}}) ==
        "ulp replay a --allow-empty --limit tensors=7 --limit text=none --scalars ./-s --scaler pytorch_gradscaler "
        "--format float16");
}

TEST_CASE("several policies get of parameters and state what they have") {
  scenario_text text = usual();
  text.parameters = {"growth_interval=7", "init_scale=8"};
  text.start = {"_growth_tracker=3"};
  const auto all = under_each(text, {"pytorch", "tf_keras", "none"});
  REQUIRE(all.size() == 3);
  CHECK(all[0].scaler == "pytorch");
  CHECK(all[0].parameters == text.parameters);
  CHECK(all[0].start == text.start);
  CHECK(all[1].start.empty());
  CHECK(all[2].parameters.empty());
  for (const scenario_text& one : all) CHECK(refusal(one).empty());
  text.parameters.emplace_back("growth=1");
  CHECK_THROWS_WITH(under_each(text, {"pytorch", "none"}),
                    "--set: no parameter 'growth' in pytorch, none; near: growth_factor (see ulp scalers NAME)");
}

TEST_CASE("a configuration is one policy more, whose format and clipping hold for all") {
  const temporary_dir dir;
  const std::string file = (dir / "c.yaml").string();
  write_file(file, "trainer:\n  precision: 16-mixed\n  gradient_clip_val: 1\n");
  scenario_text text;
  text.parameters = {"growth_interval=7"};
  const configuration own = read_configuration(file, text);
  const auto all = under_each(text, {"tf_keras", "pytorch"}, own);
  REQUIRE(all.size() == 3);
  CHECK(all[0].scaler == "pytorch_gradscaler");
  CHECK(parameter_of(all[0], "growth_interval") == "7");
  CHECK(parameter_of(all[0], "init_scale") == "65536");
  CHECK(all[2].parameters == text.parameters);
  for (const scenario_text& one : all) {
    CHECK(one.format == "float16");
    CHECK(one.clip_norm == "1");
  }
  text.clip_value = "2";
  CHECK_THROWS_WITH(under_each(text, {}, own),
                    "--clip-value: " + file + " clips already, to L2 norm 1; remove one of them");
}

TEST_CASE("where totals suffice they give the trajectory of the tensors") {
  const std::string digits = (source_dir() / "tests/data/octaves/digits.ulp").string();
  const char* const scalers[] = {"pytorch", "tf_keras", "cerebras",   "megatron",
                                 "none",    "ada_loss", "popart_als", "keras"};
  const char* const starts[] = {"1", "65536", "16777216", "1e9", "4.7e8"};
  const char* const formats[] = {"float16", "bfloat16", "cb16", "e4m3fn", "e5m2", "e5m7", "dlfloat16"};
  const char* const roundings[] = {"", "rz", "rna", "ru", "rd", "ro", "sr,bits=8", "nvidia"};
  const char* const orders[] = {"", "unscale,clip,check", "clip,unscale,check", "clip,check,unscale"};
  std::mt19937 random(1);
  const auto chance = [&](int of) { return std::uniform_int_distribution(1, of)(random) == 1; };
  int merged = 0;
  int apart = 0;
  for (int i = 0; i < 120; ++i) {
    scenario_text text = usual();
    text.scaler = one_of(random, scalers);
    if (text.scaler == std::string{"pytorch"}) text.start = {std::string{"scale="} + one_of(random, starts)};
    text.format = one_of(random, formats);
    text.rounding.direction = one_of(random, roundings);
    text.rounding.saturate = chance(6);
    text.rounding.daz = chance(6);
    text.rounding.flush = chance(4) ? "after" : "";
    text.rounding.seed = random() % 3;
    if (chance(3)) text.clip_norm = "0.5";
    if (text.clip_norm.empty() && chance(2)) text.clip_value = "0.001";
    if (!text.clip_norm.empty() || !text.clip_value.empty()) text.order = one_of(random, orders);
    if (chance(6)) text.check = "conv";
    run_text run{.inputs = {digits}};
    if (chance(6)) run.tensor = "fc";
    if (chance(3)) run.kinds = {"weight_grad"};
    if (chance(3)) run.roles = {chance(2) ? "low" : "unknown"};
    if (chance(3)) run.every = 3;
    run.steps = "0:60";
    std::string why = refusal(text, run);
    INFO(command_of(text, run) << " " << why);
    if (text.rounding.direction == std::string{"nvidia"} && !why.empty()) continue;
    REQUIRE(why.empty());
    const scenario s = scenario_of(text, run);
    const source_options how = reading_for(run, std::span{&s, 1});
    CHECK(how.merged == totals_suffice(s));
    if (!how.merged) {
      ++apart;
      continue;
    }
    ++merged;
    source_options all = how;
    all.merged = false;
    const auto totals = trajectory(s, digits, how);
    const auto tensors = trajectory(s, digits, all);
    CHECK(std::ranges::equal(totals, tensors, [](const auto& a, const auto& b) { return same(a, b); }));
  }
  CHECK(merged > 30);
  CHECK(apart > 10);
}

TEST_CASE("totals do not suffice where something tells tensors apart") {
  const auto merged = [](const scenario_text& text, const run_text& run = {}) {
    const scenario s = scenario_of(text, run);
    return reading_for(run, std::span{&s, 1}).merged;
  };
  CHECK(merged(usual()));
  CHECK(merged(usual(), {.kinds = {"weight_grad"}, .roles = {"low"}, .steps = "1:5", .every = 2}));
  scenario_text text = usual();
  text.check = "fc";
  CHECK_FALSE(merged(text));
  text = usual();
  text.rounding.daz = true;
  CHECK_FALSE(merged(text));
  text = usual();
  const auto per_layer = std::ranges::find(scaler_catalog(), machine_scope::tensor, &scaler_entry::scope);
  REQUIRE(per_layer != scaler_catalog().end());
  text.scaler = per_layer->name;
  CHECK_FALSE(merged(text));
  CHECK_FALSE(merged(usual(), {.tensor = "fc"}));
  CHECK_FALSE(merged(usual(), {.groups = {"a=fc"}}));
  CHECK_FALSE(merged(usual(), {.kinds = {"fc=weight"}}));
  CHECK_FALSE(merged(usual(), {.roles = {"fc=low"}}));
}

TEST_CASE("a replay takes one value of a parameter, of every policy alike") {
  for (const auto& [scaler, parameter] : std::vector<std::pair<std::string, std::string>>{
           {"pytorch", "growth_interval"}, {"cerebras_gpu", "loss_scaling_factor"}, {"chainer", "scale"}}) {
    scenario_text text{.scaler = scaler, .parameters = {parameter + "=5,25"}, .format = "float16"};
    CHECK(refusal(text) ==
          "--set: " + parameter + "=5,25 is several values, and a replay takes one; ulp sweep takes several");
  }
}

TEST_CASE("window is the growth interval of every policy") {
  const auto interval = [](const std::string& name, const std::string& parameter) {
    const scaler policy = scaler_of({.scaler = name, .parameters = {"window=7"}, .format = "float16"});
    for (const scaler_parameter& p : policy.parameters())
      if (p.name == parameter) return to_string(p.value);
    return std::string{"none"};
  };
  CHECK(interval("pytorch", "growth_interval") == "7");
  CHECK(interval("deepspeed", "scale_window") == "7");
  CHECK(interval("jmp", "period") == "7");
  CHECK(interval("cerebras", "steps_per_increase") == "7");

  scenario_text text = usual();
  text.parameters = {"window=5,25", "init_scale=8"};
  const auto all = under_each(text, {"pytorch", "jmp"});
  CHECK(all[0].parameters == std::vector<std::string>{"growth_interval=5,25", "init_scale=8"});
  CHECK(all[1].parameters == std::vector<std::string>{"period=5,25", "init_scale=8"});
  CHECK_THROWS_WITH(under_each(text, {"pytorch", "static"}),
                    "--set: window is the growth interval of any policy, and static has none; leave one of them out");
  text.parameters = {"window=5", "growth_interval=6"};
  CHECK(refusal(text) == "--set: growth_interval is given twice");

  // In place of what a configuration says.
  const temporary_dir dir;
  write_file(dir / "c", "--fp16 --loss-scale-window 200");
  scenario_text given{.parameters = {"window=9"}};
  const scenario_text with = with_configuration(given, read_configuration((dir / "c").string(), given));
  CHECK(std::ranges::count(with.parameters, "growth_interval=9") == 1);
  CHECK(std::ranges::count(with.parameters, "growth_interval=200") == 0);
}
