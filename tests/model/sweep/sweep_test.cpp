// Pins sweep.hpp to replayer, scenario by scenario: over a synthetic run of cell tables with NaNs, infinities, empty steps
// and two factors, over step logs, and over logs by layer; and the Pareto front.
#include <ulp/model/sweep/sweep.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>

#include <ulp/formats/catalog.hpp>
#include <ulp/model/cells/cell_counter.hpp>

#include "support/catch.hpp"

using namespace ulp;

namespace {

scenario scenario_of(const std::string& scaler, const ulp::format& f, const rounding& mode,
                     const std::vector<std::pair<std::string, parameter_value>>& parameters = {}) {
  scenario s{make_scaler(*find_scaler(scaler), parameters), {f, mode}};
  return s;
}

std::vector<scenario> scenarios() {
  std::vector<scenario> all;
  for (const ulp::format& f : {float16, bfloat16, float8_e4m3fn, float4_e2m1, dlfloat16})
    for (const direction d : {direction::nearest_even, direction::toward_zero, direction::toward_positive})
      for (const flush how : {flush::never, flush::before_rounding})
        for (const double interval : {3.0, 50.0})
          all.push_back(scenario_of("pytorch_gradscaler", f, {.direction = d, .flush = how},
                                    {{"growth_interval", interval}, {"init_scale", 256.0}}));
  all.push_back(scenario_of("pytorch_gradscaler", float16, {.direction = direction::stochastic}));
  all.push_back(scenario_of("pytorch_gradscaler", float16, {.overflow = overflow_mode::saturate}));
  all.push_back(scenario_of("cerebras_dls", cbfloat16, {}, {{"fp16_type", std::string{"cbfloat16"}}}));
  all.push_back(scenario_of("tf_keras_dynamic", float16, {}, {{"growth_steps", 2.0}}));
  all.push_back(scenario_of("static", float16, {}, {{"loss_scale", 1000.0}}));
  all.push_back(scenario_of("pytorch_gradscaler", binary64, {}));
  all.push_back(scenario_of("pytorch_gradscaler", float16,
                            {.direction = direction::toward_positive, .overflow = overflow_mode::saturate}));
  // Its scale becomes infinite.
  for (const ulp::format& f : {float16, float4_e2m1})
    all.push_back(scenario_of("pytorch_gradscaler_preguard", f, {},
                              {{"growth_interval", 1.0}, {"growth_factor", 1024.0}, {"backoff_factor", 0.999}}));
  return all;
}

// Compares everything that both tell.
void compare(const std::vector<scenario>& all, const std::vector<step>& run, const std::vector<tensor_info>& tensors,
             bool exact_counts) {
  sweep together(all);
  for (const step& s : run) together.add(s, tensors);
  int told = 0;
  const auto results = together.results([&] { ++told; });
  REQUIRE(results.size() == all.size());
  CHECK(told == static_cast<int>(all.size()));
  for (std::size_t i = 0; i < all.size(); ++i) {
    replayer alone(all[i]);
    trajectory_summary sum;
    for (const step& s : run) {
      sum.add(alone.advance(s, tensors));
      if (!sum.error.empty()) break;
    }
    const sweep_result& r = results[i];
    INFO(i << ' ' << all[i].recipe.machine().entry().name);
    CHECK(r.steps == sum.steps);
    CHECK(r.skipped == sum.skipped);
    CHECK(r.last_scale == sum.last_scale);
    CHECK(r.least_scale == sum.least_scale);
    CHECK(r.greatest_scale == sum.greatest_scale);
    if (std::isfinite(r.mean_log2_scale))
      CHECK(r.mean_log2_scale == Approx(sum.mean_log2_scale()));
    else
      CHECK(!std::isfinite(sum.mean_log2_scale()));
    CHECK(r.has_counts == sum.has_counts);
    CHECK(r.nonzero == sum.counts.numel - sum.counts.zero - sum.counts.nonfinite);
    // Counts at a scale that is no power of two, and of a format whose edge cuts cells, come as a wider range.
    const double first = all[i].recipe.machine().scale();
    const bool power = std::ldexp(1.0, std::ilogb(first)) == first;
    if (exact_counts && power && all[i].recipe.usual().format.has_subnormals()) {
      CHECK(r.underflow.low == sum.counts.underflow.low);
      CHECK(r.underflow.high == sum.counts.underflow.high);
    } else {
      CHECK(r.underflow.low <= sum.counts.underflow.low);
      CHECK(r.underflow.high >= sum.counts.underflow.high);
    }
  }
}

std::vector<step> synthetic_run(const std::vector<double>& factors, std::size_t tensors) {
  std::mt19937 random(5);
  std::normal_distribution<double> spread(0, 1);
  std::vector<step> run;
  for (std::int64_t i = 0; i < 120; ++i) {
    step s;
    s.key.step = i;
    for (std::uint32_t t = 0; t < tensors; ++t) {
      std::vector<float> values;
      for (int k = 0; k < 60; ++k)
        values.push_back(static_cast<float>(spread(random) * std::exp2(4 * spread(random) - 12)));
      values.push_back(0);
      if (i % 37 == 5 && t == 1) values.push_back(std::numeric_limits<float>::quiet_NaN());
      if (i % 41 == 7 && t == 0) values.push_back(-std::numeric_limits<float>::infinity());
      if (i % 29 == 3) values = {0, 0};
      const double factor = factors[(static_cast<std::size_t>(i) + t) % factors.size()];
      s.tensors.push_back({t, dtype::float32, factor, count_cells(values)});
    }
    if (i == 60) s.tensors.clear();
    run.push_back(std::move(s));
  }
  return run;
}

std::vector<tensor_info> three_tensors() {
  std::vector<tensor_info> tensors(3);
  for (std::size_t i = 0; i < 3; ++i) {
    tensors[i].name = "t" + std::to_string(i);
    tensors[i].kind = i == 2 ? tensor_kind::activation_grad : tensor_kind::weight_grad;
  }
  return tensors;
}

}  // namespace

