// Pins the best trajectory to runs small enough to follow by hand, and to all trajectories of short random runs.
#include <ulp/model/hindsight/hindsight.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "support/catch.hpp"

using namespace ulp;

namespace {

// A step as the test knows it: shares lost at the scales 2^first, 2^(first + 1), ..., and where it overflows.
struct plain_step {
  int overflows_from = never_overflows;
  int first = 0;
  std::vector<double> shares;

  [[nodiscard]] double cost(int k, double weight) const {
    if (overflows_from == always_overflows || (overflows_from != never_overflows && k >= overflows_from)) return 1;
    if (shares.empty()) return 0;
    const auto i = static_cast<std::size_t>(std::clamp(k - first, 0, static_cast<int>(shares.size()) - 1));
    return static_cast<float>(std::min(1.0, weight * shares[i]));
  }
};

run_costs costs_of(const std::vector<plain_step>& run, double weight = 1) {
  run_costs costs(weight);
  for (const plain_step& s : run)
    costs.add({s.overflows_from, s.overflows_from, s.overflows_from},
              {s.first, s.shares, s.shares.empty() ? 0.0 : 1.0});
  return costs;
}

// The least cost over all trajectories of a class within [-reach, reach].
double least_cost(const std::vector<plain_step>& run, double weight, std::optional<int> start,
                  const largest_moves& moves, int reach, double so_far = 0, std::size_t step = 0, int before = 0) {
  if (step == run.size()) return so_far;
  double least = std::numeric_limits<double>::infinity();
  for (int k = -reach; k <= reach; ++k) {
    if (step == 0 && start && k != *start) continue;
    if (step > 0 && (k - before > moves.up || before - k > moves.down)) continue;
    least =
        std::min(least, least_cost(run, weight, start, moves, reach, so_far + run[step].cost(k, weight), step + 1, k));
  }
  return least;
}

// Whether it is of the class, and costs what it says.
void check(const best_trajectory& best, const std::vector<plain_step>& run, double weight, std::optional<int> start,
           const largest_moves& moves) {
  REQUIRE(best.exponents.size() == run.size());
  if (start) CHECK(best.exponents[0] == *start);
  double cost = 0;
  std::uint64_t skipped = 0;
  std::uint64_t moved = 0;
  for (std::size_t t = 0; t < run.size(); ++t) {
    const int k = best.exponents[t];
    CHECK((best.least <= k && k <= best.greatest));
    const int move = t == 0 ? 0 : k - best.exponents[t - 1];
    CHECK((move <= moves.up && -move <= moves.down));
    moved += move != 0 ? 1 : 0;
    cost += run[t].cost(k, weight);
    const int from = run[t].overflows_from;
    skipped += from == always_overflows || (from != never_overflows && k >= from) ? 1 : 0;
  }
  CHECK(best.cost == cost);
  CHECK(best.skipped == skipped);
  CHECK(best.of_magnitude == Approx(cost - static_cast<double>(skipped)).margin(1e-12));
  CHECK(best.moves == moved);
}

}  // namespace

TEST_CASE("a scale that no step minds is kept") {
  const std::vector<plain_step> run(5, {.overflows_from = 8, .first = 2, .shares = {1, 0.5, 0.25, 0}});
  const best_trajectory best = best_in_hindsight(costs_of(run), {}, any_moves);
  CHECK(best.cost == 0);
  CHECK((best.least == 5 && best.greatest == 5));
  // From above it comes down as fast as it may: 2^10 and 2^9 and 2^8 overflow.
  const best_trajectory falling = best_in_hindsight(costs_of(run), 10, {1, 1});
  CHECK(falling.cost == 3);
  CHECK(falling.exponents == std::vector<std::int16_t>{10, 9, 8, 7, 7});
  // From below it rises: 1, 0.5 and 0.25 of the magnitude are lost on the way.
  const best_trajectory rising = best_in_hindsight(costs_of(run), 2, {1, 1});
  CHECK(rising.cost == 1.75);
  CHECK(rising.exponents == std::vector<std::int16_t>{2, 3, 4, 5, 5});
  CHECK(best_in_hindsight(costs_of(run), 2, {2, 1}).cost == 1.25);
  CHECK(best_in_hindsight(costs_of(run), 2, {0, 0}).cost == 5);
}

TEST_CASE("a single bad batch is skipped where going around it costs more") {
  std::vector<plain_step> run(9, {.overflows_from = 10, .first = 6, .shares = {1, 0.4, 0.2, 0}});
  run[4].overflows_from = 7;
  CHECK(best_in_hindsight(costs_of(run), 9, {1, 1}).skipped == 1);  // around: 2 * (0.2 + 0.4) + 1
  CHECK(best_in_hindsight(costs_of(run), 9, {1, 1}).moves == 0);
  // With small gradients a tenth as dear it goes around.
  const best_trajectory around = best_in_hindsight(costs_of(run, 0.1), 9, {1, 1});
  CHECK(around.skipped == 0);
  CHECK(around.least == 6);
  CHECK(around.cost == Approx(2 * (0.02 + 0.04) + 0.1));
}

