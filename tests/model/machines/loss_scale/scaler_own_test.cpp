// Pins the scalers with machines of their own to traces and tables of the originals, and to what is known of them.
#include "support/catch.hpp"

#include <algorithm>
#include <limits>

#include "model/golden_tables.hpp"

using namespace ulp;
using namespace ulp::test;

namespace {

std::filesystem::path golden() { return source_dir() / "tests/data/golden"; }

std::string refusal(const std::string& name, const parameters& p) {
  try {
    made(name, p);
  } catch (const parameter_error& problem) {
    return problem.what();
  }
  return "";
}

// The overflow in a row that ends the run; 0 where none of 1000 does.
int raising_overflow(scaler s) {
  for (int i = 1; i <= 1000; ++i)
    if (!s.update({.found_inf = true}).error.empty()) return i;
  return 0;
}

}  // namespace

TEST_CASE("machines of their own follow the originals' traces") {
  const std::vector<std::pair<std::string, parameters>> configurations{
      {"flax_dynamic_scale/default", {}},
      {"mxnet_amp/default", {}},
      {"nnabla_updater/default", {}},
      {"chainer_dynamic/default", {}},
      {"openseq2seq_backoff/default_after", {}},
      {"openseq2seq_backoff/default_before", {{"iteration_read", std::string{"before"}}}},
  };
  int traces = 0;
  for (const auto& [name, set] : configurations) {
    const std::string scaler_name = name.substr(0, name.find('/'));
    for (const std::string input : {"always100", "bursts_small", "p01", "loop_walk"}) {
      const auto events = golden() / scaler_name / (input + "__" + name.substr(name.find('/') + 1) + ".events");
      if (!std::filesystem::exists(events)) continue;
      CAPTURE(name, input);
      ++traces;
      CHECK(differing_steps(made(scaler_name, set), read_input(golden() / "inputs" / (input + ".csv")),
                            read_events(events)) == 0);
    }
  }
  CHECK(traces == 20);
}

TEST_CASE("PopART decides and Zhao's layers scale as in the tables") {
  const auto decisions = read_table(golden() / "popart_als/decision.csv");
  CHECK(std::count_if(decisions.begin(), decisions.end(), decides_alike) == 80);
  const auto layers = read_table(golden() / "ada_loss_zhao/layer_scale.csv");
  CHECK(std::count_if(layers.begin(), layers.end(), scales_alike) == 40);
}

TEST_CASE("flax grows one good step late, saturates, and without a floor makes infinities of its own") {
  scaler s = made("flax", {{"growth_interval", 2.0}});
  s.update({});
  s.update({});
  CHECK(s.scale() == 65536);
  s.update({});
  CHECK(s.scale() == 131072);

  scaler high = made("flax", {{"scale", 0x1p127}, {"growth_interval", 0.0}});
  high.update({});
  CHECK(high.scale() == static_cast<double>(std::numeric_limits<float>::max()));

  const auto low = [](double scale) { return made("flax", {{"scale", scale}, {"minimum_scale", std::monostate{}}}); };
  CHECK_FALSE(low(0x1p-127).update({}).skipped);
  CHECK(low(0x1p-128).update({}).skipped);  // a scaled gradient of 1 is assumed
  CHECK_FALSE(low(0x1p-128).update({.max_abs = 0.25}).skipped);
  CHECK(low(0).update({.max_abs = 0.25}).skipped);  // 0 / 0
  for (int i = 0; i < 200; ++i) s.update({.found_inf = true});
  CHECK(s.scale() == 0x1p-126);  // the default floor
}

TEST_CASE("MXNet takes an overflow into account one step late") {
  scaler s = made("mxnet");
  CHECK(s.update({.found_inf = true}).skipped);
  CHECK(s.scale() == 65536);
  CHECK(s.update({.found_inf = true}).skipped);  // at the scale that overflowed before
  CHECK(s.scale() == 32768);
  s.update({});
  CHECK(s.scale() == 16384);
}

TEST_CASE("nnabla raises in a good step at scale 0") {
  scaler s = made("nnabla", {{"scale", 0x1p-1074}});
  CHECK(s.update({.found_inf = true}).error.empty());
  CHECK(s.scale() == 0);
  CHECK(s.update({}).error == "ZeroDivisionError: float division by zero");
}

TEST_CASE("Chainer with a number as scale checks nothing") {
  scaler s = made("chainer", {{"scale", 128.0}});
  CHECK_FALSE(s.update({.found_inf = true}).skipped);
  CHECK(s.scale() == 128);
  CHECK(refusal("chainer", {{"interval", 0.0}}) == "interval must be at least 1");
}

TEST_CASE("one infinity pins LogMax to its floor for thousands of steps") {
  const auto pinned = [](double max_abs) {
    scaler s = made("openseq2seq_logmax");
    for (int i = 0; i < 100; ++i) s.update({.max_abs = max_abs});
    CHECK(s.scale() > 1);
    CHECK(s.update({.found_inf = true}).skipped);
    int steps = 0;
    for (; s.scale() == 1; ++steps) s.update({.max_abs = max_abs});
    return steps;
  };
  CHECK(pinned(0x1p-3) == 11635);
  CHECK(pinned(0x1p-10) == 11009);
  CHECK(pinned(1) == 11979);
}

