// Pins what weights come to under narrow states beside float32: states read as numbers, the float32 twin, what is counted
// (lost updates, second moments stored as zero, runaway weights), and how second moments of a format fall.
#include <ulp/model/optimizers/optimizer_drift.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <ulp/formats/catalog.hpp>

#include "support/catch.hpp"
#include "support/files.hpp"
#include "support/npz.hpp"

using namespace ulp;

namespace {

optimizer_recipe recipe(const char* dialect, const format& weights = float32,
                        weight_rounding rounding = weight_rounding::own, optimizer_settings parameters = {}) {
  return {.dialect = find_optimizer(dialect),
          .parameters = std::move(parameters),
          .weights = weights,
          .rounding = rounding};
}

parameter_value value_in(const optimizer_recipe& of, std::string_view name) {
  const auto all = of.parameters;
  const auto found = std::find_if(all.begin(), all.end(), [&](const auto& p) { return p.first == name; });
  return found == all.end() ? parameter_value{} : found->second;
}

bool about(double x, double is, double within) { return std::fabs(x - is) <= within; }

}  // namespace

TEST_CASE("states are read as numbers, however they are kept") {
  const std::vector<float> g{1, -0.5F, 0.25F, 0, 3e-6F, -2};
  for (const char* dialect : {"torch_adam", "bnb_cpu_default_adam8bit", "bnb_cuda_text_adam8bit", "ao_adam4bit",
                              "ao_adamfp8", "nxd_adamw_fp32optim_downcast1"}) {
    CAPTURE(dialect);
    const bool is_ao = std::string{dialect}.starts_with("ao");
    optimizer o =
        make_optimizer(dialect, {.size = g.size(),
                                 .parameters = is_ao ? optimizer_settings{{"block_size", 2.0}} : optimizer_settings{}});
    std::vector<float> w(g.size(), 1);
    o.step(g, w);
    std::vector<float> m(g.size());
    std::vector<float> v(g.size());
    REQUIRE(read_state(o, "m", m));
    REQUIRE(read_state(o, "v", v));
    // After the first step m = g / 10 and v = g^2 / 1000, as far as the codes go; the largest of a block has no error
    // but that of the map's last entries (0.993) and of 4 bits.
    CHECK(about(m[0], 0.1, is_ao ? 0.02 : 0.002));
    CHECK(about(m[5], -0.2, is_ao ? 0.03 : 0.003));
    CHECK(about(v[5], 0.004, 0.0001));
    CHECK(!read_state(o, "buf", m));
    std::vector<float> short_one(2);
    CHECK(!read_state(o, "m", short_one));
  }
}

TEST_CASE("the float32 twin has the recipe's parameters, not its own defaults") {
  const optimizer_recipe adamw = float32_twin(recipe("ao_adamw8bit", bfloat16, weight_rounding::own, {{"lr", 0.5}}));
  CHECK(adamw.dialect->name == "ao_adamw8bit");
  CHECK(adamw.weights == float32);
  CHECK(value_in(adamw, "m_state") == parameter_value{"float32"});
  CHECK(value_in(adamw, "lr") == parameter_value{0.5});
  CHECK(value_in(adamw, "weight_decay") == parameter_value{0.01});
  const optimizer_recipe optimi = float32_twin(recipe("optimi_adam"));
  CHECK(optimi.dialect->name == "optimi_adam");
  CHECK(value_in(optimi, "eps") == parameter_value{1e-6});
  CHECK(float32_twin(recipe("bnb_cpu_default_adamw8bit")).dialect->name == "bnb_cpu_default_adam32bit");
  CHECK(float32_twin(recipe("bnb_cpu_default_sgd8bit_mom")).dialect->name == "torch_sgd");
  // Recipes that differ by their states have the same.
  const auto of_8_bits = float32_twin(recipe("ao_adam8bit"));
  const auto of_4_bits = float32_twin(recipe("ao_adam4bit"));
  CHECK(of_8_bits.dialect == of_4_bits.dialect);
  CHECK(of_8_bits.parameters == of_4_bits.parameters);
  // Every dialect has a twin that can be made.
  for (const optimizer_entry& entry : optimizer_catalog()) {
    INFO(entry.name);
    CHECK_NOTHROW(make_optimizer(float32_twin({.dialect = &entry, .parameters = {}}), 3, "w", 1));
  }
}

