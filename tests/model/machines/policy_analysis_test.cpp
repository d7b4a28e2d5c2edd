// What is said of policies without a replay is compared with the policies themselves.
#include <ulp/model/machines/policy_analysis.hpp>

#include "support/catch.hpp"

#include <ulp/formats/catalog.hpp>
#include <ulp/model/machines/policy_probe.hpp>
#include <ulp/model/replay/trajectory_watch.hpp>

#include <cmath>
#include <limits>
#include <numbers>
#include <random>

#include "model/golden.hpp"

using namespace ulp;
using namespace ulp::test;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double a_nan = std::numeric_limits<double>::quiet_NaN();
constexpr double overflow_at = 65520;  // float16

// log2 of the largest gradient is normal with that mean and deviation: overflow at each power of two.
std::vector<scale_state> lognormal_states(double mean, double deviation) {
  std::vector<scale_state> states;
  for (int k = -60; k <= 60; ++k)
    states.push_back(
        {.scale = std::ldexp(1.0, k),
         .overflow_probability = std::erfc((std::log2(overflow_at) - k - mean) / deviation / std::numbers::sqrt2) / 2});
  return states;
}

std::vector<double> lognormal_maxima(double mean, double deviation, std::size_t steps) {
  std::mt19937_64 random(7);
  const auto uniform = [&] { return (static_cast<double>(random() >> 11) + 0.5) * 0x1p-53; };
  std::vector<double> maxima(steps);
  for (double& x : maxima)
    x = std::exp2(mean + deviation * std::sqrt(-2 * std::log(uniform())) * std::cos(2 * std::numbers::pi * uniform()));
  return maxima;
}

std::vector<double> criticals_of(const std::vector<double>& maxima) {
  std::vector<double> all;
  for (const double x : maxima) all.push_back(critical_scale_of(x, {float16}).largest_safe);
  return all;
}

// A trajectory of the scaler over step maxima, as a replay makes it.
std::vector<std::string> warnings_of(scaler s, const std::vector<double>& maxima, bool nan_is_recorded = false) {
  trajectory_watch watch(s);
  for (std::size_t i = 0; i < maxima.size(); ++i) {
    trajectory_row row;
    row.key.step = static_cast<std::int64_t>(i);
    row.scale_used = s.scale();
    row.found_inf = !(s.scale() * maxima[i] < overflow_at);
    row.recorded_nan = row.at_every_scale = nan_is_recorded && std::isnan(maxima[i]);
    const scaler_verdict verdict = s.update({.found_inf = row.found_inf, .max_abs = maxima[i]});
    row.skipped = verdict.skipped;
    row.error = verdict.error;
    row.scale_next = s.scale();
    watch.add(row);
    if (!row.error.empty()) break;
  }
  return watch.warnings();
}

bool says(const std::vector<std::string>& warnings, const std::string& part) {
  for (const std::string& w : warnings)
    if (w.find(part) != std::string::npos) return true;
  return false;
}

std::vector<double> constant(std::size_t steps, double max_abs) { return std::vector<double>(steps, max_abs); }

std::vector<double> with_burst(std::size_t steps, double max_abs, std::size_t at, std::size_t length, double burst) {
  std::vector<double> maxima(steps, max_abs);
  for (std::size_t i = at; i < at + length; ++i) maxima.at(i) = burst;
  return maxima;
}

}  // namespace

TEST_CASE("the closed form agrees with what GradScaler does") {
  const double mean = -3.3;
  // Published: 0.003793 and 16.232; simulated there 0.003792 and 16.230.
  const markov_prediction narrow = predict_markov(lognormal_states(mean, 1), 200);
  CHECK(narrow.skip_rate == Approx(0.003793).epsilon(0.001));
  CHECK(narrow.mean_log2_scale == Approx(16.232).margin(0.001));
  const markov_prediction wide = predict_markov(lognormal_states(mean, 2), 2000);
  CHECK(wide.skip_rate == Approx(0.000369).epsilon(0.005));
  CHECK(wide.mean_log2_scale == Approx(12.165).margin(0.001));

  constexpr std::size_t steps = 3'000'000;
  const std::vector<double> maxima = lognormal_maxima(mean, 1, steps);
  const auto simulated = [&](scaler s) {
    std::vector<double> scales(steps);
    const series_totals totals = s.run({.found_inf = {}, .max_abs = maxima, .threshold = overflow_at}, scales);
    double sum = 0;
    for (const double scale : scales) sum += std::log2(scale);
    return std::pair{static_cast<double>(totals.skipped) / steps, sum / steps};
  };
  const auto torch = simulated(made("pytorch", {{"growth_interval", 200.0}}));
  CHECK(torch.first == Approx(narrow.skip_rate).epsilon(0.02));
  CHECK(torch.second == Approx(narrow.mean_log2_scale).margin(0.02));
  // flax needs one good step more; the shares are counted here, not assumed.
  const markov_prediction counted = predict_markov(overflow_shares(criticals_of(maxima), 1, -10, 40), 201);
  const auto flax = simulated(made("flax", {{"growth_interval", 200.0}}));
  CHECK(flax.first == Approx(counted.skip_rate).epsilon(0.02));
  CHECK(flax.second == Approx(counted.mean_log2_scale).margin(0.02));
}

