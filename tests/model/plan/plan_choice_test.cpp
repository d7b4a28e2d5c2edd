// The choice of treatments against every combination of them.
#include <ulp/model/plan/plan_choice.hpp>

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <vector>

#include "support/catch.hpp"

namespace {

using namespace ulp;

constexpr double infinite = std::numeric_limits<double>::infinity();

// Few values of each, so that many are equal.
std::vector<plan_costs> random_costs(std::mt19937& bits) {
  const auto below = [&](std::uint32_t n) { return static_cast<std::uint32_t>(bits()) % n; };
  const std::size_t tensors = 1 + below(4);
  const std::size_t treatments = 1 + below(4);
  std::vector<plan_costs> settings(1 + below(3), plan_costs(tensors, std::vector<plan_cost>(treatments)));
  for (plan_costs& costs : settings)
    for (std::vector<plan_cost>& of : costs)
      for (plan_cost& c : of)
        c = {1 + below(6), below(5) == 0 ? infinite : std::ldexp(1.0, -static_cast<int>(below(6)))};
  return settings;
}

// In the order of settings, then of the treatments of the last tensor, and so on.
std::vector<plan_choice> all_plans(const std::vector<plan_costs>& settings) {
  std::vector<plan_choice> all;
  for (std::size_t s = 0; s < settings.size(); ++s) {
    const std::size_t treatments = settings[s].front().size();
    std::vector<std::size_t> at(settings[s].size(), 0);
    for (bool more = true; more;) {
      plan_choice plan{.setting = s, .treatments = at};
      for (std::size_t t = 0; t < at.size(); ++t) {
        plan.bits += settings[s][t][at[t]].bits;
        plan.share = std::max(plan.share, settings[s][t][at[t]].share);
      }
      if (std::isfinite(plan.share)) all.push_back(plan);
      std::size_t digit = at.size();
      while (digit > 0 && ++at[digit - 1] == treatments) at[--digit] = 0;
      more = digit > 0;
    }
  }
  return all;
}

TEST_CASE("The cheapest plan is that of an exhaustive search, in bits, setting and treatments") {
  std::mt19937 bits(1);
  std::uint64_t found = 0;
  std::uint64_t impossible = 0;
  for (int trial = 0; trial < 20000; ++trial) {
    const std::vector<plan_costs> settings = random_costs(bits);
    const double most = std::ldexp(1.0, -static_cast<int>(bits() % 6));
    std::optional<plan_choice> best;
    for (const plan_choice& plan : all_plans(settings))
      if (plan.share <= most && (!best || plan.bits < best->bits)) best = plan;
    const std::optional<plan_choice> given = cheapest_plan(settings, most);
    REQUIRE(given.has_value() == best.has_value());
    if (best) REQUIRE(*given == *best);
    ++(best ? found : impossible);
  }
  CHECK(found > 5000);
  CHECK(impossible > 1000);
}

TEST_CASE("The finest plan of a budget is that of an exhaustive search") {
  std::mt19937 bits(2);
  std::uint64_t found = 0;
  std::uint64_t impossible = 0;
  for (int trial = 0; trial < 20000; ++trial) {
    const std::vector<plan_costs> settings = random_costs(bits);
    const std::uint64_t budget = 1 + bits() % 20;
    std::optional<plan_choice> best;
    std::optional<std::uint64_t> least;
    for (const plan_choice& plan : all_plans(settings)) {
      if (!least || plan.bits < *least) least = plan.bits;
      if (plan.bits > budget) continue;
      if (!best || plan.share < best->share || (plan.share == best->share && plan.bits < best->bits)) best = plan;
    }
    const std::optional<plan_choice> given = finest_plan(settings, budget);
    REQUIRE(given.has_value() == best.has_value());
    if (best) {
      REQUIRE(given->share == best->share);
      REQUIRE(given->bits == best->bits);
      REQUIRE(given->setting == best->setting);
    }
    REQUIRE(least_bits(settings) == least);
    ++(best ? found : impossible);
  }
  CHECK(found > 5000);
  CHECK(impossible > 1000);
}

TEST_CASE("A plan without tensors costs nothing, and one that no treatment fits is none") {
  CHECK(cheapest_plan({plan_costs{}}, 0.5)->bits == 0);
  CHECK(!cheapest_plan({}, 0.5));
  CHECK(!cheapest_plan({{{{.bits = 8}}}}, 0.5));
  CHECK(!finest_plan({{{{.bits = 8, .share = 0}}}}, 7));
  CHECK(finest_plan({{{{.bits = 8, .share = 0}}}}, 8));
}

}  // namespace
