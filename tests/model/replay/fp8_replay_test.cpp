// Pins a replay with a scale for each tensor to rounding every value, and its summaries.
#include <ulp/model/replay/fp8_replay.hpp>

#include "support/catch.hpp"

#include <ulp/formats/catalog.hpp>
#include <ulp/formats/codec.hpp>
#include <ulp/model/cells/cell_counter.hpp>

#include <cmath>
#include <random>

#include "model/replay/scaled_truth.hpp"

using namespace ulp;
using namespace ulp::test;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

fp8_recipe all_by(std::string_view policy, const format& to,
                  const std::vector<std::pair<std::string, parameter_value>>& with = {}) {
  return uniform_recipe({.how = {.format = to, .rounding = {.overflow = overflow_mode::saturate}},
                         .start = make_fp8_scaler(*find_fp8_scaler(policy), to, with)});
}

// Float32 numbers over many binades, now and then with all bits of the significand set.
std::vector<double> random_values(std::uint64_t seed, std::size_t n = 4000) {
  std::mt19937_64 random(seed);
  std::vector<double> values;
  for (std::size_t i = 0; i < n; ++i) {
    const double significand = 1 + static_cast<double>(random() % (1 << 23)) * 0x1p-23;
    const double x = std::ldexp(significand, -static_cast<int>(random() % 24));
    values.push_back(random() % 2 == 0 ? x : -x);
  }
  return values;
}

step step_of(std::int64_t number, const std::vector<double>& values, double factor = 1) {
  tensor_row row{.type = dtype::float32, .factor = factor};
  row.table = count_cells(values);
  step now;
  now.key.step = number;
  now.tensors.push_back(std::move(row));
  return now;
}

const std::vector<tensor_info> one{{.name = "w", .kind = tensor_kind::weight}};

}  // namespace

TEST_CASE("counts hold what rounding every value gives, and are exact where the scale is a power of two") {
  range_check any;
  range_check powers;
  for (const auto& [policy, with] :
       std::vector<std::pair<std::string, std::vector<std::pair<std::string, parameter_value>>>>{
           {"te_current_cuda", {}},
           {"te_current_cuda", {{"force_pow_2_scales", true}}},
           {"torchao_dynamic", {}},
           {"te_delayed_bulk", {{"amax_history_len", 4.0}}},
           {"te_delayed_bulk", {{"amax_history_len", 1.0}, {"margin", 2.0}}},
           {"flax_delayed", {{"amax_history_len", 4.0}}},
           {"keras_delayed", {{"amax_history_len", 2.0}}},
           {"msamp", {}}})
    for (const format& to : {float8_e4m3fn, float8_e5m2}) {
      fp8_replayer replay(all_by(policy, to, with), {});
      const bool divides = find_fp8_scaler(policy)->divides;
      for (std::int64_t i = 0; i < 12; ++i) {
        std::vector<double> values = random_values(static_cast<std::uint64_t>(i + 1));
        for (double& x : values) x = std::ldexp(x, static_cast<int>(i % 5));
        const auto rows = replay.advance(step_of(i, values), one);
        REQUIRE(rows.size() == 1);
        const outcome_counts truth = count_scaled(values, replay.recipe().forward.how, rows[0].scales.used, divides);
        int exponent = 0;
        (std::frexp(rows[0].scales.used, &exponent) == 0.5 ? powers : any).see(rows[0].counts, truth);
        CHECK(rows[0].saturates == (truth.overflow.low > 0));
      }
    }
  CHECK(any.wrong == 0);
  CHECK(any.counts > 300);
  CHECK(any.exact * 3 > any.counts);
  CHECK(powers.wrong == 0);
  CHECK(powers.exact == powers.counts);
  CHECK(powers.counts > 100);
}