TEST_CASE("the closed form for a policy finds its period, floor and ceiling") {
  const std::vector<double> maxima = lognormal_maxima(-3.3, 1, 3000);
  const std::vector<double> critical = criticals_of(maxima);
  const auto same = [](const markov_prediction& a, const markov_prediction& b) {
    return a.skip_rate == Approx(b.skip_rate) && a.mean_log2_scale == Approx(b.mean_log2_scale);
  };
  const auto torch = predict_markov(made("pytorch", {{"growth_interval", 200.0}}), critical);
  REQUIRE(torch);
  CHECK(same(*torch, predict_markov(overflow_shares(critical, 1, 0, 40), 200)));
  // Cerebras never goes above 2^15, which hardly overflows here.
  const auto cerebras = predict_markov(made("cerebras_dls"), critical);
  REQUIRE(cerebras);
  CHECK(same(*cerebras, predict_markov(overflow_shares(critical, 1, -14, 15), 2001)));
  // NaN steps are no matter of the scale.
  std::vector<double> with_nan = critical;
  with_nan.insert(with_nan.end(), 500, 0);
  CHECK(same(*predict_markov(made("pytorch", {{"growth_interval", 200.0}}), with_nan), *torch));

  CHECK(doubling_period(made("pytorch")) == 2000);
  CHECK(doubling_period(made("flax")) == 2001);
  CHECK(doubling_period(made("fairseq")) == 2000);
  for (const std::string name :
       {"deepspeed", "mxnet", "chainer", "metaseq", "paddle_static", "static", "none", "popart"})
    CHECK_FALSE(doubling_period(made(name)));
  CHECK_FALSE(predict_markov(made("deepspeed"), critical));
  CHECK_FALSE(predict_markov(made("pytorch"), std::vector<double>{0, a_nan}));
}

TEST_CASE("floors and ceilings are found by running the policy") {
  CHECK(floor_of(made("pytorch")) == 0);
  CHECK(floor_of(made("megatron")) == 1);
  CHECK(floor_of(made("cerebras_dls")) == 0x1p-14);
  CHECK(floor_of(made("cerebras_dls", {{"raise_at_minimum", true}})) == 0);
  CHECK(ceiling_of(made("cerebras_dls")) == 32768);
  CHECK(ceiling_of(made("mxnet")) == 0x1p24);
  CHECK(ceiling_of(made("pytorch")) == std::ldexp(1.0, 127));
  CHECK_FALSE(ceiling_of(made("static")));
  CHECK(grows_back_within(made("pytorch"), 2000));
  CHECK_FALSE(grows_back_within(made("pytorch"), 1999));
}

TEST_CASE("the closed form at its ends") {
  // One scale overflows always, the one below never: N good steps, one skip.
  const markov_prediction sharp = predict_markov(
      std::vector<scale_state>{{.scale = 1}, {.scale = 2}, {.scale = 4, .overflow_probability = 1}}, 2000);
  CHECK(sharp.skip_rate == Approx(1.0 / 2001));
  CHECK(sharp.mean_log2_scale == Approx(1 + 1.0 / 2001));
  const std::vector<double> shares = sharp.time_share;
  CHECK(shares.at(0) == 0);
  CHECK(shares.at(1) + shares.at(2) == Approx(1));
  // A floor that overflows always.
  const markov_prediction stuck = predict_markov(
      std::vector<scale_state>{{.scale = 1, .overflow_probability = 1}, {.scale = 2, .overflow_probability = 1}}, 10);
  CHECK(stuck.skip_rate == 1);
  CHECK(stuck.mean_log2_scale == 0);
  // Never an overflow: at the ceiling.
  const markov_prediction calm = predict_markov(std::vector<scale_state>{{.scale = 1}, {.scale = 2}}, 10);
  CHECK(calm.skip_rate == 0);
  CHECK(calm.mean_log2_scale == 1);
  CHECK(predict_markov({}, 10).skip_rate == 0);
}

TEST_CASE("shares of overflow count NaN at every scale") {
  const std::vector<double> maxima{1, 2, a_nan, 40000};
  const auto states = overflow_shares(criticals_of(maxima), 1, 0, 16);
  CHECK(states.size() == 17);
  CHECK(states.front().overflow_probability == 0.25);
  CHECK(states.at(1).overflow_probability == 0.5);
  CHECK(states.at(15).overflow_probability == 0.75);
  CHECK(states.at(16).overflow_probability == 1);
}