TEST_CASE("LogMax keeps the last bits of the original's float32") {
  const golden_run run = run_over(made("openseq2seq_logmax"), read_input(golden() / "inputs/loop_walk.csv"));
  // openseq2seq_logmax/loop_walk__default.events
  CHECK(run.scales.at(0) == 16384);
  CHECK(run.scales.at(71) == 14914.0615234375);
  CHECK(run.scales.at(73) == 11220.4150390625);
  CHECK(run.scales.at(96) == 2526.05859375);
  CHECK(*std::min_element(run.scales.begin(), run.scales.end()) == 505.0404357910156);
}

TEST_CASE("what an input does not tell is an error of the policies that need it") {
  CHECK(made("openseq2seq_logmax").update({}).error.find("maxabs") != std::string::npos);
  CHECK(made("openseq2seq_logmax").update({.found_inf = true}).error.empty());
  CHECK(made("popart_als").update({}).error.find("recording") != std::string::npos);
  CHECK(made("ada_loss_zhao").update({}).error.find("g_mean, g_std") != std::string::npos);
  CHECK(made("popart_als").edge() == 8188);
}

TEST_CASE("PopART with a period decides in the first step of each") {
  scaler s = made("popart", {{"updatePeriod", 3.0}, {"lossScaling", 1024.0}});
  std::vector<double> scales;
  for (int i = 0; i < 5; ++i) {
    s.update({.above_edge = 0, .up_to_edge = 10});
    scales.push_back(s.scale());
  }
  CHECK(scales == std::vector<double>{2048, 2048, 2048, 4096, 4096});
}

TEST_CASE("the Trainer's check ends a run at the 30th overflow in float16, at the 46th in cbfloat16") {
  const parameters check{{"raise_at_minimum", true}};
  CHECK(raising_overflow(made("cerebras_dls", check)) == 30);
  CHECK(raising_overflow(made("cerebras_dls", {{"raise_at_minimum", true}, {"fp16_type", std::string{"cbfloat16"}}})) ==
        46);
  CHECK(raising_overflow(made("cerebras_dls")) == 0);
}

TEST_CASE("the documentation's 2e-14 is refused with what it means") {
  for (const std::string name : {"cerebras_dls", "cerebras_tf_legacy"})
    CHECK(refusal(name, {{"min_loss_scale", 2e-14}}).find("2e-14 of the documentation means 2^-14") !=
          std::string::npos);
  CHECK(made("cerebras_dls", {{"max_loss_scale", 2e15}, {"init_scale", 2e15}}).scale() == 1999999973982208);
}

TEST_CASE("the legacy Cerebras scaler tolerates one overflow in twenty, and still grows") {
  scaler legacy = made("cerebras_tf", {{"initial_loss_scale", 1024.0}});
  scaler current = made("cerebras_dls", {{"init_scale", 1024.0}});
  for (int i = 1; i <= 2000; ++i) {
    if (i == 2000) CHECK(legacy.scale() == 1024);
    legacy.update({.found_inf = i % 20 == 0});
    current.update({.found_inf = i % 20 == 0});
  }
  CHECK(legacy.scale() == 2048);
  CHECK(current.scale() == 0x1p-14);

  scaler resumed = made("cerebras_tf", {{"initial_loss_scale", 64.0}, {"increment_period", 100.0}});
  resumed.set_state("steps_since_rescale", 101);  // with 100 in its checkpoint it would have grown at step 100
  resumed.update({});
  CHECK(resumed.scale() == 256);  // 3 steps beyond the period: times 4
  CHECK(resumed.state().at(1) == std::pair<std::string, double>{"steps_since_rescale", -204});
}

TEST_CASE("on GPUs Cerebras is GradScaler without floor and ceiling, and a static scale still falls") {
  scaler dynamic =
      made("cerebras_gpu", {{"max_loss_scale", 1.0}, {"min_loss_scale", 0.5}, {"steps_per_increase", 2.0}});
  CHECK(dynamic.scale() == 65536);
  dynamic.update({});
  dynamic.update({});
  CHECK(dynamic.scale() == 131072);
  int overflows = 0;
  for (; dynamic.scale() != 0; ++overflows) dynamic.update({.found_inf = true});
  CHECK(overflows == 167);

  scaler fixed = made("cerebras_gpu", {{"loss_scaling_factor", 128.0}, {"steps_per_increase", 1.0}});
  for (int i = 0; i < 10; ++i) fixed.update({});
  CHECK(fixed.scale() == 128);
  fixed.update({.found_inf = true});
  CHECK(fixed.scale() == 64);
  CHECK(refusal("cerebras_gpu", {{"loss_scaling_factor", std::string{"auto"}}}) ==
        "loss_scaling_factor must be a number or dynamic, not 'auto'");
}