TEST_CASE("a recipe that is its own twin deviates nowhere") {
  drifting_tensor t(recipe("torch_adam"), "w", std::vector<float>{1, -2, 0.5F}, 1);
  for (int i = 0; i < 20; ++i) t.step(std::vector<float>{0.1F, -1e-20F, static_cast<float>(i)});
  const weight_drift d = t.drift();
  CHECK(d.relative() == 0);
  CHECK(d.largest_move == d.largest_twin_move);
  CHECK(d.largest_move > 0.01);
  CHECK(d.loss_change == 0);
  CHECK(d.updates == 39);  // 20 of the first, 19 of the last: its first gradient is 0, the second one's steps vanish
  CHECK(d.lost == 0);
  CHECK(d.runaway == 0);
  CHECK(d.median_ratio == 1);
}

namespace {

// With decay, eps, momentum and dampening, whatever of these it takes, and states in float32. Blocks of one element hold
// positive numbers without an error.
optimizer_recipe in_float32(const optimizer_entry& dialect) {
  optimizer_recipe made{.dialect = &dialect, .parameters = {}};
  const optimizer_settings all{{"lr", 0.01},
                               {"weight_decay", 0.1},
                               {"eps", 0.001},
                               {"momentum", 0.9},
                               {"micro_batches", 1.0},
                               {"block_size", 1.0},
                               {"m_state", "float32"},
                               {"v_state", "float32"},
                               {"momentum_dtype", "float32"},
                               {"variance_dtype", "float32"},
                               {"use_kahan_summation", false}};
  for (const auto& setting : all)
    if (std::ranges::any_of(dialect.parameters, [&](const auto& p) { return p.name == setting.first; }))
      made.parameters.push_back(setting);
  return made;
}

weight_drift after_20_steps(const optimizer_recipe& of) {
  drifting_tensor t(of, "w", std::vector<float>{1, 2, 0.5F}, 1);
  for (int i = 0; i < 20; ++i) t.step(std::vector<float>{0.1F, 1e-4F, static_cast<float>(1 + i % 3)});
  return t.drift();
}

}  // namespace

TEST_CASE("a float32 recipe of any dialect does not leave its twin") {
  constexpr double rate_of_decay = 0.01 * 0.1;
  for (const optimizer_entry& dialect : optimizer_catalog()) {
    CAPTURE(dialect.name);
    const optimizer_recipe recipe = in_float32(dialect);
    const weight_drift d = after_20_steps(recipe);
    const bool is_its_own = float32_twin(recipe).dialect == &dialect;
    const bool decays_later = dialect.name.starts_with("bnb_cuda_text_adam");
    CHECK(d.relative() <= (is_its_own ? 0 : decays_later ? rate_of_decay : 1e-5));
    CHECK(d.largest_move > 0.01);
    CHECK(d.runaway == 0);
  }
  // A mean of gradients that begins at 0 is another rule than one that begins as the first gradient.
  for (const bool torch_init : {false, true}) {
    optimizer_recipe damped = in_float32(*find_optimizer("optimi_sgd"));
    damped.parameters.insert(damped.parameters.end(), {{"dampening", true}, {"torch_init", torch_init}});
    CHECK(after_20_steps(damped).relative() == 0);
  }
  // What rounds does leave it.
  optimizer_recipe coarse = in_float32(*find_optimizer("ao_adamw8bit"));
  coarse.weights = bfloat16;
  CHECK(after_20_steps(coarse).relative() > 0.01);
}

