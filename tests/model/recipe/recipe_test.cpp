// Which tensors get which treatment and machine, and that a replay asks the recipe and nothing else.
#include "support/catch.hpp"

#include <ulp/formats/catalog.hpp>
#include <ulp/model/cells/cell_counter.hpp>
#include <ulp/model/recipe/recipe.hpp>
#include <ulp/model/replay/replay.hpp>
#include <ulp/model/sweep/sweep.hpp>

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

using namespace ulp;

namespace {

tensor_info tensor(const char* name, tensor_kind kind) { return {.name = name, .kind = kind}; }

step step_of(std::int64_t number, std::vector<std::vector<float>> values) {
  step s;
  s.key.step = number;
  for (std::uint32_t i = 0; i < values.size(); ++i) {
    tensor_row& row = s.tensors.emplace_back();
    row.tensor = i;
    row.type = dtype::float32;
    row.factor = 1;
    row.table = count_cells(std::span<const float>{values[i]});
  }
  return s;
}

scaler static_scale(double scale) { return make_scaler(*find_scaler("static"), {{"loss_scale", scale}}); }
scaler layerwise(double scale) { return make_scaler(*find_scaler("fairscale_layerwise"), {{"init_scale", scale}}); }

const tensor_info gradient = tensor("w", tensor_kind::weight_grad);

}  // namespace

TEST_CASE("loss scaling multiplies gradients, and what may be one") {
  const auto source = [](tensor_kind kind) { return loss_scaling().of(tensor("t", kind)); };
  for (const tensor_kind kind : {tensor_kind::unknown, tensor_kind::weight_grad, tensor_kind::activation_grad}) {
    CHECK(source(kind) == scale_source::run);
    CHECK(is_scaled(tensor("t", kind)));
  }
  for (const tensor_kind kind : {tensor_kind::weight, tensor_kind::update, tensor_kind::activation}) {
    CHECK(source(kind) == scale_source::none);
    CHECK_FALSE(is_scaled(tensor("t", kind)));
  }
}

TEST_CASE("the first rule that takes kind and name counts") {
  const auto is_head = [](std::string_view name) { return name == "head"; };
  const tensor_rules<int> rules(0, {{.kinds = {tensor_kind::weight}, .names = is_head, .value = 1},
                                    {.kinds = {tensor_kind::weight, tensor_kind::activation}, .value = 2},
                                    {.names = is_head, .value = 3}});
  CHECK(rules.of(tensor("head", tensor_kind::weight)) == 1);
  CHECK(rules.of(tensor("body", tensor_kind::weight)) == 2);
  CHECK(rules.of(tensor("head", tensor_kind::activation)) == 2);
  CHECK(rules.of(tensor("head", tensor_kind::weight_grad)) == 3);
  CHECK(rules.of(tensor("body", tensor_kind::weight_grad)) == 0);
  const auto tenfold = rules.map([](int x) { return 10.0 * x; });
  CHECK(tenfold.of(tensor("head", tensor_kind::weight_grad)) == 30);
  CHECK(tenfold.otherwise() == 0);
}

TEST_CASE("the usual recipe rounds all tensors alike and scales gradients by its machine") {
  const rounding mode{.overflow = overflow_mode::saturate};
  recipe of_run = loss_scaling_recipe({float16, mode}, static_scale(8));
  CHECK(of_run.usual() == treatment{float16, mode, scale_source::run});
  CHECK(of_run.treatments.of(tensor("w", tensor_kind::weight)) == treatment{float16, mode, scale_source::none});
  CHECK(of_run.machine().scale() == 8);
  CHECK(loss_scaling_recipe({float16}, layerwise(4)).usual().scale == scale_source::tensor);

  of_run.round_all({bfloat16});
  CHECK(of_run.usual() == treatment{bfloat16, {}, scale_source::run});
  CHECK(of_run.treatments.of(tensor("w", tensor_kind::weight)) == treatment{bfloat16, {}, scale_source::none});
}

TEST_CASE("a replay rounds each tensor as the recipe treats it, at the scale that it says") {
  const auto is_fine = [](std::string_view name) { return name == "fine"; };
  const auto is_alone = [](std::string_view name) { return name == "alone"; };
  const tensor_rules<treatment> treatments({float16, {}, scale_source::run},
                                           {{.names = is_fine, .value = {float32, {}, scale_source::run}},
                                            {.names = is_alone, .value = {float16, {}, scale_source::none}}});
  const scenario s{recipe{treatments, static_scale(0x1p4)}};
  const std::vector<tensor_info> tensors{gradient, tensor("fine", tensor_kind::weight_grad),
                                         tensor("alone", tensor_kind::weight_grad)};
  // 2^-24 is the least float16, and 2^-28 that divided by the scale.
  const std::vector<float> values{0x1p-28F, 0x1p-30F, 8192};
  const step now = step_of(0, {values, values, values});
  std::vector<tensor_outcome> each;
  const trajectory_row row = replayer(s).advance(now, tensors, &each);
  REQUIRE(each.size() == 3);
  CHECK(each[0].counts.underflow == count_range{1, 1});
  CHECK(each[0].counts.overflow == count_range{1, 1});
  CHECK(each[1].counts.underflow == count_range{0, 0});
  CHECK(each[1].counts.overflow == count_range{0, 0});
  CHECK(each[2].scale == 1);
  CHECK(each[2].counts.underflow == count_range{2, 2});
  CHECK(each[2].counts.overflow == count_range{0, 0});
  CHECK(row.found_inf);

  // What no scale multiplies is no overflow of a scale; the sweep agrees.
  const step alone = step_of(0, {{1}, {1}, {8192}});
  CHECK_FALSE(replayer(s).advance(alone, tensors).found_inf);
  sweep swept({s});
  swept.add(alone, tensors);
  CHECK(swept.results().front().skipped == 0);
}

TEST_CASE("a machine whose scope is the tensor is copied from what the recipe has for that tensor") {
  const auto is_second = [](std::string_view name) { return name == "second"; };
  recipe how = loss_scaling_recipe({float16}, layerwise(4));
  how.machines = {layerwise(4), {{.names = is_second, .value = layerwise(64)}}};
  const std::vector<tensor_info> tensors{gradient, tensor("second", tensor_kind::weight_grad)};
  replayer r(scenario{how});
  std::vector<tensor_outcome> each;
  const trajectory_row row = r.advance(step_of(0, {{1}, {2048}}), tensors, &each);
  REQUIRE(each.size() == 2);
  CHECK(each[0].scale == 4);
  CHECK(each[1].scale == 64);
  CHECK(row.scale_used == 4);
  CHECK(row.skipped);
  each.clear();
  static_cast<void>(r.advance(step_of(1, {{1}, {1}}), tensors, &each));
  CHECK(each[0].scale == 4);
  CHECK(each[1].scale == 32);
}
