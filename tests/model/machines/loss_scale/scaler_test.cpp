// Pins the scalers to traces of the frameworks' own code, and their parameters, refusals and state.
#include "support/catch.hpp"

#include <algorithm>
#include <limits>

#include "model/golden.hpp"

using namespace ulp;
using namespace ulp::test;

namespace {

std::filesystem::path golden() { return source_dir() / "tests/data/golden"; }

}  // namespace

TEST_CASE("configurations follow the frameworks' own traces") {
  struct configuration {
    std::string scaler;
    std::string name;  // of the files in the folder of `scaler`, or of `same_as`
    parameters set;
    std::string same_as;
  };
  const std::vector<configuration> configurations{
      {"apex_amp", "default", {}, {}},
      {"apex_fp16_utils", "default", {}, {}},
      {"cerebras_dls", "float16_default", {{"fp16_type", std::string{"float16"}}}, {}},
      {"cerebras_dls", "cbfloat16_default", {{"fp16_type", std::string{"cbfloat16"}}}, {}},
      {"colossalai_mixin", "mixin_default", {}, "colossalai_dynamic"},
      {"composer_closure", "default", {}, "pytorch_gradscaler"},
      {"deepspeed_dynamic", "class_default", {}, {}},
      {"deepspeed", "json_default", {}, "deepspeed_dynamic"},
      {"deepspeed_fused_nonzero", "class_default", {}, {}},
      {"deepspeed_fused", "default", {}, "deepspeed_fused_nonzero"},
      {"deepspeed_unfused", "default", {}, {}},
      {"fairscale_dynamic", "default", {}, {}},
      {"fairscale_layerwise", "default", {}, {}},
      {"fairseq_dynamic", "class_default", {}, {}},
      {"fairseq_cli", "cli_default_1gpu", {}, "fairseq_dynamic"},
      {"jmp_dynamic", "default", {}, {}},
      {"keras3_lso", "default", {}, {}},
      {"megatron_dynamic", "default", {}, {}},
      {"metaseq_dynamic", "default", {}, {}},
      {"mindspore_manager", "default", {}, {}},
      {"mindspore_update_cell", "default", {}, {}},
      {"nemo_gradscaler", "default", {}, "pytorch_gradscaler"},
      {"paddle_dygraph", "gradscaler_default", {}, {}},
      {"paddle_static", "default", {}, {}},
      {"pytorch_fsdp_sharded_cpu", "default", {}, "pytorch_gradscaler"},
      {"pytorch_gradscaler", "default", {}, {}},
      {"tf_contrib_exponential", "default_2000", {}, {}},
      {"tf_keras_dynamic", "default", {}, {}},
  };
  std::size_t traces = 0;
  for (const auto& c : configurations) {
    const auto dir = golden() / (c.same_as.empty() ? c.scaler : c.same_as);
    for (const std::string input : {"always100", "bursts_small", "p01", "loop_walk"}) {
      CAPTURE(c.scaler, c.name, input);
      const auto file = dir / (input + "__" + c.name + ".events");
      if (!std::filesystem::exists(file)) continue;
      ++traces;
      CHECK(differing_steps(made(c.scaler, c.set), read_input(golden() / "inputs" / (input + ".csv")),
                            read_events(file)) == 0);
    }
  }
  CHECK(traces == 4 * configurations.size() - 2);
}

TEST_CASE("a changed parameter leaves the trace") {
  const auto trace = read_events(golden() / "pytorch_gradscaler/loop_walk__default.events");
  const auto input = read_input(golden() / "inputs/loop_walk.csv");
  CHECK(differing_steps(made("pytorch_gradscaler", {{"growth_interval", 2001.0}}), input, trace) > 0);
}

