// Pins: extremes of every stretch equal those found by looking at each value, gaps and all-gap stretches included.
#include <ulp/report/pictures/series_extremes.hpp>

#include <cmath>
#include <cstddef>
#include <random>
#include <vector>

#include "support/catch.hpp"

namespace {

bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

}  // namespace

TEST_CASE("extremes of every stretch are those of its values") {
  std::mt19937 random(3);
  for (const std::size_t size : {0, 1, 15, 16, 17, 255, 256, 257, 300}) {
    std::vector<double> values(size);
    for (double& v : values) v = random() % 5 == 0 ? std::nan("") : static_cast<double>(random() % 1000) - 500;
    if (size > 40) std::fill(values.begin() + 8, values.begin() + 40, std::nan(""));
    const auto of = [&](std::size_t i) { return values[i]; };
    const ulp::series_extremes kept(size, of);
    std::size_t wrong = 0;
    for (std::size_t first = 0; first <= size; ++first)
      for (std::size_t last = first; last <= size; ++last) {
        ulp::extremes expected;
        for (std::size_t i = first; i < last; ++i) expected.add(values[i]);
        const ulp::extremes found = kept.between(first, last, of);
        wrong += same(found.least, expected.least) && same(found.greatest, expected.greatest) ? 0 : 1;
      }
    CHECK(wrong == 0);
  }
}

TEST_CASE("a long series is asked for few of its values") {
  constexpr std::size_t size = 1'000'000;
  const ulp::series_extremes kept(size, [](std::size_t i) { return static_cast<double>(i); });
  std::size_t asked = 0;
  const auto counted = [&](std::size_t i) {
    ++asked;
    return static_cast<double>(i);
  };
  const ulp::extremes found = kept.between(1, size - 1, counted);
  CHECK(found.least == 1);
  CHECK(found.greatest == size - 2);
  CHECK(asked <= 30);
}