TEST_CASE("16-bit weights lose updates below half their spacing, and Kahan sums do not") {
  // Steps of 0.001 on a weight of 1: the spacing of bfloat16 is 2^-8 below 1 (half of it 0.00195), 2^-7 above.
  const auto after = [](weight_rounding how) {
    drifting_tensor t(recipe("bnb_cpu_default_adam32bit", bfloat16, how), "w", std::vector<float>{1}, 1);
    for (int i = 0; i < 100; ++i) t.step(std::vector<float>{1});
    return t.drift();
  };
  const weight_drift nearest = after(weight_rounding::nearest);
  CHECK(nearest.updates == 100);
  CHECK(nearest.lost == 100);
  CHECK(nearest.relative() == 1);
  // It does not move, and the gradient is 1: the loss is higher by the way that float32 went, 0.095 on average at the end.
  CHECK(about(nearest.loss_change, 0.0945, 0.001));
  const weight_drift kahan = after(weight_rounding::kahan);
  CHECK(kahan.updates == 100);
  CHECK(kahan.lost == 0);
  CHECK(kahan.relative() < 0.03);
}

TEST_CASE("what dialects keep beside their weights is not lost, by whatever name they keep it") {
  const auto lost = [](const char* dialect, optimizer_settings parameters = {}) {
    parameters.emplace_back("lr", 0.001);
    drifting_tensor t(recipe(dialect, bfloat16, weight_rounding::own, std::move(parameters)), "w",
                      std::vector<float>{1}, 1);
    for (int i = 0; i < 20; ++i) t.step(std::vector<float>{1});
    CHECK(t.drift().updates == 20);
    return t.drift().lost;
  };
  CHECK(lost("optimi_adam") == 0);
  CHECK(lost("optimi_adam_nokahan") == 20);
  CHECK(lost("anyprecision_adamw_kahan") == 0);
  CHECK(lost("xla_zero1_master_fp32acc", {{"micro_batches", 1.0}}) == 0);
}

TEST_CASE("what the compensation cannot hold either is lost") {
  // 2^-10 goes into the compensation; 2^-20 is less than half a place of it in bfloat16, and more than one of float32's weight.
  drifting_tensor t(recipe("optimi_sgd", bfloat16, weight_rounding::own, {{"lr", 1.0}}), "w", std::vector<float>{1}, 1);
  t.step(std::vector<float>{0x1p-10F});
  CHECK(t.drift().lost == 0);
  t.step(std::vector<float>{0x1p-20F});
  CHECK(t.drift().updates == 2);
  CHECK(t.drift().lost == 1);
}

TEST_CASE("a second moment that is stored as zero sends its weight away") {
  // Within a block the second is 1e-4 of the first: its square is below the least entry of the map, its m is not.
  drifting_tensor t(recipe("bnb_cpu_default_adam8bit"), "fc", std::vector<float>{0, 0}, 1, {1, 1});
  t.step(std::vector<float>{1, 1e-4F});
  for (int i = 0; i < 5; ++i) t.step(std::vector<float>{1, 0});
  CHECK(t.drift(0).zeroed == 0);
  CHECK(t.drift(0).runaway == 0);
  CHECK(t.drift(1).zeroed == 1);
  CHECK(t.drift(1).first_zeroed == 1);
  CHECK(t.drift(1).runaway == 1);
  // lr m / eps = 1e-3 * 1e-5 * 0.9 / 1e-8 in the next step alone, before the bias correction.
  CHECK(t.drift(1).largest_move > 0.9);
  CHECK(t.drift(1).largest_twin_move < 0.01);
  CHECK(t.drift().numel == 2);
  CHECK(t.drift().runaway == 1);
}