TEST_CASE("a sweep gives what each replay gives") {
  compare(scenarios(), synthetic_run({1}, 3), three_tensors(), true);
  compare(scenarios(), synthetic_run({1, 1024}, 3), three_tensors(), true);
}

// Policies follow 4096 steps at a time.
TEST_CASE("a sweep of many steps gives what each replay gives") {
  const std::vector<step> part = synthetic_run({1}, 3);
  std::vector<step> run;
  while (run.size() < 9000) {
    run.insert(run.end(), part.begin(), part.end());
    for (std::size_t i = run.size() - part.size(); i < run.size(); ++i)
      run[i].key.step = static_cast<std::int64_t>(2 * i);
  }
  std::vector<scenario> all{scenario_of("pytorch_gradscaler", float16, {}, {{"growth_interval", 7.0}}),
                            scenario_of("megatron_dynamic", float16, {}),
                            scenario_of("static", float16, {}, {{"loss_scale", 4.0}}),
                            scenario_of("pytorch_gradscaler", float16, {.direction = direction::toward_positive}),
                            // Raises after so many steps.
                            scenario_of("deepspeed_dynamic", float16, {}, {{"raise_error_at_min_scale", true}})};
  compare(all, run, three_tensors(), true);

  sweep together(all, 1);
  std::vector<replayer> alone;
  for (const scenario& s : all) alone.emplace_back(s);
  std::vector<bool> raised(all.size());
  std::vector<std::int64_t> lost;
  for (const step& s : run) {
    together.add(s, three_tensors());
    bool by_all = std::ranges::any_of(s.tensors, [](const tensor_row& t) { return t.table.nonfinite() > 0; });
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (raised[i]) continue;
      const trajectory_row row = alone[i].advance(s, three_tensors());
      by_all = by_all && (row.skipped || row.poisoned);
      raised[i] = !row.error.empty();
    }
    if (by_all) lost.push_back(s.key.step);
  }
  const auto results = together.results();
  CHECK(together.steps_lost_to_all() == lost);
  REQUIRE(lost.size() > 300);
  CHECK(lost.back() > 2 * 8192);
  CHECK(raised == std::vector<bool>{false, false, false, false, true});
  CHECK(together.step_number(5000) == 10000);
  const auto again = together.results();
  REQUIRE(results[0].regret);
  REQUIRE(again[0].regret);
  CHECK(again[0].skipped == results[0].skipped);
  CHECK(again[0].regret->cost == results[0].regret->cost);
  CHECK(results[0].regret->regret() >= 0);
}

TEST_CASE("factors that are no powers of two widen the counts and leave the rest") {
  compare(scenarios(), synthetic_run({3, 1}, 3), three_tensors(), false);
}

TEST_CASE("what was logged of a step that has tensors decides nothing") {
  std::vector<step> run = synthetic_run({1}, 3);
  for (step& s : run)
    if (!s.tensors.empty()) s.scalars.found_inf = true;
  run.resize(60);  // all that may have happened is followed
  compare(scenarios(), run, three_tensors(), true);
}

