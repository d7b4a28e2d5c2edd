// Pins what is said of FP8 trainings: where a replay differs, and how far the open loop's scales are from the closed one's.
#include "cli/tables/fp8_loop_table.hpp"

#include <algorithm>
#include <limits>

#include "support/catch.hpp"

using namespace ulp;
using namespace ulp::cli;

namespace {

std::vector<fp8_loop_result> two_seeds() {
  fp8_kind_outcome weights{.steps = 3, .binades_apart = {0.5, 0, 0.25}};
  weights.closed = {.saturating = 1, .nonzero = 8, .saturated = {2, 2}, .underflow = {4, 4}};
  weights.open = {.saturating = 2, .nonzero = 8, .saturated = {1, 3}, .underflow = {2, 4}};
  fp8_loop_result seed{.replayed = 3, .identical = 3, .exact = 2, .loss = 1.5, .float32_loss = 1};
  seed.kinds[tensor_kind::weight] = weights;
  return {seed, seed};
}

std::string line_of(const std::vector<fp8_loop_result>& seeds, const std::string& title) {
  const fp8_loop_options o{.training = {}, .recipe = fp8_recipe_named("te_delayed"), .steps = 1, .judged = 1};
  const summary all = summary_of({.model = "mlp", .options = o, .seeds = seeds});
  return std::ranges::find(all, title, &summary_line::title)->text;
}

}  // namespace

TEST_CASE("kinds are added up over seeds") {
  const table t = kinds_table(two_seeds());
  CHECK(to_csv(t) ==
        "kind,tensor_steps,compared_scales,median_binades_apart,most_binades_apart,closed_saturating_steps,"
        "open_saturating_steps,closed_nonzero,open_nonzero,closed_saturated,open_saturated_low,open_saturated_high,"
        "closed_underflow,open_underflow_low,open_underflow_high\n"
        "weight,6,6,0.25,0.5,2,4,16,16,4,2,6,8,4,8\n");
  CHECK(to_text(t).find("[25, 50] %") != std::string::npos);
}

TEST_CASE("a replay that differs is said to, with the first place") {
  std::vector<fp8_loop_result> seeds = two_seeds();
  CHECK(is_identical(seeds));
  CHECK(line_of(seeds, "self-replay") ==
        "identical in 6 of 6 steps of tensors: scales bit for bit, counts in their ranges; in 66.7 % these are exact");
  CHECK(line_of(seeds, "loss").starts_with("1.5000 ± 0, 0.5000 ± 0 above that of float32"));
  seeds[1].loss = std::numeric_limits<double>::infinity();
  CHECK(line_of(seeds, "loss").starts_with("inf, that of float32 1.0000 ± 0: mean of the last 1 step"));
  seeds[1].seed = 4;
  seeds[1].identical = 2;
  seeds[1].first_difference = {.step = 7, .tensor = "head.weight"};
  CHECK_FALSE(is_identical(seeds));
  CHECK(line_of(seeds, "self-replay") ==
        "identical in 5 of 6 steps of tensors; first it differs in step 7 of head.weight (seed 4)");
}