TEST_CASE("no step costs more than a skip, and steps that overflow at every scale cost all the same") {
  const std::vector<plain_step> run{{.overflows_from = always_overflows}, {.first = 0, .shares = {0.5, 0.25}}};
  CHECK(best_in_hindsight(costs_of(run, 100), 0, {0, 0}).cost == 2);
  CHECK(best_in_hindsight(costs_of(run, 2), {}, any_moves).cost == 1.5);
  CHECK(best_in_hindsight(costs_of({}), 4, {1, 1}).cost == 0);
}

TEST_CASE("open steps are taken as is asked for") {
  run_costs costs;
  costs.add({.certain = 9, .likely = 6, .possible = 3}, {});
  CHECK(costs.has_open_steps());
  for (const auto& [open, from] :
       {std::pair{open_steps::fine, 9}, {open_steps::estimate, 6}, {open_steps::overflow, 3}}) {
    CHECK(!costs.overflows(0, from - 1, open));
    CHECK(costs.overflows(0, from, open));
    CHECK(best_in_hindsight(costs, 5, {0, 0}, open).cost == (from <= 5 ? 1 : 0));
  }
}

TEST_CASE("the least exponent that overflows") {
  CHECK(overflow_exponent_of(8) == 3);
  CHECK(overflow_exponent_of(8.001) == 4);
  CHECK(overflow_exponent_of(0.25) == -2);
  CHECK(overflow_exponent_of(std::numeric_limits<double>::denorm_min()) == always_overflows);
  CHECK(overflow_exponent_of(std::numeric_limits<double>::infinity()) == never_overflows);
}

TEST_CASE("the best of short random runs is the best of all trajectories") {
  std::mt19937 random(9);
  const auto below = [&](unsigned n) { return static_cast<int>(random() % n); };
  constexpr int reach = 4;
  for (int round = 0; round < 400; ++round) {
    std::vector<plain_step> run(1 + random() % 5);
    for (plain_step& s : run) {
      const int kind = below(10);
      s.overflows_from = kind == 0 ? always_overflows : kind == 1 ? never_overflows : below(9) - 3;
      s.first = below(4) - 4;  // so that nothing changes beyond the reach
      if (below(4) != 0) s.shares.resize(1 + random() % 5);
      for (double& x : s.shares) x = below(17) / 16.0;
      // Underflow falls with the scale; with clamping it need not.
      if (below(3) != 0) std::ranges::sort(s.shares, std::greater{});
    }
    const double weight = std::vector{1.0, 0.01, 5.0}[random() % 3];
    const run_costs costs = costs_of(run, weight);
    for (const largest_moves& moves : {largest_moves{1, 1}, {0, 0}, {2, 1}, {0, 3}, {5, 5}, any_moves})
      for (const std::optional<int> start : {std::optional<int>{}, {below(9) - 4}}) {
        const best_trajectory best = best_in_hindsight(costs, start, moves);
        CHECK(best.cost == least_cost(run, weight, start, moves, reach));
        check(best, run, weight, start, moves);
      }
  }
}

// Longer than a block of the search, so that ways are joined from several, and than a block of costs.
TEST_CASE("a long way is of its class and costs what it says") {
  std::mt19937 random(10);
  std::vector<plain_step> run(9000);
  for (plain_step& s : run) {
    s.overflows_from = 5 + static_cast<int>(random() % 12);
    s.first = 0;
    for (int k = 0; k < 9; ++k) s.shares.push_back(std::ldexp(static_cast<double>(random() % 100) / 100, -2 * k));
    std::ranges::sort(s.shares, std::greater{});
  }
  for (const largest_moves& moves : {largest_moves{1, 1}, {1, 4}, {3, 2}, any_moves}) {
    const best_trajectory best = best_in_hindsight(costs_of(run), 30, moves);
    check(best, run, 1, 30, moves);
    const best_trajectory free = best_in_hindsight(costs_of(run), {}, any_moves);
    CHECK(free.cost <= best.cost);
    double of_each = 0;
    for (const plain_step& s : run) {
      double least = 1;
      for (int k = -5; k < 40; ++k) least = std::min(least, s.cost(k, 1));
      of_each += least;
    }
    CHECK(free.cost == of_each);
  }
}

TEST_CASE("regret is what a policy costs beyond the best of its own way, and of all") {
  policy_regret r;
  r.cost = 7;
  r.best.cost = 4;
  r.free.cost = 1;
  CHECK(r.regret() == 3);
  CHECK(r.free_regret() == 6);
}
