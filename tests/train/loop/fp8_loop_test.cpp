// Pins that a replay of a training under FP8 scales is that training, and that a replay of its float32 twin comes near it.
#include <ulp/train/fp8_loop.hpp>

#include <algorithm>
#include <cmath>
#include <set>
#include <stdexcept>
#include <ulp/model/replay/fp8_replay.hpp>

#include "support/catch.hpp"

using namespace ulp;

namespace {

fp8_loop_options loop_under(const char* recipe, std::int64_t steps,
                            const std::vector<std::pair<std::string, parameter_value>>& parameters = {}) {
  return {.training = {.network = network_kind::mlp},
          .recipe = fp8_recipe_named(recipe, parameters),
          .steps = steps,
          .judged = std::max<std::int64_t>(steps / 10, 1)};
}

}  // namespace

TEST_CASE("self-replay gives the scales of the training bit for bit, and counts that hold its own") {
  for (const char* const recipe : {"te_delayed:hybrid", "te_delayed:e4m3", "te_delayed:e5m2", "te_current:hybrid",
                                   "torchao_tensorwise", "flax", "keras", "msamp"}) {
    CAPTURE(recipe);
    const fp8_loop_result r = run_fp8_loop(loop_under(recipe, 25));
    CHECK(r.replayed == 25 * 9);  // three layers: input, weight, gradient of the output
    CHECK(r.identical == r.replayed);
    CHECK_FALSE(r.first_difference);
    CHECK(r.exact <= r.replayed);
    CHECK(r.loss < 4);
  }
}

TEST_CASE("so it is in a transformer whose history is short, with values that saturate and vanish") {
  fp8_loop_options o = loop_under("te_delayed:hybrid", 60, {{"amax_history_len", 4.0}});
  o.training.network = network_kind::transformer;
  const fp8_loop_result r = run_fp8_loop(o);
  CHECK(r.replayed == 60 * 27);
  CHECK(r.identical == r.replayed);
  CHECK(r.kinds.at(tensor_kind::activation).closed.saturating > 20);
  CHECK(r.kinds.at(tensor_kind::activation_grad).closed.underflow.low > 0);
}

TEST_CASE("so it is in trainings that diverge to infinity and NaN") {
  for (const char* const recipe : {"te_delayed:hybrid", "te_current:hybrid", "torchao_tensorwise", "keras"}) {
    CAPTURE(recipe);
    fp8_loop_options o = loop_under(recipe, 20);
    o.training.optimizer = optimizer_kind::sgd;
    o.training.learning_rate = 1e30;
    const fp8_loop_result r = run_fp8_loop(o);
    CHECK(std::isinf(r.loss));
    CHECK(r.identical == 20 * 9);
  }
}

TEST_CASE("every step of the training counts: one that is left out changes what the replay says") {
  const fp8_loop_options o = loop_under("te_delayed:hybrid", 30, {{"amax_history_len", 4.0}});
  fp8_replayer whole(o.recipe, {});
  fp8_replayer without(o.recipe, {});
  std::size_t different = 0;
  (void)run_fp8_loop(o, {.closed = [&](const trained_step& now, const std::vector<tensor_info>& tensors) {
                       const auto rows = whole.advance(now.recorded, tensors);
                       if (now.recorded.key.step == 3) return;
                       const auto others = without.advance(now.recorded, tensors);
                       for (std::size_t i = 0; i < rows.size(); ++i)
                         different += rows[i].scales.used == others[i].scales.used ? 0 : 1;
                     }});
  CHECK(different > 0);
}

TEST_CASE("the open loop foresees scales, saturation and underflow of the closed one, more or less") {
  fp8_loop_options o = loop_under("te_delayed:hybrid", 120, {{"amax_history_len", 8.0}});
  fp8_loop_result r = run_fp8_loop(o);
  CHECK(r.loss == Approx(r.float32_loss).margin(0.05));
  CHECK(r.loss != r.float32_loss);
  for (auto& [kind, of] : r.kinds) {
    CAPTURE(static_cast<int>(kind));
    CHECK(of.steps == 360);
    REQUIRE(of.binades_apart.size() == 360);
    std::ranges::sort(of.binades_apart);
    CHECK(of.binades_apart.front() == 0);  // the first step
    CHECK(of.binades_apart[180] < 0.2);
    CHECK(of.binades_apart[180] > 0);
    CHECK(static_cast<double>(of.open.saturating) == Approx(static_cast<double>(of.closed.saturating)).margin(30));
    CHECK(of.open.underflow_share().low <= of.closed.underflow_share().high * 1.2 + 1e-4);
    CHECK(of.open.underflow_share().high * 1.2 + 1e-4 >= of.closed.underflow_share().low);
  }
}

TEST_CASE("both trainings are recorded: weights, inputs and gradients of outputs, of every linear layer") {
  std::set<std::string> names;
  std::size_t steps = 0;
  std::size_t differ = 0;
  step closed;
  (void)run_fp8_loop(loop_under("te_current:hybrid", 3),
                     {.closed =
                          [&](const trained_step& now, const std::vector<tensor_info>& tensors) {
                            for (const tensor_info& t : tensors) names.insert(t.name);
                            closed = now.recorded;
                          },
                      .twin =
                          [&](const trained_step& now, const std::vector<tensor_info>& tensors) {
                            CHECK(tensors.size() == 9);
                            for (std::size_t i = 0; i < now.recorded.tensors.size(); ++i)
                              differ += now.recorded.tensors[i].table == closed.tensors[i].table ? 0 : 1;
                            if (now.recorded.key.step == 0) CHECK(differ == 5);  // not the weights, and the first input
                          },
                      .after_step = [&] { ++steps; }});
  CHECK(steps == 6);
  CHECK(names == std::set<std::string>{"head.input", "head.output", "head.weight", "hidden.input", "hidden.output",
                                       "hidden.weight", "narrow.input", "narrow.output", "narrow.weight"});
}

TEST_CASE("several micro-batches, and judged steps that are not there, are refused") {
  fp8_loop_options o = loop_under("te_current:hybrid", 3);
  o.training.microbatches = 2;
  CHECK_THROWS_AS(run_fp8_loop(o), std::invalid_argument);
  o.training.microbatches = 1;
  o.judged = 4;
  CHECK_THROWS_AS(run_fp8_loop(o), std::invalid_argument);
}