TEST_CASE("all overflow patterns of ten steps") {
  struct configuration {
    std::string file;
    std::string scaler;
    parameters set;
  };
  const parameters torch{
      {"init_scale", 1024.0}, {"growth_factor", 2.0}, {"backoff_factor", 0.5}, {"growth_interval", 3.0}};
  parameters nemo = torch;
  nemo.emplace_back("hysteresis", 2.0);
  const parameters cerebras{{"init_scale", 1024.0}, {"steps_per_increase", 3.0}, {"max_loss_scale", 16384.0}};
  parameters tolerant = cerebras;
  tolerant.emplace_back("overflow_tolerance", 0.3);
  const std::vector<configuration> configurations{
      {"pytorch_gradscaler", "pytorch_gradscaler", torch},
      {"nemo_gradscaler", "nemo_gradscaler", nemo},
      {"nemo_gradscaler", "apex_update_scale_hysteresis", nemo},
      {"tf_keras_dynamic", "tf_keras_dynamic", {{"initial_loss_scale", 4.0}, {"growth_steps", 3.0}}},
      {"cerebras_dls", "cerebras_dls", cerebras},
      {"cerebras_dls_tol0.3", "cerebras_dls", tolerant},
      {"deepspeed_dynamic_raise", "deepspeed_dynamic", {{"init_scale", 4.0}, {"scale_window", 3.0}}},
      {"deepspeed_fused_nonzero", "deepspeed_fused_nonzero", {{"cur_scale", 1024.0}, {"scale_window", 3.0}}},
      {"megatron_dynamic_h2", "megatron_dynamic", {{"initial_scale", 1024.0}, {"growth_interval", 3.0}}},
      {"megatron_dynamic_h2",
       "deepspeed_dynamic",
       {{"init_scale", 1024.0}, {"scale_window", 3.0}, {"delayed_shift", 2.0}}},
      {"fairseq_tol0.5", "fairseq_dynamic", {{"init_scale", 1024.0}, {"scale_window", 3.0}, {"tolerance", 0.5}}},
      {"metaseq", "metaseq_dynamic", {{"init_scale", 4.0}, {"scale_window", 4.0}}},
      {"paddle_dygraph_d2",
       "paddle_dygraph",
       {{"init_loss_scaling", 1024.0}, {"incr_every_n_steps", 3.0}, {"decr_every_n_nan_or_inf", 2.0}}},
  };
  for (const auto& c : configurations) {
    CAPTURE(c.file, c.scaler);
    CHECK(differing_patterns(made(c.scaler, c.set), golden() / "exhaustive10" / (c.file + ".csv")) == 0);
  }
  CHECK(differing_patterns(made("cerebras_dls", cerebras), golden() / "exhaustive10/cerebras_dls_tol0.3.csv") > 0);
}

// The scales of all patterns of nine steps, one after the other.
std::vector<double> scales_of_patterns(const std::string& name, const parameters& set) {
  const scaler start = made(name, set);
  std::vector<double> all;
  for (unsigned pattern = 0; pattern < 512; ++pattern) {
    scaler s = start;
    for (unsigned step = 0; step < 9; ++step) {
      const scaler_verdict verdict = s.update({.found_inf = (pattern >> step & 1U) != 0});
      CHECK(verdict.error.empty());
      all.push_back(s.scale());
    }
  }
  return all;
}