TEST_CASE("products that float32 rounds onto a threshold are counted as the kernels count them") {
  // The exact product is just above 2^-10, half the smallest subnormal of E4M3, where float32 rounds it down to that: zero.
  const float scale = 0x1.800002p+0F;
  std::size_t rounded_down = 0;
  for (int i = -40; i <= 40; ++i) {
    const auto x = static_cast<float>(std::ldexp((1.0 / static_cast<double>(scale)), -10) + i * 0x1p-34);
    const std::vector<double> values(3, static_cast<double>(x));
    tensor_row row{.type = dtype::float32, .factor = 1};
    row.table = count_cells(values);
    const treatment how{.format = float8_e4m3fn, .rounding = {.overflow = overflow_mode::saturate}};
    const outcome_counts truth = count_scaled(values, how, static_cast<double>(scale), false);
    const multiplier by{.scale = static_cast<double>(scale), .in_float32 = true};
    CHECK(outcomes_of(row.table, how, by) == truth);
    const multiplier without{.scale = static_cast<double>(scale)};
    rounded_down += outcomes_of(row.table, how, without) == truth ? 0 : 1;
  }
  CHECK(rounded_down > 0);  // else the test shows nothing
}

TEST_CASE("the factor is divided out before a policy sees a gradient, and a row keeps that it is not known") {
  const std::vector<double> values = random_values(3);
  std::vector<double> scaled = values;
  for (double& x : scaled) x *= 1024;
  const std::vector<tensor_info> gradient{{.name = "g", .kind = tensor_kind::weight_grad}};
  fp8_replayer plain(all_by("te_current_cuda", float8_e5m2), {});
  fp8_replayer divided(all_by("te_current_cuda", float8_e5m2), {});
  fp8_replayer unknown(all_by("te_current_cuda", float8_e5m2), {});
  const auto a = plain.advance(step_of(0, values, 1), gradient).front();
  const auto b = divided.advance(step_of(0, scaled, 1024), gradient).front();
  const auto c = unknown.advance(step_of(0, values, not_known), gradient).front();
  CHECK(a.amax == b.amax);
  CHECK(a.scales.used == b.scales.used);
  CHECK(a.counts == b.counts);
  CHECK_FALSE(b.as_recorded);
  CHECK(c.as_recorded);
}

TEST_CASE("a delayed scale is stale after a jump, and saturates") {
  fp8_replayer replay(all_by("te_delayed_bulk", float8_e4m3fn, {{"initial_scale", 448.0}}), {});
  const auto amax = [&](std::int64_t number, double value) {
    return *replay.advance(step_key{.step = number}, 0, value, one);
  };
  CHECK_FALSE(amax(0, 1).is_stale());
  const fp8_row jump = amax(1, 16);
  CHECK(jump.is_stale());
  CHECK(jump.binades_off() == 4);
  CHECK(jump.saturates);
  CHECK(jump.ideal == 28);
  CHECK_FALSE(amax(2, 16).is_stale());
  CHECK_FALSE(amax(3, infinity).is_stale());
  CHECK(amax(4, 1).is_stale());
  const fp8_tensor_summary& sum = replay.summaries().at(0);
  CHECK(sum.steps == 5);
  CHECK(sum.stale == 2);
  CHECK(*sum.first_stale == 1);
  CHECK(sum.saturating == 1);
  CHECK(*sum.first_saturating == 1);
  CHECK(sum.infinite == 1);
  CHECK(*sum.first_not_finite == 3);
  CHECK(sum.held == 2);
  CHECK(sum.most_binades_above == 4);
  CHECK(sum.most_binades_below == 4);
}

TEST_CASE("an amax of the format's own overflow edge") {
  // At scale 1: 464 rounds to 448, the next float32 saturates.
  for (const auto& [value, saturates] : {std::pair{448.0, false}, {464.0, false}, {0x1.d00002p+8, true}}) {
    fp8_replayer replay(all_by("static_fp8", float8_e4m3fn), {});
    CHECK(replay.advance(step_of(0, {value, 1}), one).front().saturates == saturates);
    CHECK(replay.advance(step_key{.step = 1}, 0, value, one)->saturates == saturates);
  }
}

TEST_CASE("a NaN is the amax, or passed over, as the policy has it") {
  const std::vector<double> values{1, 2, std::nan("")};
  fp8_replayer passes(all_by("te_delayed_bulk", float8_e4m3fn), {});
  fp8_replayer keeps(all_by("te_delayed_python", float8_e4m3fn), {});
  CHECK(passes.advance(step_of(0, values), one).front().amax == 2);
  CHECK(std::isnan(keeps.advance(step_of(0, values), one).front().amax));
}

