// Pins that a replay of a run under its own scaler is that run, and that a replay of its float32 twin comes near it.
#include <ulp/train/closed_loop.hpp>

#include <array>
#include <cmath>
#include <ulp/formats/catalog.hpp>

#include "support/catch.hpp"

using namespace ulp;

namespace {

closed_loop_options loop_with(const char* name, std::vector<std::pair<std::string, parameter_value>> parameters) {
  return closed_loop_options{scenario{make_scaler(*find_scaler(name), parameters), {float16}}};
}

closed_loop_options usual() { return loop_with("pytorch_gradscaler", {{"growth_interval", 10.0}}); }

}  // namespace

TEST_CASE("self-replay is the run, step by step") {
  for (const network_kind kind : {network_kind::mlp, network_kind::transformer}) {
    CAPTURE(kind);
    closed_loop_options o = usual();
    o.training.network = kind;
    o.steps = 200;
    const closed_loop_result r = run_closed_loop(o);
    CHECK(r.identical == 200);
    CHECK_FALSE(r.first_difference);
    CHECK(r.closed.sum.skipped > 5);
    CHECK(r.closed.sum.skipped < 20);
  }
}

TEST_CASE("so it is under other scalers and in other formats") {
  for (const auto& [name, f] : {std::pair{"megatron_dynamic", float16},
                                {"deepspeed_dynamic", float16},
                                {"cerebras_dls", cbfloat16},
                                {"openseq2seq_logmax", float16}}) {
    CAPTURE(name);
    REQUIRE(find_scaler(name) != nullptr);
    closed_loop_options o = loop_with(name, {});
    o.policy.recipe.round_all({f});
    o.training.network = network_kind::mlp;
    o.steps = 60;
    CHECK(run_closed_loop(o).identical == 60);
  }
}

TEST_CASE("the open loop skips as often as the closed one, give or take") {
  std::vector<closed_loop_result> seeds;
  for (std::uint64_t seed = 11; seed <= 13; ++seed) {
    closed_loop_options o = usual();
    o.training.network = network_kind::mlp;
    o.training.seed = seed;
    o.steps = 200;
    seeds.push_back(run_closed_loop(o));
    CHECK(seeds.back().closed.sum.first_skip == seeds.back().open.sum.first_skip);
  }
  const skip_agreement a = agreement_of(seeds);
  CHECK(a.holds());
  CHECK(a.allowed >= 2);
  CHECK(a.closed.mean == Approx(a.open.mean).margin(2));
}

TEST_CASE("an optimizer of the catalogue goes under the scaler, and its twin stays float32") {
  closed_loop_options o = usual();
  o.training.network = network_kind::mlp;
  o.steps = 40;
  o.training.recipe = {.dialect = find_optimizer("bnb_cpu_default_adam32bit")};
  const closed_loop_result whole = run_closed_loop(o);
  o.training.recipe = {.dialect = find_optimizer("bnb_cpu_default_adam8bit"), .weights = bfloat16};
  const closed_loop_result narrow = run_closed_loop(o);
  CHECK(narrow.identical == 40);
  CHECK(narrow.closed.loss != whole.closed.loss);
  CHECK(narrow.open.loss == whole.open.loss);
}

TEST_CASE("with activation gradients recorded and checked the open loop comes nearer") {
  // At this scale those of attention overflow where no weight gradient does.
  closed_loop_options o = loop_with("static", {{"loss_scale", 0x1p18}});
  o.training.seed = 2;
  o.steps = 300;
  const closed_loop_result without = run_closed_loop(o);
  o.training.activation_grads = true;
  const closed_loop_result with = run_closed_loop(o);
  CHECK(with.identical == 300);
  CHECK(with.closed.sum.skipped == without.closed.sum.skipped);
  const auto apart = [](const closed_loop_result& r) {
    return std::fabs(static_cast<double>(r.open.sum.skipped) - static_cast<double>(r.closed.sum.skipped));
  };
  CHECK(apart(with) < apart(without));
}

TEST_CASE("at a small scale both loops underflow alike") {
  closed_loop_options o = loop_with("static", {{"loss_scale", 0x1p-12}});
  o.training.network = network_kind::mlp;
  o.steps = 40;
  const closed_loop_result r = run_closed_loop(o);
  CHECK(r.identical == 40);
  CHECK(r.closed.underflow_share().high > 0.01);
  CHECK(r.open.underflow_share().high == Approx(r.closed.underflow_share().high).epsilon(0.5));
}

TEST_CASE("who looks on sees every step of both, in order") {
  closed_loop_options o = usual();
  o.training.network = network_kind::mlp;
  o.steps = 3;
  std::vector<std::int64_t> closed;
  std::vector<std::int64_t> twin;
  int steps = 0;
  (void)run_closed_loop(o,
                        {.closed = [&](const trained_step& s, const auto&) { closed.push_back(s.recorded.key.step); },
                         .twin = [&](const trained_step& s, const auto&) { twin.push_back(s.recorded.key.step); },
                         .after_step = [&] { ++steps; }});
  CHECK(closed == std::vector<std::int64_t>{0, 1, 2});
  CHECK(twin == closed);
  CHECK(steps == 6);
}

TEST_CASE("spreads and what they allow") {
  CHECK(std::isnan(spread_of(std::array{3.0}).deviation));
  CHECK(spread_of(std::array{2.0, 4.0, 9.0}).mean == 5);
  CHECK(spread_of(std::array{2.0, 4.0, 9.0}).deviation == Approx(std::sqrt(13.0)));
  std::vector<closed_loop_result> seeds(2);
  seeds[0].closed.sum.skipped = 10;
  seeds[0].open.sum.skipped = 12;
  seeds[1].closed.sum.skipped = 10;
  seeds[1].open.sum.skipped = 7;
  seeds[1].seed = 5;
  CHECK(agreement_of(seeds).allowed == 2);
  CHECK(agreement_of(seeds).greatest_difference == 3);
  CHECK(agreement_of(seeds).seed_of_greatest == 5);
  CHECK(agreement_of(seeds).agreeing == 1);
  CHECK_FALSE(agreement_of(seeds).holds());
  seeds[1].closed.sum.skipped = 8;
  CHECK(agreement_of(seeds).allowed == Approx(3 * std::sqrt(2.0)));
  CHECK(agreement_of(seeds).holds());
}