TEST_CASE("scalers of one class behave alike, those of different classes do not") {
  const double s0 = 0x1p14;
  const auto with = [](parameters set, const std::string& name, double value) {
    set.emplace_back(name, value);
    return set;
  };
  const parameters torch{{"init_scale", s0}, {"growth_interval", 4.0}};
  const parameters fairseq{{"init_scale", s0}, {"scale_window", 4.0}};
  const parameters megatron{{"initial_scale", s0}, {"growth_interval", 4.0}};
  const parameters deepspeed = with(fairseq, "delayed_shift", 2);
  const parameters fused{{"cur_scale", s0}, {"scale_window", 4.0}};
  const parameters tf{{"init_loss_scale", s0}, {"incr_every_n_steps", 4.0}, {"decr_ratio", 0.5}};
  const parameters paddle{{"init_loss_scaling", s0}, {"incr_every_n_steps", 4.0}, {"decr_ratio", 0.5}};
  const parameters mindspore_amp{{"scale_value", s0}, {"scale_window", 4.0}};
  const auto cerebras = [&](double window) {
    return parameters{{"init_scale", s0}, {"steps_per_increase", window}, {"max_loss_scale", 0x1p31}};
  };
  const auto flax = [&](double window) { return parameters{{"scale", s0}, {"growth_interval", window}}; };
  parameters deepspeed_consecutive = deepspeed;
  deepspeed_consecutive.emplace_back("consecutive_hysteresis", true);

  struct member {
    std::string scaler;
    parameters set;
  };
  const std::vector<std::pair<std::string, std::vector<member>>> classes{
      {"A",
       {{"pytorch_gradscaler", torch},
        {"pytorch_gradscaler_preguard", torch},
        {"pytorch_gradscaler_floor", torch},
        {"pytorch_fsdp_sharded_cpu", torch},
        {"fairscale_sharded_cpu", torch},
        {"composer_closure", torch},
        {"nemo_gradscaler", torch},
        {"apex_update_scale_hysteresis", torch},
        {"apex_amp", fairseq},
        {"apex_fp16_utils", fairseq},
        {"deepspeed_dynamic", fairseq},
        {"megatron_dynamic", with(megatron, "hysteresis", 1)},
        {"colossalai_dynamic", with(megatron, "hysteresis", 1)},
        {"colossalai_dynamic", with(megatron, "hysteresis", 0)},
        {"fairseq_dynamic", fairseq},
        {"fairscale_layerwise", torch},
        {"jmp_dynamic", {{"init_scale", s0}, {"period", 4.0}}},
        {"tf_keras_dynamic", {{"initial_loss_scale", s0}, {"growth_steps", 4.0}}},
        {"keras3_lso", {{"initial_scale", s0}, {"dynamic_growth_steps", 4.0}}},
        {"tf_contrib_exponential", with(tf, "decr_every_n_nan_or_inf", 1)},
        {"paddle_dygraph", paddle},
        {"paddle_static", with(paddle, "decr_every_n_nan_or_inf", 1)},
        {"mindspore_manager", {{"init_loss_scale", s0}, {"scale_window", 4.0}}},
        {"mindspore_update_cell", {{"loss_scale_value", s0}, {"scale_window", 4.0}}},
        {"mindspore_amp_scaler", mindspore_amp},
        {"flax_dynamic_scale", flax(3)},
        {"cerebras_dls", cerebras(3)}}},
      {"B", {{"deepspeed_fused_nonzero", fused}, {"deepspeed_unfused", fused}}},
      {"C", {{"flax_dynamic_scale", flax(4)}, {"cerebras_dls", cerebras(4)}}},
      {"D", {{"metaseq_dynamic", fairseq}}},
      {"E", {{"fairscale_dynamic", fairseq}}},
      {"G", {{"mxnet_amp", {{"_loss_scale", s0}, {"_scale_seq_len", 4.0}}}}},
      {"Hs",
       {{"deepspeed_dynamic", deepspeed},
        {"megatron_dynamic", with(megatron, "hysteresis", 2)},
        {"colossalai_dynamic", with(megatron, "hysteresis", 2)}}},
      {"Hc",
       {{"nemo_gradscaler", with(torch, "hysteresis", 2)},
        {"apex_update_scale_hysteresis", with(torch, "hysteresis", 2)},
        {"deepspeed_dynamic", deepspeed_consecutive}}},
      {"P",
       {{"paddle_dygraph", with(paddle, "decr_every_n_nan_or_inf", 2)},
        {"paddle_static", with(paddle, "decr_every_n_nan_or_inf", 2)}}},
      {"F", {{"tf_contrib_exponential", with(tf, "decr_every_n_nan_or_inf", 2)}}},
  };
  std::vector<std::vector<double>> scales;
  for (const auto& [name, members] : classes) {
    scales.push_back(scales_of_patterns(members.front().scaler, members.front().set));
    for (const member& m : members) {
      CAPTURE(name, m.scaler);
      CHECK((scales_of_patterns(m.scaler, m.set) == scales.back()));
    }
  }
  for (std::size_t a = 0; a < classes.size(); ++a)
    for (std::size_t b = 0; b < a; ++b) {
      CAPTURE(classes[a].first, classes[b].first);
      CHECK((scales[a] != scales[b]));
    }
}