// The buffer is 1, then -1 in exact arithmetic and -0.993 in the map's code, then 0 and 0.006.
TEST_CASE("a weight that stays within what float32 went has not run away, though float32 came back") {
  drifting_tensor t(recipe("bnb_cpu_default_sgd8bit_mom", float32, weight_rounding::own, {{"lr", 0.5}}), "w",
                    std::vector<float>{0}, 1);
  for (const float g : {1.0F, -1.9F, 0.9F}) t.step(std::vector<float>{g});
  const weight_drift d = t.drift();
  CHECK(std::fabs(t.twin_weights()[0]) < 1e-6);
  CHECK(d.largest_twin_move == 0.5);
  CHECK(about(d.largest_move, 0.003, 0.001));
  CHECK(d.runaway == 0);

  drifting_tensor away(recipe("bnb_cpu_default_adam8bit"), "w", std::vector<float>{0, 0}, 1, {1, 1});
  for (const float g : {1e-4F, 0.0F, 0.0F, -1e-4F, -1e-4F}) away.step(std::vector<float>{1, g});
  CHECK(std::fabs(away.twin_weights()[1]) < 0.9 * away.drift(1).largest_twin_move);
  CHECK(away.drift(1).runaway == 1);
}

TEST_CASE("not finite weights are counted, and nothing else is spoiled by them") {
  constexpr float huge = std::numeric_limits<float>::max();
  drifting_tensor t(recipe("torch_adam", float16), "w", std::vector<float>{1, 1}, 1);
  for (int i = 0; i < 3; ++i) t.step(std::vector<float>{huge, 1});
  const weight_drift d = t.drift();
  CHECK(d.nonfinite == 1);
  CHECK(d.runaway == 1);
  CHECK(std::isinf(d.relative()));
  CHECK(about(d.largest_move, 0.003, 0.0005));  // of the other one
  CHECK(std::isfinite(d.deviation));

  drifting_tensor none(recipe("bnb_cpu_default_adam8bit"), "w", std::vector<float>{}, 1);
  none.step({});
  none.mark();
  CHECK(none.drift().relative() == 0);
  CHECK(std::isnan(none.drift().median_ratio));
  CHECK_THROWS_AS(none.step(std::vector<float>{1}), std::invalid_argument);
  CHECK_THROWS_AS(drifting_tensor(recipe("torch_adam"), "w", std::vector<float>{1, 2}, 1, {1}), std::invalid_argument);
  CHECK_THROWS_AS(drifting_tensor(recipe("xla_zero1_master_fp32acc", bfloat16), "w", std::vector<float>{1}, 1),
                  std::invalid_argument);
}

// Weights near 1, whose bfloat16 neighbours are 0.004 and 0.008 away, under steps of 0.0003.
TEST_CASE("what rounding does to weights is no running away, and what runs away in 16 bits is still found") {
  const std::vector<float> w0{1.003F, -0.9985F, 1.0101F, 0.503F};
  const auto after = [&](const optimizer_recipe& of, const std::vector<float>& g) {
    drifting_tensor t(of, "w", w0, 7);
    for (int i = 0; i < 5; ++i) t.step(g);
    return t.drift();
  };
  const optimizer_settings rate{{"lr", 3e-4}};
  const std::vector<float> g{1, -1, 0.5F, 2};
  for (const weight_rounding how : {weight_rounding::nearest, weight_rounding::stochastic, weight_rounding::kahan}) {
    CAPTURE(to_string(how));
    const weight_drift d = after(recipe("bnb_cpu_default_adam32bit", bfloat16, how, rate), g);
    CHECK(d.runaway == 0);
    CHECK(d.largest_twin_move < 0.002);
    CHECK(d.first_rounding > 0);
    CHECK(d.first_rounding < 4 * 0.004 * 0.004);
    CHECK(d.deviation > 0);
  }
  const weight_drift lost = after(recipe("torch_adam", bfloat16, weight_rounding::own, rate), g);
  CHECK(lost.lost == lost.updates);
  CHECK(lost.largest_move == 0);
  CHECK(lost.runaway == 0);
  const weight_drift still = after(recipe("torch_adam", bfloat16), {0, 0, 0, 0});
  CHECK(still.runaway == 0);
  CHECK(still.largest_move == 0);
  CHECK(still.largest_twin_move == 0);
  CHECK(still.first_rounding == still.deviation);

  drifting_tensor away(recipe("bnb_cpu_default_adam8bit", bfloat16), "w", w0, 7);
  away.step(std::vector<float>{1, 1, 1e-4F, 1});
  for (int i = 0; i < 200; ++i) away.step(std::vector<float>{1, -1, 0, 1});
  CHECK(away.drift().zeroed == 1);
  CHECK(away.drift().runaway == 1);
  CHECK(away.drift().largest_move > 0.9);
}

