// Pins what FP8 training casts, by which scale and to which numbers, and what of it is counted.
#include "arithmetic/fp8_casting.hpp"

#include <bit>
#include <cmath>
#include <limits>

#include "support/catch.hpp"

using namespace ulp;
using train::fp8_casting;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

site operand(site_kind kind, std::size_t columns) {
  return {.kind = kind, .role = tensor_role::low, .tensor = "up", .rows = 1, .columns = columns};
}

// What products take for these.
std::vector<float> cast_by(fp8_casting& hook, site_kind kind, std::vector<float> values) {
  hook.start_step();
  const float unit = hook.round_operand(operand(kind, values.size()), values);
  for (float& x : values) x *= unit;
  return values;
}

}  // namespace

TEST_CASE("a delayed scale is that of the steps before, a current one that of the step") {
  fp8_casting delayed(fp8_recipe_named("te_delayed:hybrid", {{"amax_history_len", 4.0}}));
  // E4M3 has 1.125 and 1.25 above 1; nothing was scaled yet.
  CHECK(cast_by(delayed, site_kind::weight, {1.1875F, -7}) == std::vector<float>{1.25F, -7});
  CHECK(delayed.casts().front().scales.used == 1);
  // 448 / 7 = 64: what is above 7 saturates.
  CHECK(cast_by(delayed, site_kind::weight, {3.5F, 14, 0}) == std::vector<float>{3.5F, 7, 0});
  CHECK(delayed.casts().front().scales.used == 64);
  CHECK(delayed.casts().front().amax == 14);
  CHECK(delayed.casts().front().saturated == 1);
  CHECK(delayed.casts().front().nonzero == 2);

  fp8_casting current(fp8_recipe_named("te_current:hybrid"));
  CHECK(cast_by(current, site_kind::weight, {3.5F, 14, 0x1p-20F}) == std::vector<float>{3.5F, 14, 0});
  CHECK(current.casts().front().scales.used == 32);
  CHECK(current.casts().front().saturated == 0);
  CHECK(current.casts().front().underflow == 1);
}

TEST_CASE(
    "values are multiplied in float32 and come back by the reciprocal, or are divided and come back by the scale") {
  fp8_casting multiplies(fp8_recipe_named("te_current:hybrid"));
  const float scale = 448.0F / 3;
  CHECK(cast_by(multiplies, site_kind::activation, {3, 1}) ==
        std::vector<float>{448 * (1 / scale), 144 * (1 / scale)});  // 149.3 lies between 144 and 160

  fp8_casting divides(fp8_recipe_named("flax:hybrid", {{"amax_history_len", 1.0}}));
  (void)cast_by(divides, site_kind::activation, {3});
  const std::vector<float> made = cast_by(divides, site_kind::activation, {3, 1});
  const auto divisor = static_cast<float>(divides.casts().front().scales.used);
  CHECK(divisor == 3.0F / 448);
  CHECK(made == std::vector<float>{448 * divisor, 144 * divisor});
}

TEST_CASE("gradients have the recipe's other format; what products give stays") {
  fp8_casting hook(fp8_recipe_named("te_current:hybrid"));
  // 57344 / 1.75 = 32768; E5M2 has two bits behind the point.
  CHECK(cast_by(hook, site_kind::activation_grad, {1.75F, 1.1F}) == std::vector<float>{1.75F, 1});
  std::vector<float> values{1.1F, -0.3F};
  for (const site_kind kind : {site_kind::activation, site_kind::activation_grad, site_kind::weight_grad})
    hook.round(operand(kind, 2), values);
  CHECK(values == std::vector<float>{1.1F, -0.3F});
  CHECK(hook.tensors().size() == 1);
}

TEST_CASE("a NaN is passed over by the policies that do so, and makes others' amax NaN") {
  fp8_casting kernel(fp8_recipe_named("te_current:hybrid"));
  const std::vector<float> made = cast_by(kernel, site_kind::weight, {NAN, 7, infinity});
  CHECK(kernel.casts().front().amax == infinity);
  CHECK(std::isnan(made[0]));
  CHECK(made[2] == 448);  // at scale 1, saturated
  CHECK(kernel.casts().front().nonzero == 1);
  (void)cast_by(kernel, site_kind::weight, {NAN, 7});
  CHECK(kernel.casts().front().amax == 7);

  fp8_casting torchao(fp8_recipe_named("torchao_tensorwise"));
  (void)cast_by(torchao, site_kind::weight, {NAN, 7});
  CHECK(std::isnan(torchao.casts().front().amax));
  CHECK(torchao.casts().front().saturated == 0);  // the scale is NaN: it becomes that
}

TEST_CASE("what came in is recorded, with and without a recipe") {
  for (const bool casts : {false, true}) {
    fp8_casting hook(casts ? std::optional(fp8_recipe_named("te_current:hybrid")) : std::nullopt);
    const std::vector<float> values{1.1F, 2.3F, 0};
    CHECK((cast_by(hook, site_kind::weight, values) == values) == !casts);
    REQUIRE(hook.rows().size() == 1);
    CHECK(hook.rows().front().table == count_cells(std::span<const float>(values)));
    CHECK(hook.casts().size() == (casts ? 1 : 0));
    CHECK(hook.tensors().front().kind == tensor_kind::weight);
  }
}