TEST_CASE("the arithmetic shows with factors that are no powers of two") {
  const parameters torch{
      {"init_scale", 1000.1}, {"growth_factor", 1.3}, {"backoff_factor", 0.7}, {"growth_interval", 1.0}};
  const auto grown = [&](const std::string& name) {
    scaler s = made(name, torch);
    s.update({});
    return s.scale();
  };
  CHECK(grown("pytorch_gradscaler") == 1300.1300048828125);
  CHECK(grown("pytorch_gradscaler_preguard") == grown("pytorch_gradscaler"));
  CHECK(grown("pytorch_fsdp_sharded_cpu") == 1300.1298828125);
  CHECK(grown("fairscale_sharded_cpu") == grown("pytorch_fsdp_sharded_cpu"));
}

TEST_CASE("GradScaler reaches zero at the 166th overflow in a row and stays there") {
  scaler s = made("pytorch");
  int steps = 0;
  while (s.scale() != 0) {
    s.update({.found_inf = true});
    ++steps;
  }
  CHECK(steps == 166);
  for (int i = 0; i < 2000; ++i) s.update({.found_inf = false});
  CHECK(s.scale() == 0);
}

TEST_CASE("GradScaler drops growth that would leave float32 and starts counting anew") {
  scaler s = made("pytorch", {{"init_scale", 0x1p127}, {"growth_interval", 2.0}});
  s.update({});
  s.update({});
  CHECK(s.scale() == 0x1p127);
  CHECK(s.state().at(1) == std::pair<std::string, double>{"_growth_tracker", 0});
}

TEST_CASE("Cerebras doubles on good step 2001 and counts a finite norm above 1.8e19 as overflow") {
  scaler s = made("cerebras", {{"init_scale", 1024.0}});
  for (int i = 0; i < 2000; ++i) s.update({});
  CHECK(s.scale() == 1024);
  s.update({});
  CHECK(s.scale() == 2048);
  CHECK_FALSE(s.update({.found_inf = false, .unscaled_norm = 1.8e19}).skipped);
  CHECK(s.update({.found_inf = false, .unscaled_norm = 1.9e19}).skipped);
  CHECK(made("cerebras", {{"init_scale", 0.0}}).scale() == 32768);  // falsy: the default
  CHECK(made("cerebras", {{"fp16_type", std::string{"cbfloat16"}}}).scale() == 0x1p31);
}

TEST_CASE("a Python int grows exactly, however large, and raises beyond the largest double") {
  const parameters by_three{{"init_loss_scale", 0x1p24}, {"scale_factor", 3.0}, {"scale_window", 1.0}};
  scaler s = made("mindspore_manager", by_three);
  for (int i = 0; i < 36; ++i) s.update({});
  CHECK(s.scale() == 0x1.0a9f2345c8e37p+81);  // a product of doubles ends in 6
  for (int i = 36; i < 500; ++i) s.update({});
  CHECK(s.scale() == 0x1.655d2ce0563f7p+816);  // ends in a
  scaler lowered = s;
  lowered.update({.found_inf = true});
  CHECK(lowered.scale() == 0x1.655d2ce0563f7p+816 * (1 / 3.0));
  for (int i = 500; i < 630; ++i) CHECK(s.update({}).error.empty());
  const scaler_verdict last = s.update({});
  CHECK(last.error == "OverflowError: int too large to convert to float");
  CHECK(last.skipped);
}

TEST_CASE("a Python int of more than 64 bits is rounded by its last bit") {
  // 257^8 lies between doubles 2^12 apart, 2^11 + 1 above the lower of them, which is even.
  scaler s = made("mindspore_manager", {{"init_loss_scale", 1.0}, {"scale_factor", 257.0}, {"scale_window", 1.0}});
  for (int i = 0; i < 8; ++i) s.update({});
  CHECK(s.scale() == 0x1.081c3846381c1p+64);
}