TEST_CASE("elements that float32 loses as well are left out, and the others are judged as without them") {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  const auto after = [](const optimizer_recipe& of, float third) {
    drifting_tensor t(of, "w", std::vector<float>{0, 0, 0, 0}, 1);
    t.step(std::vector<float>{1, 1e-4F, third, 1});
    for (int i = 0; i < 5; ++i) t.step(std::vector<float>{1, 0, 0, 1});
    return t.drift();
  };
  // The CUDA text passes over NaN in a block; the torch kernels spread it over the block.
  const weight_drift without = after(recipe("bnb_cuda_text_adam8bit"), 1);
  const weight_drift cuda = after(recipe("bnb_cuda_text_adam8bit"), nan);
  CHECK(without.runaway == 1);
  CHECK(without.nonfinite_gradients == 0);
  CHECK(without.first_nonfinite_gradient == 0);
  CHECK(cuda.runaway == 1);
  CHECK(cuda.nonfinite == 0);
  CHECK(cuda.twin_nonfinite == 1);
  CHECK(cuda.nonfinite_gradients == 1);
  CHECK(cuda.first_nonfinite_gradient == 1);
  CHECK(cuda.largest_move == without.largest_move);
  CHECK(cuda.largest_twin_move == without.largest_twin_move);
  CHECK(std::isfinite(cuda.loss_change));
  const weight_drift spread = after(recipe("bnb_cpu_default_adam8bit"), nan);
  CHECK(spread.nonfinite == 3);
  CHECK(spread.runaway == 3);
  CHECK(spread.twin_nonfinite == 1);
  CHECK(std::isinf(spread.relative()));

  // 0 / 0 without an epsilon: no gradient is at fault.
  const weight_drift parameters = after(recipe("torch_adam", float32, weight_rounding::own, {{"eps", 0.0}}), 0);
  CHECK(parameters.twin_nonfinite == 1);
  CHECK(parameters.nonfinite_gradients == 0);
  CHECK(parameters.updates == 18);  // six of each of the others
  CHECK(parameters.relative() == 0);
}

// Counted over all significands elsewhere: exactness.md 1.3 of the reference data.
TEST_CASE("second moments fall as the format lets them") {
  CHECK(decay_of(bfloat16, 0.999).stuck == 1);
  CHECK(!decay_of(bfloat16, 0.999).half_life);
  CHECK(about(decay_of(bfloat16, 0.998).stuck, 0.953, 0.0005));
  CHECK(about(decay_of(bfloat16, 0.997).stuck, 0.297, 0.0005));
  CHECK(decay_of(bfloat16, 0.996).stuck == 0);
  CHECK(decay_of(bfloat16, 0.995).half_life == 128);
  CHECK(decay_of(float16, 0.999).stuck == 0);
  CHECK(decay_of(float16, 0.999).half_life == 749);
  CHECK(decay_of(cbfloat16, 0.999).half_life == 512);
}

TEST_CASE("medians") {
  std::vector<float> odd{3, 1, 2};
  std::vector<float> even{4, 1, 3, 2};
  CHECK(median_of(odd) == 2);
  CHECK(median_of(even) == 2.5);
  CHECK(std::isnan(median_of({})));
}
