// Pins how regrets and best trajectories are told.
#include <ulp/report/tables/regret_text.hpp>

#include "support/catch.hpp"

#include <cstdint>
#include <string>
#include <vector>

using namespace ulp;

namespace {

sweep_result result(double cost, const value_range& cost_bounds, double best, const value_range& best_cost) {
  sweep_result r;
  r.regret.emplace();
  r.regret->cost = cost;
  r.regret->best.cost = best;
  r.regret->best_cost = best_cost;
  r.regret->cost_bounds = cost_bounds;
  return r;
}

}  // namespace

TEST_CASE("a regret is exact, an estimate with bounds, or an estimate") {
  CHECK(regret_text(result(7.5, {7.5, 7.5}, 2, {2, 2})) == "5.5");
  CHECK(regret_text(result(7.5, {7.5, 7.5}, 2, {1, 4})) == "~5.5 [3.5, 6.5]");
  CHECK(regret_text(result(7.5, {3, 9}, 2, {1, 4})) == "~5.5 [0, 8]");
  CHECK(regret_text(result(7.5, {not_known, not_known}, 2, {1, 4})) == "~5.5");
  CHECK(regret_text(result(12345.4, {12345.4, 12345.4}, 0, {0, 0})) == "12,345");
  CHECK(regret_text(result(3e-9, {3e-9, 3e-9}, 0, {0, 0})) == "0");
  // What bounds leave open shows in no digit.
  CHECK(regret_text(result(3e-9, {0, 4e-9}, 0, {0, 0})) == "0");
  CHECK(regret_text({}).empty());
  CHECK(free_regret_text({}).empty());
}

TEST_CASE("the best of all is told once for each format and rounding") {
  swept_policy p{.text = {.scaler = "pytorch", .format = "fp16"}, .result = result(5, {5, 5}, 3, {3, 3})};
  best_trajectory& free = p.result.regret->free;
  free = {.cost = 3.25, .skipped = 3, .of_magnitude = 0.25, .least = 8, .greatest = 10, .moves = 1};
  p.result.regret->free_cost = {3.25, 3.25};
  swept_policy other = p;
  other.text.format = "bf16";
  other.result.regret->free = {.cost = 0, .least = 1, .greatest = 1};
  other.result.regret->free_cost = {0, 2};
  swept_policy none = p;
  none.result = {};
  CHECK(
      best_lines({p, none, other, p}) ==
      std::vector<std::string>{
          "best of all in hindsight, bf16 nearest-even: cost ~0 [0, 2] (0 skipped, 0 for lost magnitude), scale 2",
          "best of all in hindsight, fp16 nearest-even: cost 3.25 (3 skipped, 0.25 for lost magnitude), scales 2^8 to "
          "2^10 in 1 move"});
}

TEST_CASE("steps that all rows share are named: as ranges, and the first ten of many") {
  CHECK(lost_to_all_text({}, false).empty());
  CHECK(lost_to_all_text({7}, false) ==
        "1 step is skipped by every row: its gradients are not finite as recorded (step 7)");
  CHECK(
      lost_to_all_text({1, 2, 5, 6, 7, 9}, true) ==
      "6 steps are skipped by every row, or applied with infinities or NaN: their gradients are not finite as recorded "
      "(steps 1, 2, 5 to 7, 9)");
  std::vector<std::int64_t> many(12);
  for (std::size_t i = 0; i < many.size(); ++i) many[i] = 2 * static_cast<std::int64_t>(i);
  CHECK(
      lost_to_all_text(many, false) ==
      "12 steps are skipped by every row: their gradients are not finite as recorded (steps 0, 2, 4, 6, 8, 10, 12, 14, "
      "16, 18, ... 22)");
  many.resize(10);
  CHECK(lost_to_all_text(many, false).ends_with("14, 16, 18)"));
}