TEST_CASE("what a recipe of linear layers casts") {
  const fp8_recipe hybrid = fp8_recipe_named("te_delayed");
  CHECK(hybrid.name == "te_delayed:hybrid");
  const auto choice = [&](tensor_kind kind, std::vector<std::uint64_t> shape, bool has_gradients) {
    return choice_of({.name = "t", .kind = kind, .shape = std::move(shape)}, hybrid, has_gradients);
  };
  CHECK(choice(tensor_kind::weight, {4, 4}, true) == fp8_choice::cast);
  CHECK(choice(tensor_kind::weight, {4}, true) == fp8_choice::vector);
  CHECK(choice(tensor_kind::activation, {4}, true) == fp8_choice::cast);
  CHECK(choice(tensor_kind::activation_grad, {4, 4}, true) == fp8_choice::cast);
  CHECK(choice(tensor_kind::weight_grad, {4, 4}, true) == fp8_choice::output);
  CHECK(choice(tensor_kind::weight_grad, {4, 4}, false) == fp8_choice::in_place_of);
  CHECK(choice(tensor_kind::update, {4, 4}, false) == fp8_choice::output);
  CHECK(hybrid.of({.name = "g", .kind = tensor_kind::activation_grad}).how.format == float8_e5m2);
  CHECK(hybrid.of({.name = "w", .kind = tensor_kind::weight}).how.format == float8_e4m3fn);
}

TEST_CASE("recipes are refused by what they lack") {
  CHECK_THROWS_WITH(fp8_recipe_named("te_delay"), Contains("near: te_delayed"));
  CHECK_THROWS_WITH(fp8_recipe_named("te_delayed:e3m4"), Contains("has no variant 'e3m4'; it has hybrid, e4m3, e5m2"));
  CHECK_THROWS_WITH(fp8_recipe_named("deepseek_v3"), Contains("a scale for each block"));
  CHECK_THROWS_WITH(fp8_recipe_named("torchao_rowwise"), Contains("a scale for each row"));
  for (const fp8_recipe_entry& e : fp8_recipe_catalog()) CHECK(find_fp8_scaler(e.policy) != nullptr);
}

TEST_CASE("finite values saturate beside an infinity, by the largest of them") {
  for (const auto& [value, saturates] : {std::pair{464.0, false}, {0x1.d00002p+8, true}}) {
    fp8_replayer replay(all_by("static_fp8", float8_e4m3fn), {});
    CHECK(replay.advance(step_of(0, {value, infinity}), one).front().saturates == saturates);
    CHECK(replay.advance(step_of(1, {value, std::nan("")}), one).front().saturates == saturates);
  }
}

TEST_CASE("finite values that their factor takes beyond float32 saturate, and the row says so") {
  fp8_replayer by(all_by("static_fp8", float8_e4m3fn), {});
  const auto rows = by.advance(step_of(0, {0x1p127, 1}, 0.125), {{.name = "w"}});
  REQUIRE(rows.size() == 1);
  CHECK(std::isinf(rows[0].amax));
  CHECK(rows[0].counts.overflow == count_range{1, 1});
  CHECK(rows[0].saturates);
}

TEST_CASE("under a scale that is NaN nothing is called saturated") {
  fp8_replayer replay(all_by("torchao_dynamic", float8_e4m3fn), {});
  const fp8_row row = replay.advance(step_of(0, {1, 2, std::nan("")}), one).front();
  CHECK(std::isnan(row.scales.used));
  CHECK_FALSE(row.saturates);
  CHECK(row.counts.overflow.high == 0);
  CHECK(row.counts.numel == 3);
  CHECK(row.counts.nonfinite == 1);
}

TEST_CASE("margins as far as float32 goes") {
  for (const auto& [margin, scale] : {std::pair{100.0, std::ldexp(448.0, -100)}, {-100.0, std::ldexp(448.0, 100)}}) {
    fp8_replayer replay(all_by("te_delayed_bulk", float8_e4m3fn, {{"margin", margin}}), {});
    CHECK(replay.advance(step_key{}, 0, 1, one)->scales.after == scale);
  }
}