TEST_CASE("step logs") {
  std::vector<step> run;
  std::mt19937 random(6);
  for (std::int64_t i = 0; i < 400; ++i) {
    step s;
    s.key.step = i;
    if (i % 2 == 0)
      s.scalars.found_inf = random() % 20 == 0;
    else
      s.max_abs = i % 51 == 0   ? std::numeric_limits<double>::quiet_NaN()
                  : i % 73 == 0 ? std::numeric_limits<double>::infinity()
                  : i % 91 == 0 ? 0.0
                                : std::exp2(static_cast<double>(random() % 4000) / 100 - 25);
    run.push_back(s);
  }
  compare(scenarios(), run, {}, true);
}

TEST_CASE("a scale that is NaN overflows whatever the format has NaN for, saturating or not") {
  std::vector<scenario> all;
  for (const ulp::format& f : {float16, float8_e4m3fn, float4_e2m1})
    for (const overflow_mode overflow : {overflow_mode::ieee, overflow_mode::saturate})
      for (const direction d : {direction::nearest_even, direction::toward_zero}) {
        scaler without_number = make_scaler(*find_scaler("pytorch_gradscaler"));
        without_number.set_state("scale", std::numeric_limits<double>::quiet_NaN());
        all.emplace_back(std::move(without_number), treatment{f, {.direction = d, .overflow = overflow}});
      }
  std::vector<step> log(4);
  for (std::size_t i = 0; i < log.size(); ++i) log[i].key.step = static_cast<std::int64_t>(i);
  log[1].max_abs = 1;
  log[2].scalars.found_inf = true;
  log[3].bounds = max_abs_bounds{.low = 1};
  const auto skipped = [](const scenario& s, const std::vector<step>& run, const std::vector<tensor_info>& tensors) {
    sweep one({s});
    replayer alone(s);
    std::uint64_t found = 0;
    for (const step& now : run) {
      one.add(now, tensors);
      found += alone.advance(now, tensors).found_inf ? 1 : 0;
    }
    CHECK(one.results().front().skipped == found);
    return found;
  };
  for (const scenario& s : all) {
    CHECK(skipped(s, log, {}) == (s.recipe.usual().format.has_nan() ? 3 : 1));
    CHECK((skipped(s, synthetic_run({1}, 3), three_tensors()) > 100) == s.recipe.usual().format.has_nan());
  }
}

TEST_CASE("logs that bound the largest gradient") {
  std::vector<step> run;
  std::mt19937 random(8);
  for (std::int64_t i = 0; i < 60; ++i) {
    step s;
    s.key.step = i;
    const double edge = 65520 / std::exp2(static_cast<double>(random() % 20));
    s.scalars.found_inf = random() % 10 == 0;
    s.bounds = *s.scalars.found_inf ? max_abs_bounds{.low = edge} : max_abs_bounds{.high = edge};
    s.bounds->certain = random() % 4 != 0;
    run.push_back(s);
  }
  compare(scenarios(), run, {}, true);
}

TEST_CASE("logs by layer") {
  std::vector<step> run;
  std::mt19937 random(7);
  for (std::int64_t i = 0; i < 200; ++i) {
    step s;
    s.key.step = i;
    s.layers.push_back({"a", random() % 20 == 0, std::nullopt});
    s.layers.push_back({"b", std::nullopt, std::exp2(static_cast<double>(random() % 2000) / 100 - 12)});
    run.push_back(s);
  }
  compare(scenarios(), run, {}, true);
}

TEST_CASE("what replays step by step says why") {
  const auto why = [](const scenario& s) {
    const std::vector<float> values{1, 2};
    step now;
    now.tensors.push_back({0, dtype::float32, 1, count_cells(values)});
    sweep one({s}, 1);
    one.add(now, three_tensors());
    return one.results().front().why_no_regret;
  };
  scenario clipped = scenario_of("pytorch_gradscaler", float16, {});
  clipped.clip_value = value_clipping{.max_value = 1};
  CHECK(why(clipped).empty());
  clipped.order = {.clip_before_check = true};
  CHECK(why(clipped) == "values are clipped before the overflow check");
  CHECK(why(scenario_of("pytorch_gradscaler", float16, {.daz = true})) == "inputs are flushed (DAZ)");
}

TEST_CASE("the Pareto front") {
  std::vector<sweep_result> results(4);
  const auto set = [&](std::size_t i, std::uint64_t skipped, std::uint64_t underflow) {
    results[i].steps = 100;
    results[i].skipped = skipped;
    results[i].underflow = {underflow, underflow};
    results[i].nonzero = 1000;
  };
  set(0, 5, 10);
  set(1, 6, 10);  // beaten by 0
  set(2, 9, 2);
  set(3, 5, 10);  // as good as 0
  CHECK(pareto_front(results, 100) == std::vector<bool>{true, false, true, true});
  results[0].error = "raised";
  results[0].steps = 50;  // 50 lost
  CHECK(pareto_front(results, 100) == std::vector<bool>{false, false, true, true});
}
