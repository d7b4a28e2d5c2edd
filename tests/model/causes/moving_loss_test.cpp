// Pins which losses move by more than chance: those of a trend below its noise, and never those of one level.
#include <ulp/model/causes/moving_loss.hpp>

#include <cmath>
#include <random>
#include <vector>

#include "support/catch.hpp"

using namespace ulp;

namespace {

// How many of a thousand runs move: a level, a slope for each step, noise, and how much of the noise of the step before stays.
int moves_of(int steps, double slope, double noise, double stays, double mean_of = 0) {
  std::mt19937 random(7);
  std::normal_distribution<double> normal;
  int moves = 0;
  for (int run = 0; run < 1000; ++run) {
    std::vector<double> losses;
    double error = normal(random);
    double smoothed = 3;
    for (int i = 0; i < steps; ++i) {
      error = stays * error + std::sqrt(1 - stays * stays) * normal(random);
      const double loss = 3 - slope * i + noise * error;
      smoothed = mean_of * smoothed + (1 - mean_of) * loss;
      losses.push_back(smoothed);
    }
    moves += goes_on_moving(losses) ? 1 : 0;
  }
  return moves;
}

}  // namespace

TEST_CASE("losses that rise or fall are told from those that only vary") {
  CHECK(moves_of(120, 0.01, 0.3, 0) > 990);
  CHECK(moves_of(120, -0.01, 0.3, 0) > 990);
  CHECK(moves_of(20, 0, 0.3, 0) < 10);
  CHECK(moves_of(120, 0, 0.3, 0) < 5);
  CHECK(moves_of(120, 0, 0.3, 0.5) < 10);
  CHECK(moves_of(120, 0, 0.3, 0.9) < 30);
  CHECK(moves_of(120, 0, 0.3, 0, 0.98) < 10);  // a running mean
}

TEST_CASE("of few losses, of those that are not finite and of equal ones it is not said") {
  const auto line = [](int n, double slope) {
    std::mt19937 random(3);
    std::normal_distribution<double> noise;
    std::vector<double> losses;
    for (int i = 0; i < n; ++i) losses.push_back(5 + slope * i + 0.1 * noise(random));
    return losses;
  };
  CHECK_FALSE(goes_on_moving(std::vector<double>{}));
  CHECK_FALSE(goes_on_moving(line(19, -0.1)));
  CHECK(goes_on_moving(line(20, -0.1)));
  CHECK(goes_on_moving(line(40, 0.1)));
  CHECK_FALSE(goes_on_moving(line(40, 0)));
  CHECK_FALSE(goes_on_moving(std::vector<double>(40, NAN)));
  CHECK_FALSE(goes_on_moving(std::vector<double>(40, 2.5)));
  CHECK_FALSE(goes_on_moving(std::vector<double>(48, 2.1)));
  std::vector<double> with_gaps = line(40, -0.1);
  with_gaps[7] = NAN;
  with_gaps[20] = INFINITY;
  CHECK(goes_on_moving(with_gaps));
}

TEST_CASE("some losses lie above others where their means do by more than chance, and noticeably") {
  const std::vector<double> low{2, 2.1, 1.9, 2};
  CHECK(lie_above(std::vector<double>{3, 3.1, 2.9}, low));
  CHECK_FALSE(lie_above(low, std::vector<double>{3, 3.1, 2.9}));
  CHECK_FALSE(lie_above(std::vector<double>{2.1, 2.11, 2.1}, low));
  CHECK_FALSE(lie_above(std::vector<double>{1, 9, 1}, low));
  CHECK_FALSE(lie_above(std::vector<double>{2.05, 2.051, 2.049}, std::vector<double>{2, 2.001, 1.999}));
  CHECK_FALSE(lie_above(std::vector<double>{3, 3}, low));
}

TEST_CASE("losses that rise do not fall") {
  std::vector<double> falling;
  for (int i = 0; i < 60; ++i) falling.push_back(5 - 0.02 * i + 0.05 * (i % 3));
  CHECK(goes_on_falling(falling));
  std::ranges::reverse(falling);
  CHECK(goes_on_moving(falling));
  CHECK_FALSE(goes_on_falling(falling));
}
