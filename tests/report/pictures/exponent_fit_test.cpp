// Pins which exponents a picture shows: all gradients and the limits near them; limits far away, brief or infinite, and a few
// gradients far from all others do not squeeze it.
#include <ulp/report/pictures/exponent_fit.hpp>

#include <cmath>
#include <limits>

#include "support/catch.hpp"

using ulp::exponent_fit;
using ulp::fitted_exponents;
using ulp::limit_stretch;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

std::map<int, double> even(int low, int high) {
  std::map<int, double> counts;
  for (int k = low; k <= high; ++k) counts[k] = 1000;
  return counts;
}

exponent_fit fit(const std::map<int, double>& counts, const std::vector<std::vector<limit_stretch>>& limits = {}) {
  return fitted_exponents(counts, limits).value();
}

}  // namespace

TEST_CASE("all gradients and the limits near them are shown") {
  CHECK(!fitted_exponents({}, {{{{0, 0}, 1}}}));
  CHECK(!fitted_exponents({{3, 0.0}}, {}));
  const exponent_fit alone = fit(even(-20, -3));
  CHECK(alone.low == -22);
  CHECK(alone.high == 0);
  CHECK(alone.least == -20);
  CHECK(alone.greatest == -3);
  // Of float16 at the scale 2^10: everything lies inside.
  const exponent_fit usual = fit(even(-20, -3), {{{{6, 6}, 5}}, {{{-24, -24}, 5}}, {{{-35, -35}, 5}}});
  CHECK(usual.low == -37);
  CHECK(usual.high == 8);
}

TEST_CASE("what is far away, brief or infinite does not squeeze the picture") {
  CHECK(fit(even(-20, -3), {{{{128, 128}, 5}}}).high == 0);
  CHECK(fit(even(-20, -3), {{{{infinity, infinity}, 5}}, {{{NAN, NAN}, 5}}}).high == 0);
  const std::vector<limit_stretch> brief{{{0, 0}, 95}, {{15, 15}, 5}};
  CHECK(fit(even(-20, -3), {brief}).high == 2);
  const std::vector<limit_stretch> half{{{0, 0}, 50}, {{15, 15}, 50}};
  CHECK(fit(even(-20, -3), {half}).high == 17);
  const std::vector<limit_stretch> risen{{{9, 9}, 95}, {{15, 15}, 5}};
  CHECK(fit(even(-20, -3), {risen}).high == 11);
  // On its way to where it is not seen it is not followed.
  const std::vector<limit_stretch> rising{{{0, 0}, 50}, {{15, 15}, 5}, {{40, infinity}, 45}};
  CHECK(fit(even(-20, -3), {rising}).high == 2);
  const std::vector<limit_stretch> collapsed{{{0, 0}, 50}, {{40, 40}, 50}};
  CHECK(fit(even(-20, -3), {collapsed}).high == 2);
}

TEST_CASE("a few gradients far from all others are left out, near ones are not") {
  std::map<int, double> counts = even(-20, -3);
  counts[60] = 0.001;
  counts[-90] = 0.001;
  counts[-25] = 0.001;
  const exponent_fit f = fit(counts);
  CHECK(f.high == 0);
  CHECK(f.greatest == 60);
  CHECK(f.least == -90);
  CHECK(f.low == -22);
  counts.erase(-90);
  CHECK(fit(counts).low == -27);
  CHECK(fit(even(-140, 0)).low == -74);
}
