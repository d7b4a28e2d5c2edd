// Pins the scalers to traces of the frameworks' own code, and their parameters, refusals and state.
#include "support/catch.hpp"

#include "model/golden.hpp"

using namespace ulp;
using namespace ulp::test;

namespace {

std::filesystem::path golden() { return source_dir() / "tests/data/golden"; }

scaler made(const std::string& name, const parameters& p = {}) { return make_scaler(*find_scaler(name), p); }

}  // namespace

TEST_CASE("default configurations follow the frameworks' own traces") {
  struct configuration {
    std::string scaler;
    std::string name;
    parameters set;
  };
  const std::vector<configuration> configurations{
      {"pytorch_gradscaler", "default", {}},
      {"tf_keras_dynamic", "default", {}},
      {"cerebras_dls", "float16_default", {{"fp16_type", std::string{"float16"}}}},
      {"cerebras_dls", "cbfloat16_default", {{"fp16_type", std::string{"cbfloat16"}}}},
  };
  for (const auto& c : configurations) {
    for (const std::string input : {"always100", "bursts_small", "p01", "loop_walk"}) {
      CAPTURE(c.scaler, c.name, input);
      const auto trace = read_events(golden() / c.scaler / (input + "__" + c.name + ".events"));
      CHECK(differing_steps(made(c.scaler, c.set), read_input(golden() / "inputs" / (input + ".csv")), trace) == 0);
    }
  }
}

TEST_CASE("a changed parameter leaves the trace") {
  const auto trace = read_events(golden() / "pytorch_gradscaler/loop_walk__default.events");
  const auto input = read_input(golden() / "inputs/loop_walk.csv");
  CHECK(differing_steps(made("pytorch_gradscaler", {{"growth_interval", 2001.0}}), input, trace) > 0);
}

TEST_CASE("all overflow patterns of ten steps") {
  const auto dir = golden() / "exhaustive10";
  CHECK(differing_patterns(made("pytorch_gradscaler", {{"init_scale", 1024.0}, {"growth_interval", 3.0}}),
                           dir / "pytorch_gradscaler.csv") == 0);
  CHECK(differing_patterns(made("tf_keras_dynamic", {{"initial_loss_scale", 4.0}, {"growth_steps", 3.0}}),
                           dir / "tf_keras_dynamic.csv") == 0);
  const parameters cerebras{{"init_scale", 1024.0}, {"steps_per_increase", 3.0}, {"max_loss_scale", 16384.0}};
  CHECK(differing_patterns(made("cerebras_dls", cerebras), dir / "cerebras_dls.csv") == 0);
  parameters tolerant = cerebras;
  tolerant.emplace_back("overflow_tolerance", 0.3);
  CHECK(differing_patterns(made("cerebras_dls", tolerant), dir / "cerebras_dls_tol0.3.csv") == 0);
  CHECK(differing_patterns(made("cerebras_dls", cerebras), dir / "cerebras_dls_tol0.3.csv") > 0);
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
        "no parameter 'grow'; it has init_scale, growth_factor, backoff_factor, growth_interval");
  CHECK(message("pytorch", {{"growth_interval", 1.5}}) == "parameter 'growth_interval' takes an integer, not '1.5'");
  CHECK(message("pytorch", {{"growth_factor", 1.0}}) == "growth_factor must be above 1");
  CHECK(message("pytorch", {{"init_scale", std::string{"big"}}}) == "parameter 'init_scale' takes a number, not 'big'");
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