TEST_CASE("critical scales are neighbours, and exact") {
  std::mt19937_64 random(11);
  for (int i = 0; i < 2000; ++i) {
    const double x =
        std::ldexp(1 + static_cast<double>(random() >> 12) * 0x1p-52, static_cast<int>(random() % 80) - 60);
    const critical_scale c = critical_scale_of(x, {float16});
    CHECK(c.smallest_overflowing == std::nextafter(c.largest_safe, infinity));
    // 80-bit products hold 64 bits: enough to see on which side of 65520 a product of two doubles lies.
    const auto product = [&](double scale) { return static_cast<long double>(scale) * static_cast<long double>(x); };
    CHECK(product(c.smallest_overflowing) >= 65520);
    CHECK(product(c.largest_safe) < 65520);
  }
  CHECK(critical_scale_of(2, {float16}).smallest_overflowing == 32760);
  CHECK(critical_scale_of(1, {cbfloat16}).smallest_overflowing == 0x1p32 * (1 - 0x1p-11));
  CHECK(critical_scale_of(1, {float16, {.direction = direction::toward_zero}}).smallest_overflowing == infinity);
  CHECK(critical_scale_of(1, {float16, {.overflow = overflow_mode::saturate}}).largest_safe == infinity);
  CHECK(critical_scale_of(0, {float16}).largest_safe == infinity);
  CHECK(critical_scale_of(a_nan, {float16}).smallest_overflowing == 0);
  CHECK(critical_scale_of(infinity, {float16}).largest_safe == 0);
  const critical_scale drawn = critical_scale_of(1, {float16, {.direction = direction::stochastic}});
  CHECK(drawn.largest_safe == 65504);
  CHECK(drawn.smallest_overflowing == 65536);
  const critical_scale eight = critical_scale_of(1, {float8_e4m3fn, {.direction = direction::stochastic}});
  CHECK(eight.largest_safe == 448);
  CHECK(eight.smallest_overflowing == 480);
}