TEST_CASE("weight gradients stand in for those of activations only until these come") {
  std::vector<tensor_info> tensors{{.name = "g", .kind = tensor_kind::weight_grad, .shape = {4, 4}}};
  fp8_replayer replay(fp8_recipe_named("te_delayed"), {});
  CHECK(replay.advance(step_key{.step = 0}, 0, 1, tensors).has_value());
  tensors.push_back({.name = "a", .kind = tensor_kind::activation_grad});
  CHECK(replay.advance(step_key{.step = 0}, 1, 1, tensors).has_value());
  CHECK_FALSE(replay.advance(step_key{.step = 1}, 0, 1, tensors).has_value());
  CHECK(replay.summaries().size() == 1);
  CHECK(replay.choices().at(0) == fp8_choice::output);
}

// TransformerEngine's rule with a history of one: the scale after a step is 448 / amax.
TEST_CASE("a summary has the scales that were used, and how far they were off on either side") {
  fp8_replayer replay(all_by("te_delayed_bulk", float8_e4m3fn, {{"amax_history_len", 1.0}}), {});
  for (const auto& [step, amax] : {std::pair{0, 224.0}, {1, 896.0}, {2, 7.0}})
    static_cast<void>(replay.advance({.step = step}, 0, amax, one));
  const fp8_tensor_summary& sum = replay.summaries().at(0);
  CHECK(sum.first_scale == 1);
  CHECK(sum.last_scale == 0.5);
  CHECK(sum.most_binades_above == 2);
  CHECK(sum.most_binades_below == 7);
  CHECK(sum.stale == 2);  // a binade, as in the first step, is not stale yet
  CHECK(sum.first_stale == 1);
}

// With a history of two an infinity is remembered for one step more.
TEST_CASE("a summary has how long an infinite amax kept the scale, and that of several tensors the longest") {
  fp8_replayer replay(all_by("te_delayed_bulk", float8_e4m3fn, {{"amax_history_len", 2.0}}), {});
  std::int64_t step = 0;
  for (const double amax : {1.0, infinity, infinity, 1.0, 1.0, infinity, 1.0, 1.0})
    static_cast<void>(replay.advance({.step = step++}, 0, amax, one));
  fp8_tensor_summary sum = replay.summaries().at(0);
  CHECK(sum.held == 5);
  CHECK(sum.longest_held == 3);
  CHECK(*sum.first_not_finite == 1);
  fp8_tensor_summary other;
  other.longest_held = 4;
  other.first_not_finite = 0;
  other.first_saturating = 7;
  sum += other;
  CHECK(sum.longest_held == 4);
  CHECK(*sum.first_not_finite == 0);
  CHECK(*sum.first_saturating == 7);
}

TEST_CASE("an infinity is the amax, and a scale that divides is inverted") {
  fp8_replayer delayed(all_by("te_delayed_bulk", float8_e4m3fn), {});
  CHECK(delayed.advance(step_of(0, {1, infinity}), one).at(0).amax == infinity);
  CHECK(delayed.summaries().at(0).infinite == 1);
  fp8_replayer divides(all_by("flax_delayed", float8_e4m3fn), {});
  static_cast<void>(divides.advance({.step = 0}, 0, 7, one));
  const auto row = divides.advance({.step = 1}, 0, 7, one);
  REQUIRE(row);
  CHECK(row->scales.used == 1.0 / 64);
  CHECK(row->multiplied_by == 64);
}

TEST_CASE("vectors and scalars are no matrices, whose sizes may be unknown, or one") {
  const fp8_recipe recipe = fp8_recipe_named("te_delayed");
  const auto choice = [&](std::vector<std::uint64_t> shape, std::uint64_t numel) {
    tensor_info t{.name = "w", .kind = tensor_kind::weight};
    t.shape = std::move(shape);
    t.numel = numel;
    return choice_of(t, recipe, true);
  };
  CHECK(choice({}, 0) == fp8_choice::cast);
  CHECK(choice({}, 1) == fp8_choice::vector);
  CHECK(choice({5}, 5) == fp8_choice::vector);
  CHECK(choice({1, 1}, 1) == fp8_choice::cast);
}
