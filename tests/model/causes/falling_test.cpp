// Pins which losses fall by more than chance: those of a trend below its noise, and never those of one level.
#include <ulp/model/causes/falling.hpp>

#include <cmath>
#include <random>
#include <vector>

#include "support/catch.hpp"

using namespace ulp;

TEST_CASE("losses that fall are told from those that only vary") {
  std::mt19937 random(7);
  std::normal_distribution<double> noise;
  int falls = 0;
  int stands = 0;
  for (int run = 0; run < 1000; ++run) {
    std::vector<double> falling;
    std::vector<double> level;
    for (int i = 0; i < 120; ++i) {
      falling.push_back(3 - 0.01 * i + 0.3 * noise(random));
      level.push_back(3 + 0.3 * noise(random));
    }
    falls += goes_on_falling(falling) ? 1 : 0;
    stands += goes_on_falling(level) ? 1 : 0;
  }
  CHECK(falls > 990);
  CHECK(stands < 6);  // three standard errors: 1.3 of a thousand
}

TEST_CASE("of a few losses, of those that are not finite and of rising ones it is not said") {
  CHECK_FALSE(goes_on_falling(std::vector<double>{}));
  CHECK_FALSE(goes_on_falling(std::vector<double>{5, 4, 3, 2}));
  CHECK(goes_on_falling(std::vector<double>{5, 4.5, 4, 3.5, 3, 2.5}));
  CHECK(goes_on_falling(std::vector<double>{5, NAN, 4.5, 4, INFINITY, 3.5, 3, 2.5}));
  CHECK_FALSE(goes_on_falling(std::vector<double>{NAN, NAN, NAN, NAN, NAN, NAN}));
  CHECK_FALSE(goes_on_falling(std::vector<double>{1, 2, 3, 4, 5, 6}));
  CHECK_FALSE(goes_on_falling(std::vector<double>(40, 2.5)));
}