TEST_CASE("DeepSpeed's fused scale raises where it is an int and becomes infinite where it is a float") {
  scaler s = made("deepspeed_fused", {{"scale_window", 1.0}});
  for (int i = 0; i < 1008; ++i) CHECK(s.update({}).error.empty());
  CHECK(s.scale() == 0x1p1023);
  const scaler_verdict last = s.update({});
  CHECK(last.error == "OverflowError: int too large to convert to float");
  CHECK_FALSE(last.skipped);
  s = made("deepspeed_fused", {{"scale_window", 1.0}});
  s.update({.found_inf = true});
  for (int i = 0; i < 1100; ++i) CHECK(s.update({}).error.empty());
  CHECK(std::isinf(s.scale()));
}

TEST_CASE("what raises ends a series in that step") {
  struct raising {
    std::string scaler;
    std::size_t steps;
    std::string kind;
  };
  const std::vector<raising> all{
      {"apex_amp", 1092, "ZeroDivisionError"},    {"deepspeed", 18, "Exception"},
      {"deepspeed_dynamic", 33, "Exception"},     {"fairscale_dynamic", 29, "FloatingPointError"},
      {"fairseq_cli", 21, "FloatingPointError"},  {"fairseq_dynamic", 29, "FloatingPointError"},
      {"mindspore_manager", 1001, "RuntimeError"}};
  const std::vector<std::uint8_t> always(1200, 1);
  for (const auto& r : all) {
    CAPTURE(r.scaler);
    const series_totals totals = made(r.scaler).run({always, {}, 0});
    CHECK(totals.steps == r.steps);
    CHECK(totals.skipped == r.steps);
    CHECK(totals.error.substr(0, totals.error.find(':')) == r.kind);
  }
  CHECK(made("deepspeed", {{"raise_error_at_min_scale", false}}).run({always, {}, 0}).error.empty());
}

TEST_CASE("hysteresis after a resume: NeMo loads 1, whatever was saved") {
  scaler s = made("nemo", {{"hysteresis", 3.0}});
  s.set_state("_hysteresis_tracker", 1);
  s.update({.found_inf = true});
  CHECK(s.scale() == 32768);
}

TEST_CASE("names that stand for other defaults, and plain aliases") {
  CHECK(made("deepspeed").scale() == 65536);
  CHECK(made("deepspeed_dynamic").scale() == 0x1p32);
  CHECK(made("deepspeed", {{"init_scale", 4.0}}).scale() == 4);
  CHECK(made("nemo_megatron").scale() == 0x1p32);
  for (const scaler_parameter& p : find_scaler("deepspeed")->parameters)
    if (p.name == "delayed_shift") CHECK(p.value == parameter_value{2.0});
  for (const auto& [alias, name] :
       std::vector<std::pair<std::string, std::string>>{{"pytorch", "pytorch_gradscaler"},
                                                        {"lightning", "pytorch_gradscaler"},
                                                        {"fsdp", "pytorch_fsdp_sharded_cpu"},
                                                        {"apex", "apex_amp"},
                                                        {"megatron", "megatron_dynamic"},
                                                        {"keras", "keras3_lso"},
                                                        {"tf_keras", "tf_keras_dynamic"},
                                                        {"paddle", "paddle_dygraph"}})
    CHECK(find_scaler(alias) == find_scaler(name));
}

TEST_CASE("names are unique, and every row makes a scaler with the defaults it shows") {
  std::vector<std::string_view> names;
  for (const scaler_entry& entry : scaler_catalog()) {
    CAPTURE(std::string{entry.name});
    names.push_back(entry.name);
    names.insert(names.end(), entry.aliases.begin(), entry.aliases.end());
    const scaler s = make_scaler(entry);
    CHECK(s.parameters().size() == entry.parameters.size());
    for (std::size_t i = 0; i < entry.parameters.size(); ++i) {
      CHECK(s.parameters()[i].name == entry.parameters[i].name);
      CHECK(s.parameters()[i].value == entry.parameters[i].value);
    }
    scaler copy = s;
    for (const auto& [name, value] : s.state()) copy.set_state(name, value);
    CHECK(copy.state() == s.state());
  }
  std::sort(names.begin(), names.end());
  CHECK(std::adjacent_find(names.begin(), names.end()) == names.end());
}

