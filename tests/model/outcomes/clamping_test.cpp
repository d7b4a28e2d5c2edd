// Pins clipping by value to clamping every element: exactly at recorded edges, inside the ranges elsewhere.
#include <ulp/model/outcomes/clamping.hpp>

#include "support/catch.hpp"

#include <ulp/model/cells/cell_counter.hpp>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

using namespace ulp;

namespace {

struct clamped_values {
  std::uint64_t elements = 0;
  double squares = 0;
};
clamped_values by_clamping(const std::vector<float>& values, double bound, multiplier by) {
  clamped_values truth;
  for (const float x : values) {
    const long double y = std::fabs(static_cast<long double>(x) * by.scale / by.factor);
    truth.elements += y > bound ? 1 : 0;
    const auto clamped = static_cast<double>(std::min<long double>(y, bound));
    truth.squares += clamped * clamped;
  }
  return truth;
}

cell_table counted(const std::vector<float>& values, std::vector<double> edges) {
  cell_counter counter;
  counter.set_edges(edges);
  counter.add(values);
  return counter.take();
}

std::vector<float> some_values() {
  std::mt19937 random(3);
  std::normal_distribution<float> normal(0, 0.01F);
  std::vector<float> values(5000);
  for (float& x : values) x = normal(random);
  for (const float x : {0.0F, 0.0078125F, -0.0078125F, 0x1p-140F, 0.011F, -0.011F, 3.0F}) values.push_back(x);
  return values;
}

}  // namespace

TEST_CASE("at a recorded edge clamping is exact, elsewhere in the range") {
  const std::vector<float> values = some_values();
  for (const double bound : {1e-4, 0.0078125, double{0.011F}, 0.02, 5.0, 0x1p-140})
    for (const multiplier by : {multiplier{}, multiplier{.scale = 1024, .factor = 0x1p12}}) {
      CAPTURE(bound, by.scale, by.factor);
      const clamped_values truth = by_clamping(values, bound, by);
      const clamping exact = clamping_of(counted(values, {1e-3, bound / by.scale * by.factor}), bound, by);
      CHECK(exact.elements == count_range{truth.elements, truth.elements});
      CHECK(exact.squares.exact());
      CHECK(exact.squares.low == Approx(truth.squares).epsilon(1e-12));
      const clamping range = clamping_of(counted(values, {}), bound, by);
      CHECK(range.elements.low <= truth.elements);
      CHECK(range.elements.high >= truth.elements);
      CHECK(range.squares.low <= truth.squares * (1 + 1e-12));
      CHECK(range.squares.high >= truth.squares * (1 - 1e-12));
    }
}

TEST_CASE("with a factor that is not a power of two the range holds the truth") {
  const std::vector<float> values = some_values();
  for (const double bound : {0.001, 0.0078125, 0.3}) {
    const multiplier by{.scale = 1, .factor = 3};
    const clamped_values truth = by_clamping(values, bound, by);
    const clamping range = clamping_of(counted(values, {3 * bound}), bound, by);
    CHECK(range.elements.low <= truth.elements);
    CHECK(range.elements.high >= truth.elements);
    CHECK(range.squares.low <= truth.squares * (1 + 1e-12));
    CHECK(range.squares.high >= truth.squares * (1 - 1e-12));
  }
}

TEST_CASE("infinities become the bound, and NaN is not one of them") {
  const clamping c = clamping_of(counted({1, INFINITY, -INFINITY, NAN, 4}, {2}), 2, {});
  CHECK(c.elements == count_range{3, 3});
  CHECK(c.squares == value_range{1 + 3 * 4, 1 + 3 * 4});
}

TEST_CASE("of values with more than 24 bits the range holds the truth at a recorded edge too") {
  // 1.1 is cut for the sums.
  cell_counter counter;
  counter.set_edges(std::vector<double>{1.25});
  counter.add(std::vector<double>{1.1, 1.3});
  const clamping c = clamping_of(counter.take(), 1.25, {});
  CHECK(c.squares.low <= 1.1 * 1.1 + 1.25 * 1.25);
  CHECK(c.squares.high >= 1.1 * 1.1 + 1.25 * 1.25);
}

TEST_CASE("edges that both have are merged, doubles too") {
  cell_table a = counted({1, 3, 5}, {2, 4});
  const cell_table b = counted({2.5F, 8}, {4});
  const cell_table all = counted({1, 3, 5, 2.5F, 8}, {4});
  cell_table other = b;
  other.merge(a);
  a.merge(b);
  CHECK(a == all);
  CHECK(other == all);
  cell_table none = counted({0}, {});
  none.merge(b);
  CHECK(none.edges == b.edges);

  cell_counter counter;
  counter.set_edges(std::vector<double>{0.1});
  counter.add(std::vector<double>{0.1, std::nextafter(0.1, 1), -0.2});
  CHECK(counter.take().edges.front().above == 2);
  CHECK(counter.take().edges.empty());
}
