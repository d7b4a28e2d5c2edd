// Pins that a training takes an optimizer of the catalogue, and that the open loop of optimizers names the mode that trains
// worst, and its layers.
#include <ulp/train/optimizer_loop.hpp>

#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include <ulp/formats/convert.hpp>

#include "support/catch.hpp"

using namespace ulp;

namespace {

optimizer_recipe recipe_of(const char* dialect, const format& weights = float32,
                           weight_rounding rounding = weight_rounding::own) {
  return {.dialect = find_optimizer(dialect), .parameters = {}, .weights = weights, .rounding = rounding};
}

class counting_sites final : public rounding_hook {
 public:
  void round(const site& at, std::span<float> /*values*/) override { ++seen[at.kind][std::string{at.tensor}]; }
  std::map<site_kind, std::map<std::string, int>> seen;
};

optimizer_loop_options short_loop(std::vector<optimizer_recipe> modes) {
  optimizer_loop_options o;
  o.training.network = network_kind::mlp;
  o.modes = std::move(modes);
  o.steps = 120;
  o.judged = 12;
  return o;
}

}  // namespace

TEST_CASE("weights without a master copy are numbers of their format from the first step on") {
  no_rounding hook;
  training t({.network = network_kind::mlp, .recipe = recipe_of("torch_adam", bfloat16)}, hook, std::nullopt);
  const auto is_bfloat16 = [&](std::size_t tensor) {
    const std::span<const float> w = t.weights(tensor);
    std::vector<float> rounded(w.begin(), w.end());
    round_array(bfloat16, rounded);
    return std::equal(w.begin(), w.end(), rounded.begin());
  };
  const std::size_t tensors = t.tensors().size();
  for (std::size_t i = 0; i < tensors; ++i) CHECK(is_bfloat16(i));
  const std::vector<float> before(t.weights(0).begin(), t.weights(0).end());
  for (int i = 0; i < 5; ++i) CHECK(std::isfinite(t.advance().recorded.scalars.loss));
  for (std::size_t i = 0; i < tensors; ++i) CHECK(is_bfloat16(i));
  CHECK(!std::equal(before.begin(), before.end(), t.weights(0).begin()));
}

TEST_CASE("states, updates and weights of a dialect pass the hook") {
  counting_sites hook;
  training t({.network = network_kind::mlp, .recipe = recipe_of("bnb_cpu_default_adam8bit")}, hook, std::nullopt);
  static_cast<void>(t.advance());
  for (const tensor_info& info : t.tensors()) {
    CAPTURE(info.name);
    CHECK(hook.seen[site_kind::optimizer_state][info.name + "/exp_avg"] == 1);
    CHECK(hook.seen[site_kind::optimizer_state][info.name + "/exp_avg_sq"] == 1);
    CHECK(hook.seen[site_kind::update][info.name] == 1);
    CHECK(hook.seen[site_kind::master_weight][info.name] == 1);
  }
}

TEST_CASE("PyTorch's Adam of the catalogue trains as the training's own, up to rounding") {
  no_rounding hook;
  training own({.network = network_kind::mlp}, hook, std::nullopt);
  training dialect({.network = network_kind::mlp, .recipe = recipe_of("torch_adam")}, hook, std::nullopt);
  for (int i = 0; i < 30; ++i) {
    const double a = own.advance().recorded.scalars.loss;
    const double b = dialect.advance().recorded.scalars.loss;
    CHECK(std::fabs(a - b) < 1e-4);
  }
}

TEST_CASE("the learning rate is the training's, else the recipe's") {
  training_options o{.recipe = recipe_of("torch_adam")};
  CHECK(o.rate() == 0.003);
  o.recipe->parameters = {{"lr", 0.25}};
  CHECK(o.rate() == 0.25);
  o.learning_rate = 0.5;
  CHECK(o.rate() == 0.5);
  no_rounding hook;
  CHECK(training(o, hook, std::nullopt).advance().recorded.scalars.learning_rate == 0.5);
  CHECK_THROWS_AS(training({.recipe = recipe_of("xla_zero1_master_fp32acc", bfloat16)}, hook, std::nullopt),
                  std::invalid_argument);
}

TEST_CASE("what rounds nothing does no harm at all") {
  optimizer_loop_options o = short_loop({recipe_of("torch_adam"), recipe_of("torch_adamw")});
  o.modes[1].parameters = {{"weight_decay", 0.25}};
  o.passes = float32;
  o.steps = 20;
  o.judged = 2;
  const optimizer_loop_result r = run_optimizer_loop(o);
  for (const mode_harm& m : r.modes) {
    CHECK(m.harm == 0);
    CHECK(m.open().relative() == 0);
    for (const layer_harm& l : m.layers) CHECK(l.closed == 0);
  }
  // Each beside its own twin.
  CHECK(r.twin_losses[0] != r.twin_losses[1]);
  o.judged = 21;
  CHECK_THROWS_AS(run_optimizer_loop(o), std::invalid_argument);
}

TEST_CASE("the open loop names the mode that trains worst, and its layers") {
  for (const std::uint64_t seed : {1, 2}) {
    CAPTURE(seed);
    optimizer_loop_options o = short_loop({recipe_of("torch_adam"), recipe_of("bnb_cpu_default_adam32bit", bfloat16),
                                           recipe_of("bnb_cpu_default_adam32bit", bfloat16, weight_rounding::kahan),
                                           recipe_of("bnb_cpu_default_adam8bit")});
    o.training.learning_rate = 0.0005;
    o.training.seed = seed;
    const optimizer_loop_result r = run_optimizer_loop(o);
    const mode_harm& worst = r.modes[1];
    for (const std::size_t other : {0, 2, 3}) {
      CHECK(worst.harm > 2 * std::fabs(r.modes[other].harm));
      CHECK(worst.open().loss_change > 2 * std::fabs(r.modes[other].open().loss_change));
    }
    // Not only the rank: to first order, the loss itself.
    CHECK(worst.open().loss_change > worst.harm / 2);
    CHECK(worst.open().loss_change < worst.harm * 2);
    std::vector<double> open;
    std::vector<double> closed;
    for (const layer_harm& l : worst.layers) {
      open.push_back(l.open.relative());
      closed.push_back(l.closed);
    }
    CHECK(rank_correlation(open, closed) > 0.5);
  }
}

// scipy.stats.spearmanr gives these.
TEST_CASE("rank correlation") {
  using v = std::vector<double>;
  const double inf = std::numeric_limits<double>::infinity();
  const auto about = [](double x, double is) { return std::fabs(x - is) < 1e-12; };
  CHECK(about(rank_correlation(v{1, 2, 3, 4}, v{10, 20, 25, 1e9}), 1));
  CHECK(about(rank_correlation(v{1, 2, 3}, v{3, 2, 1}), -1));
  CHECK(about(rank_correlation(v{1, 2, 3, 4, 5}, v{5, 6, 7, 8, 7}), 0.8207826816681233));
  CHECK(about(rank_correlation(v{1, 2, inf}, v{0, 1, 2}), 1));
  CHECK(std::isnan(rank_correlation(v{1}, v{1})));
  CHECK(std::isnan(rank_correlation(v{1, 1}, v{1, 2})));
  CHECK(std::isnan(rank_correlation(v{1, std::nan("")}, v{1, 2})));
}