TEST_CASE("gradients are unscaled by the next scale in DeepSpeed and Colossal-AI only") {
  for (const scaler_entry& entry : scaler_catalog()) {
    CAPTURE(std::string{entry.name});
    CHECK(entry.unscales_with_next == (entry.name.starts_with("deepspeed") || entry.name.starts_with("colossalai")));
  }
}

TEST_CASE("without scaling the scale is 1 and nothing is skipped") {
  scaler s = made("none");
  CHECK_FALSE(s.update({.found_inf = true}).skipped);
  CHECK(s.scale() == 1);
}

TEST_CASE("a static scale never changes") {
  scaler s = made("static", {{"loss_scale", 128.0}});
  CHECK(s.update({.found_inf = true}).skipped);
  CHECK(s.scale() == 128);
  CHECK_FALSE(made("static", {{"skip_on_overflow", false}}).update({.found_inf = true}).skipped);
}

TEST_CASE("parameters that do not exist or cannot be are refused by name") {
  const auto message = [](const std::string& name, const parameters& p) {
    try {
      made(name, p);
    } catch (const parameter_error& problem) {
      return std::string{problem.what()};
    }
    return std::string{};
  };
  CHECK(message("pytorch", {{"grow", 1.0}}) ==
        "no parameter 'grow'; near: growth_factor; it has init_scale, growth_factor, backoff_factor, growth_interval");
  CHECK(message("pytorch", {{"growth_interval", 1.5}}) == "parameter 'growth_interval' takes an integer, not '1.5'");
  CHECK(message("pytorch", {{"growth_interval", std::numeric_limits<double>::infinity()}}) ==
        "parameter 'growth_interval' takes an integer, not 'inf'");
  CHECK(message("pytorch", {{"growth_factor", 1.0}}) == "growth_factor must be above 1");
  CHECK(message("pytorch", {{"init_scale", std::string{"big"}}}) == "parameter 'init_scale' takes a number, not 'big'");
  CHECK(message("megatron", {{"min_scale", 0x1p33}}) == "min_scale must not be above initial_scale");
  CHECK(message("megatron", {{"hysteresis", 0.0}}) == "hysteresis must be above 0");
  CHECK(message("colossalai", {{"max_scale", 2.0}}) == "max_scale must not be below initial_scale");
  CHECK(message("colossalai", {{"max_scale", 0.0}}).empty());
  CHECK(message("mindspore_manager", {{"init_loss_scale", 0.5}}) == "init_loss_scale must be at least 1");
  CHECK(message("pytorch_gradscaler_preguard", {{"kernel", std::string{"noguard"}}}).empty());
  CHECK_FALSE(message("pytorch_gradscaler_preguard", {{"kernel", std::string{"guard"}}}).empty());
  CHECK(message("apex_update_scale_hysteresis", {{"amp_c", true}}).empty());
  CHECK(message("cerebras", {{"min_loss_scale", 2e-14}}).find("2^-14") != std::string::npos);
  CHECK(find_scaler("nobody") == nullptr);
}

TEST_CASE("the state can be set under the framework's names and a copy goes its own way") {
  scaler s = made("pytorch");
  s.set_state("scale", 4);
  s.set_state("_growth_tracker", 1999);
  scaler copy = s;
  copy.update({});
  CHECK(copy.scale() == 8);
  CHECK(s.scale() == 4);
  CHECK_THROWS_AS(s.set_state("tracker", 1), parameter_error);
}

TEST_CASE("parameter values are read and written as text") {
  for (const std::string text : {"none", "true", "false", "65536", "0.5", "6.103515625e-5", "float16"})
    CHECK(to_string(parse_parameter(text)) == text);
  CHECK(parse_parameter("2^16") == parameter_value{65536.0});
}