TEST_CASE("recovery takes as long as the policy itself needs") {
  const burst_recovery torch = recovery_after(made("pytorch"), 3);
  CHECK(torch.scale_before == 65536);
  CHECK(torch.scale_after == 8192);
  CHECK(torch.steps == 6000);
  CHECK(recovery_after(made("flax"), 3).steps == 6003);
  CHECK(recovery_after(made("cerebras_dls"), 2).steps == 4002);
  const burst_recovery late = recovery_after(made("mxnet"), 1);
  CHECK(late.scale_after == 65536);
  CHECK(late.least_scale == 32768);
  CHECK(late.steps == 2001);  // grows in step 2000, used from the next one
  CHECK(recovery_after(made("openseq2seq_logmax"), 0, 100, {.max_abs = 1}).steps == 0);
  CHECK(recovery_after(made("static"), 5).steps == 0);
  CHECK_FALSE(recovery_after(made("pytorch"), 200, 100'000).steps.has_value());  // 0 for ever
  CHECK(recovery_after(made("cerebras_dls", {{"raise_at_minimum", true}}), 40).error.find("Appliance") == 0);
}

TEST_CASE("literals of the Cerebras documentation are pointed out") {
  const auto notes = parameter_notes(made("cerebras_dls", {{"max_loss_scale", 2e15}, {"init_scale", 2e15}}));
  CHECK(notes.size() == 2);
  CHECK(says(notes, "max_loss_scale=2e15: the documentation means 2^15 = 32768"));
  CHECK(says(notes, "1999999973982208"));
  CHECK(says(parameter_notes(made("cerebras_gpu", {{"min_loss_scale", 2e-14}})), "2^-14"));
  CHECK(says(parameter_notes(made("cerebras_gpu", {{"max_loss_scale", 32768.0}})), "ignored"));
  CHECK(parameter_notes(made("cerebras_dls", {{"max_loss_scale", 32768.0}})).empty());
  CHECK(parameter_notes(made("pytorch", {{"init_scale", 2e15}})).empty());
}

TEST_CASE("a scale that reached 0, or nearly, is said never to come back") {
  const auto zero = warnings_of(made("pytorch"), with_burst(400, 0.1, 10, 200, a_nan));
  CHECK(says(zero, "from step 175 on the scale is 0 and never recovers"));
  CHECK(says(zero, "scaling cannot help"));
  const auto tiny = warnings_of(made("pytorch"), with_burst(400, 0.1, 10, 150, a_nan));
  CHECK(says(tiny, "the scale is as low as 2^-134"));
  CHECK_FALSE(says(tiny, "is 0"));
}

TEST_CASE("NaN is told from overflow where it was recorded, and guessed where not") {
  const auto known = warnings_of(made("pytorch"), with_burst(3000, 0.1, 10, 40, a_nan), true);
  CHECK(says(known, "40 steps in a row are skipped because their gradients hold NaN (steps 10 to 49)"));
  CHECK_FALSE(says(known, "at every scale"));
  CHECK_FALSE(says(known, "below one"));
  const auto guessed = warnings_of(made("pytorch"), with_burst(3000, 0.1, 10, 40, a_nan));
  CHECK(says(guessed, "40 steps in a row overflow at every scale from 2^16 down to 2^-23 (steps 10 to 49)"));
  CHECK_FALSE(says(guessed, "hold NaN"));
  // A long way down from a high start is a search, not a storm.
  CHECK(warnings_of(made("pytorch", {{"init_scale", 0x1p33}, {"growth_interval", 20.0}}), constant(90, 0.1)).empty());
}

TEST_CASE("overflow at scales below one points at the forward pass") {
  const auto w = warnings_of(made("pytorch", {{"growth_interval", 20.0}}), with_burst(90, 0.1, 5, 20, 1e9));
  CHECK(says(w, "overflow at a scale below one in 3 steps, first at step 22"));
  // What was infinite at the scale it was recorded at need not be at a lower one.
  for (const bool certain : {true, false}) {
    trajectory_row row;
    row.scale_used = row.scale_next = 0.5;
    row.found_inf = row.skipped = true;
    row.found_inf_certain = certain;
    trajectory_watch watch(made("static", {{"loss_scale", 0.5}}));
    watch.add(row);
    CHECK(says(watch.warnings(), "overflow at a scale below one") == certain);
  }
}

TEST_CASE("a policy at its floor and one at its ceiling") {
  const auto floor = warnings_of(made("tf_keras"), with_burst(3000, 0.1, 10, 20, 1e9));
  CHECK(says(floor, "pinned at the floor: overflow in 5 steps at 1, the least scale of the policy, first at step 25"));
  const auto waiting = warnings_of(made("tf_keras"), with_burst(3000, 0.1, 10, 16, 1e9));
  CHECK(says(waiting, "pinned at the floor: 2001 steps of 3000"));
  const auto ceiling = warnings_of(made("cerebras_dls"), constant(3000, 0.1));
  CHECK(says(ceiling, "rides at the ceiling: 3000 steps of 3000 are at 2^15"));
  CHECK_FALSE(says(warnings_of(made("pytorch"), constant(3000, 0.1)), "ceiling"));
  CHECK_FALSE(says(warnings_of(made("static", {{"loss_scale", 1024.0}}), constant(3000, 0.1)), "ceiling"));
}

TEST_CASE("a scale that does not grow back is told so where it falls, and has no ceiling") {
  for (const double interval : {0.0, -5.0, 2e6}) {
    const scaler stuck = made("pytorch", {{"growth_interval", interval}});
    const auto falling = warnings_of(stuck, with_burst(3000, 0.1, 10, 2, 1e9));
    CHECK(says(falling, "the scale does not grow back"));
    CHECK_FALSE(says(falling, "ceiling"));
    CHECK_FALSE(says(falling, "too short"));
    CHECK(warnings_of(stuck, constant(3000, 0.1)).empty());
  }
  CHECK_FALSE(says(warnings_of(made("pytorch"), with_burst(3000, 0.1, 10, 2, 1e9)), "grow back:"));
}

TEST_CASE("a run shorter than the growth interval can only fall") {
  CHECK(says(warnings_of(made("pytorch"), with_burst(500, 0.1, 10, 1, 1e3)),
             "500 good steps in a row would not make the scale grow back"));
  CHECK(warnings_of(made("pytorch"), constant(500, 0.1)).empty());  // it did not fall
  CHECK_FALSE(says(warnings_of(made("pytorch"), constant(2000, 0.1)), "too short"));
  CHECK_FALSE(says(warnings_of(made("static"), constant(500, 0.1)), "too short"));
  CHECK_FALSE(says(warnings_of(made("chainer"), constant(500, 0.1)), "too short"));
  CHECK_FALSE(says(warnings_of(made("mxnet"), constant(2001, 0.1)), "too short"));
  // A run that its policy ended is not short for that.
  CHECK(warnings_of(made("cerebras_dls", {{"raise_at_minimum", true}}), constant(100, 1e12)).size() == 1);
}

TEST_CASE("a calm run has no warnings, for every policy") {
  for (const scaler_entry& entry : scaler_catalog()) {
    CAPTURE(entry.name);
    trajectory_watch watch(make_scaler(entry, {}));
    CHECK(watch.warnings().empty());
  }
}
