// Pins that the functions are those of mathematics, to a few units in the last place, and what they do at the ends.
#include "arithmetic/functions.hpp"

#include "support/catch.hpp"

using namespace ulp::train;

namespace {

constexpr double unit = 0x1p-52;

double relative(double is, double should) { return std::fabs(is - should) / std::fabs(should); }

}  // namespace

TEST_CASE("exp, log and tanh are within a few units of the C library's") {
  double worst_exp = 0;
  double worst_log = 0;
  double worst_tanh = 0;
  for (int i = -70000; i <= 70000; ++i) {
    const double x = i / 100.0 + 1e-3;
    worst_exp = std::fmax(worst_exp, relative(exponential(x), std::exp(x)));
    worst_tanh = std::fmax(worst_tanh, std::fabs(hyperbolic_tangent(x / 50) - std::tanh(x / 50)));
    const double y = std::exp(x / 2);
    worst_log = std::fmax(worst_log, std::fabs(logarithm(y) - std::log(y)) / std::fmax(1, std::fabs(std::log(y))));
  }
  CHECK(worst_exp < 4 * unit);
  CHECK(worst_log < 2 * unit);
  CHECK(worst_tanh < 2 * unit);
}

TEST_CASE("at the ends") {
  const double infinity = std::numeric_limits<double>::infinity();
  CHECK(exponential(0) == 1);
  CHECK(exponential(710) == infinity);
  CHECK(exponential(infinity) == infinity);
  CHECK(exponential(-710) == 0);
  CHECK(exponential(-infinity) == 0);
  CHECK(std::isnan(exponential(std::nan(""))));
  CHECK(logarithm(1) == 0);
  CHECK(std::isnan(logarithm(std::nan(""))));
  CHECK(hyperbolic_tangent(0) == 0);
  CHECK(hyperbolic_tangent(infinity) == 1);
  CHECK(hyperbolic_tangent(-infinity) == -1);
  CHECK(std::isnan(hyperbolic_tangent(std::nan(""))));
}
