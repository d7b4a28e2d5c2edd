// Pins: rates are those of the clipping that is replayed, for any bound; a bound for a share holds what it promises, and one a
// digit lower does not; infinite and unknown steps are apart.
#include <ulp/report/pictures/clip_rates.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include <ulp/model/replay/clipping.hpp>

#include "support/catch.hpp"

using ulp::clip_rates;

namespace {

std::vector<double> some_norms(std::size_t count) {
  std::mt19937 random(5);
  std::vector<double> all(count);
  for (double& x : all) x = std::exp2(static_cast<double>(random() % 20000) / 1000 - 15);
  return all;
}

}  // namespace

TEST_CASE("rates of clipping are those of each bound") {
  const std::vector<double> norms = some_norms(777);
  const clip_rates by_norm(clip_rates::compares::norm, norms);
  const clip_rates by_value(clip_rates::compares::value, norms);
  for (const double bound : {1e-9, 1e-6, 0.001, norms[3], norms[3] + 1e-6, 1.0, 100.0}) {
    CHECK(by_norm.triggers(bound) == static_cast<std::size_t>(std::ranges::count_if(
                                         norms, [&](double n) { return ulp::norm_clipping{bound}.triggers(n); })));
    CHECK(by_value.triggers(bound) == static_cast<std::size_t>(std::ranges::count_if(
                                          norms, [&](double n) { return ulp::value_clipping{bound}.triggers(n); })));
  }
}

TEST_CASE("a bound for a share is the least that keeps to it") {
  for (const auto what : {clip_rates::compares::norm, clip_rates::compares::value})
    for (const std::size_t count : {1, 30, 100, 777}) {
      const clip_rates rates(what, some_norms(count));
      for (const double share : {0.0, 0.01, 0.05, 0.1, 0.5}) {
        const auto most = static_cast<std::size_t>(std::lround(std::floor(share * static_cast<double>(count) + 1e-9)));
        const double bound = rates.bound_for(share);
        CHECK(rates.triggers(bound) <= most);
        const double less = bound - std::pow(10, std::floor(std::log10(bound)) - 3);
        CHECK(rates.triggers(less * (1 - 1e-12)) > most);
      }
    }
}

TEST_CASE("a hundredth of a hundred steps is one step") {
  std::vector<double> norms;
  for (int i = 1; i <= 100; ++i) norms.push_back(i);
  const clip_rates rates(clip_rates::compares::norm, norms);
  CHECK(rates.bound_for(0.01) == 99.01);  // 99 itself would trigger in two
  CHECK(rates.triggers(99) == 2);
  CHECK(rates.bound_for(0.05) == 95.01);
  CHECK(rates.quantile(0.99) == 99);
  CHECK(rates.quantile(1) == 100);
  CHECK(clip_rates(clip_rates::compares::value, norms).bound_for(0.01) == 99);
}

TEST_CASE("steps without a finite norm are apart") {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const clip_rates rates(clip_rates::compares::norm, {1, infinity, std::nan(""), 0, 3, infinity});
  CHECK(rates.finite() == 3);
  CHECK(rates.infinite() == 2);
  CHECK(rates.triggers(2) == 1);
  CHECK(rates.rate(2) == 1.0 / 3);
  CHECK(std::isnan(rates.bound_for(1)));
  const clip_rates none(clip_rates::compares::norm, {std::nan("")});
  CHECK(none.triggers(1) == 0);
  CHECK(std::isnan(none.bound_for(0.05)));
  CHECK(clip_rates(clip_rates::compares::norm, {0, 0}).bound_for(0.05) == 1e-6);
  CHECK(std::isnan(clip_rates(clip_rates::compares::value, {0, 0}).bound_for(0.05)));
}
