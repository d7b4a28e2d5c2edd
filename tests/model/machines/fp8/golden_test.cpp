// Pins the policies that scale each tensor to what the originals' own code gave, and what a policy does at the corners.
#include "support/catch.hpp"

#include <limits>
#include <set>

#include "model/machines/fp8/golden.hpp"

using namespace ulp;
using namespace ulp::test;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double no_number = std::numeric_limits<double>::quiet_NaN();
constexpr double largest_float = static_cast<double>(std::numeric_limits<float>::max());

using parameters = std::vector<std::pair<std::string, parameter_value>>;

fp8_scaler made_fp8(std::string_view name, const parameters& with = {}, const format& of = float8_e4m3fn) {
  return make_fp8_scaler(*find_fp8_scaler(name), of, with);
}

std::vector<double> scales_after(fp8_scaler policy, const std::vector<double>& amaxes) {
  std::vector<double> all;
  for (const double amax : amaxes) all.push_back(policy.update(amax).after);
  return all;
}

}  // namespace

TEST_CASE("golden traces of the policies that scale each tensor") {
  std::set<std::string_view> seen;
  std::size_t compared = 0;
  for (const auto& file : std::filesystem::directory_iterator(source_dir() / "tests/data/golden_fp8")) {
    if (file.path().extension() != ".csv") continue;
    seen.insert(policy_of_file(file.path()).name);
    const fp8_comparison result = compare(file.path());
    CHECK(result.first_difference == "");
    compared += result.compared;
  }
  CHECK(seen.size() == 10);  // all but te_current_python and static_fp8
  CHECK(compared > 14'000);
}

TEST_CASE("delayed scaling: what a zero, a NaN and an infinity do in each of the originals") {
  // Published values: fp8-and-blocks, history 4, amax 2,0,nan,1,1,1.
  const parameters four{{"amax_history_len", 4.0}};
  const std::vector<double> amaxes{2, 0, no_number, 1, 1, 1};
  CHECK(scales_after(made_fp8("te_delayed_bulk", four), amaxes) == std::vector<double>{224, 224, 224, 224, 224, 448});
  CHECK(scales_after(made_fp8("te_delayed_single", four), amaxes) == std::vector<double>{224, 224, 224, 224, 448, 448});
  for (const auto name : {"te_delayed_python", "te_delayed_jax"})
    CHECK(scales_after(made_fp8(name, four), amaxes) == std::vector<double>(6, 224));
  // An infinity keeps the scale for as many steps as the history has; in the bulk kernel zeros do not count.
  const std::vector<double> infinite{2, infinity, 1, 0, 1, 1, 1};
  CHECK(scales_after(made_fp8("te_delayed_bulk", four), infinite) ==
        std::vector<double>{224, 224, 224, 224, 224, 224, 448});
  CHECK(scales_after(made_fp8("te_delayed_single", four), infinite) ==
        std::vector<double>{224, 224, 224, 224, 224, 448, 448});
}

TEST_CASE("Flax casts a step with the scale that the history before it gives, Keras with the one before that") {
  // The second step reads the first one's amax: 448 * 2^margin / 448.
  for (const auto& [name, used] : {std::pair{"flax_delayed", 2.0}, {"keras_delayed", 1.0}}) {
    INFO(name);
    fp8_scaler policy = made_fp8(name, {{"margin", 1.0}, {"amax_history_len", 4.0}});
    CHECK(policy.update(448).after == 1);
    const auto second = policy.update(1);
    CHECK(second.after == 2);
    CHECK(second.used == used);
  }
}

TEST_CASE("a held scale is said to be held") {
  CHECK(made_fp8("te_delayed_python", {{"amax_history_len", 2.0}}).update(no_number).held);

  fp8_scaler policy = made_fp8("te_delayed_bulk", {{"amax_history_len", 2.0}});
  CHECK_FALSE(policy.update(1).held);
  CHECK(policy.update(infinity).held);
  CHECK(policy.update(1).held);
  CHECK_FALSE(policy.update(1).held);
  CHECK_FALSE(made_fp8("static_fp8").update(infinity).held);
}

TEST_CASE("a history as long as a run, and one of a single step") {
  fp8_scaler all = made_fp8("te_delayed_bulk", {{"amax_history_len", 1e6}});
  fp8_scaler one = made_fp8("te_delayed_bulk", {{"amax_history_len", 1.0}});
  double largest = 0;
  for (int i = 1; i <= 5000; ++i) {
    const double amax = static_cast<double>(static_cast<float>(1 + (i * 7919 % 1000) / 1000.0));
    largest = std::max(largest, amax);
    const double of_all = all.update(amax).after;
    const double of_one = one.update(amax).after;
    if (of_all != static_cast<double>(448 / static_cast<float>(largest)) ||
        of_one != static_cast<double>(448 / static_cast<float>(amax)))
      FAIL("step " << i);
  }
}

TEST_CASE("current scaling at the ends of float32") {
  fp8_scaler cuda = made_fp8("te_current_cuda");
  fp8_scaler python = made_fp8("te_current_python");
  for (const double amax : {1.0, 3.0, 0x1p-100, 0x1.fp+127}) CHECK(cuda.update(amax).used == python.update(amax).used);
  CHECK(cuda.update(0).used == 1);
  CHECK(python.update(0).used == 1);
  CHECK(cuda.update(infinity).used == 1);
  CHECK(python.update(infinity).used == 0);
  CHECK(cuda.update(no_number).used == 1);
  CHECK(std::isnan(python.update(no_number).used));
  CHECK(made_fp8("te_current_python", {{"force_pow_2_scales", true}}).update(no_number).used == 0.5);
  CHECK(cuda.update(0x1p-149).used == largest_float);
  CHECK(made_fp8("te_current_cuda", {{"force_pow_2_scales", true}}).update(0x1p-149).used == 0x1p127);
  CHECK(made_fp8("te_delayed_jax").update(0x1p-149).after == infinity);
}

TEST_CASE("what amax is scaled to follows from the format unless it is said") {
  CHECK(made_fp8("te", {}, float8_e5m2).largest() == 57344);
  CHECK(made_fp8("te", {}, float8_e4m3fnuz).largest() == 240);
  CHECK(made_fp8("te", {{"fp8_max", 240.0}}).largest() == 240);
  CHECK(made_fp8("te_nvfp4_global_encode", {{"e4m3_max", 256.0}}).largest() == 1536);
}

TEST_CASE("parameters that no policy takes are refused by their names") {
  for (const auto& [name, with, why] :
       {std::tuple{"te", parameters{{"amax_history_len", 0.0}}, "amax_history_len must be at least 1"},
        std::tuple{"te", parameters{{"amax_compute_algo", std::string{"mean"}}},
                   "amax_compute_algo is max or most_recent, not 'mean'"},
        std::tuple{"te", parameters{{"initial_scale", 0.0}}, "initial_scale must be above 0 and finite as a float32"},
        std::tuple{"te", parameters{{"initial_scale", 1e39}}, "initial_scale must be above 0 and finite as a float32"},
        std::tuple{"msamp", parameters{{"window_size", -1.0}}, "window_size must be at least 1"},
        std::tuple{"torchao", parameters{{"eps", -1.0}}, "eps must be a number that is not below 0"}})
    CHECK_THROWS_WITH(made_fp8(name, with), why);
  CHECK_THROWS_WITH(made_fp8("te", {{"history_len", 3.0}}), Contains("near: amax_history_len"));
}

TEST_CASE("names and aliases of both catalogues are all different") {
  std::set<std::string_view> names;
  std::size_t n = 0;
  const auto add = [&](const auto& entries) {
    for (const auto& e : entries) {
      names.insert(e.name);
      names.insert(e.aliases.begin(), e.aliases.end());
      n += 1 + e.aliases.size();
    }
  };
  add(scaler_catalog());
  add(fp8_scaler_catalog());
  CHECK(names.size() == n);
}
