// Pins that the policy that is read off logged scales gives these scales, whichever policy made them, and that what no policy
// does is not called one.
#include <ulp/model/machines/fitted_scaler.hpp>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "support/catch.hpp"

using namespace ulp;

namespace {

using settings = std::vector<std::pair<std::string, parameter_value>>;

std::vector<scaled_step> run_of(scaler s, int steps, double share, std::uint32_t seed) {
  std::mt19937 draw(seed);
  std::vector<scaled_step> all;
  for (int i = 0; i < steps; ++i) {
    // Real runs overflow more at larger scales.
    const bool overflows = s.scale() > 0x1p20 || std::uniform_real_distribution<>()(draw) < share;
    all.push_back({s.scale(), overflows});
    if (!s.update({.found_inf = overflows}).error.empty()) break;
  }
  return all;
}

std::vector<double> scales_of(scaler s, const std::vector<scaled_step>& steps) {
  std::vector<double> all;
  for (const scaled_step& step : steps) {
    all.push_back(s.scale());
    s.update({.found_inf = step.found_inf.value_or(false)});
  }
  return all;
}

std::string value_of(const fitted_scaler& fit, const std::string& name) {
  for (const auto& [key, value] : fit.parameters)
    if (key == name) return to_string(value);
  return "";
}

}  // namespace

TEST_CASE("fitted scaler: the scales of every policy with a growth interval are given again") {
  int tried = 0;
  for (const scaler_entry& entry : scaler_catalog()) {
    if (entry.window.empty() || entry.scope != machine_scope::run) continue;
    for (const double window : {7.0, 50.0}) {
      settings with{{std::string{entry.window}, window}};
      const scaler made = make_scaler(entry, with);
      if (scaler copy = made; copy.update({.found_inf = true}).lacks_input) continue;
      const std::vector<scaled_step> run = run_of(made, 400, 0.02, 1);
      CAPTURE(entry.name, window);
      const auto fit = fit_scaler(run, std::vector{entry.name});
      if (run.size() < 400) continue;  // it raised
      REQUIRE(fit);
      const std::vector<double> again = scales_of(make_scaler(*find_scaler(fit->name), fit->parameters), run);
      for (std::size_t i = 0; i < run.size(); ++i) CHECK(std::abs(again[i] - run[i].scale) <= 1e-6 * run[i].scale);
      CHECK(fit_scaler(run));
      ++tried;
    }
  }
  CHECK(tried > 40);
}

TEST_CASE("fitted scaler: settings are those that the run had") {
  const auto run = [](const char* name, const settings& with, int steps, double share) {
    return run_of(make_scaler(*find_scaler(name), with), steps, share, 2);
  };
  const auto torch =
      fit_scaler(run("pytorch_gradscaler", {{"init_scale", 4096.0}, {"growth_interval", 20.0}}, 300, 0.02));
  REQUIRE(torch);
  CHECK(torch->name == "pytorch_gradscaler");
  CHECK(value_of(*torch, "init_scale") == "4096");
  CHECK(value_of(*torch, "growth_interval") == "20");
  CHECK(torch->has_grown);

  const auto usual = fit_scaler(run("pytorch_gradscaler", {}, 300, 0.02));
  REQUIRE(usual);
  CHECK(usual->parameters.empty());
  CHECK_FALSE(usual->has_grown);

  // A hysteresis of 2 is none of GradScaler's.
  const auto megatron =
      fit_scaler(run("megatron_dynamic", {{"growth_interval", 30.0}, {"hysteresis", 2.0}}, 400, 0.05));
  REQUIRE(megatron);
  CHECK(find_scaler(megatron->name)->name != "pytorch_gradscaler");

  const auto factor = fit_scaler(run(
      "pytorch_gradscaler", {{"growth_factor", 4.0}, {"backoff_factor", 0.25}, {"growth_interval", 25.0}}, 300, 0.02));
  REQUIRE(factor);
  CHECK(value_of(*factor, "growth_factor") == "4");
  CHECK(value_of(*factor, "backoff_factor") == "0.25");
}

TEST_CASE("fitted scaler: constants, short runs, and scales of no policy") {
  using steps = std::vector<scaled_step>;
  const auto constant = [](double scale, int n, int overflow_at) {
    steps all;
    for (int i = 0; i < n; ++i) all.push_back({scale, i == overflow_at});
    return all;
  };
  CHECK(fit_scaler(constant(1, 100, -1))->name == "none");
  CHECK(fit_scaler(constant(1024, 100, 50))->name == "static");
  CHECK(fit_scaler(constant(1024, 5000, -1))->name == "static");
  CHECK(fit_scaler(constant(1024, 100, -1))->name == "pytorch_gradscaler");
  CHECK_FALSE(fit_scaler({}));
  CHECK_FALSE(fit_scaler(constant(1024, 1, -1)));
  CHECK_FALSE(fit_scaler(steps{{1024, false}, {3000, false}, {700, true}, {1e5, false}, {2, false}}));
  CHECK_FALSE(fit_scaler(steps{{1024, false}, {not_known, false}, {1024, false}}));
  // Where overflows were not logged a scale that falls tells of one.
  CHECK(fit_scaler(steps{{1024, {}}, {512, {}}, {512, {}}, {256, {}}})->name == "pytorch_gradscaler");
}
