// Pins that a change told by two tables is never larger than the change of the values they were counted from, and how
// it is for a factor, a missing tensor and values that are not finite; and the widths of significands.
#include <ulp/model/comparison/row_change.hpp>

#include <cmath>
#include <limits>
#include <random>
#include <ulp/formats/catalog.hpp>
#include <ulp/formats/convert.hpp>
#include <ulp/model/cells/cell_counter.hpp>
#include <vector>

#include "support/catch.hpp"

using namespace ulp;

namespace {

tensor_row row_of(const std::vector<float>& values, double factor = 1) {
  return {.type = dtype::float32, .factor = factor, .table = count_cells(values)};
}

std::vector<float> normal(std::size_t n, unsigned seed) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> draw;
  std::vector<float> x(n);
  for (float& v : x) v = draw(engine);
  return x;
}

double norm_of(const std::vector<float>& x) {
  double sum = 0;
  for (const float v : x) sum += static_cast<double>(v) * static_cast<double>(v);
  return std::sqrt(sum);
}

double change_of(const std::vector<float>& a, const std::vector<float>& b) {
  return least_change(figures_of(row_of(a)), figures_of(row_of(b)));
}

}  // namespace

TEST_CASE("the least change is at most the change of the values") {
  for (unsigned seed = 1; seed <= 200; ++seed) {
    const std::size_t n = 1 + seed % 40 * 7;
    const std::vector<float> a = normal(n, seed);
    const std::vector<float> noise = normal(n, seed + 1000);
    // Any direction, the sum's, or one value.
    for (const int kind : {0, 1, 2})
      for (const float size : {1e-6F, 1e-3F, 0.03F}) {
        std::vector<float> b = a;
        std::vector<float> difference(n);
        for (std::size_t i = 0; i < n; ++i) {
          if (kind == 2 && i > 0) break;
          b[i] += size * (kind == 1 ? 1 : noise[i]);
          difference[i] = b[i] - a[i];
        }
        const double real = norm_of(difference) / std::max(norm_of(a), norm_of(b));
        CAPTURE(seed, kind, size, n);
        // The logarithm of a ratio is a little above its distance from 1.
        if (real < 0.5) CHECK(change_of(a, b) <= -std::log(1 - real) * (1 + 1e-6) + 1e-12);
      }
  }
}

TEST_CASE("changes that tables tell exactly") {
  const std::vector<float> a = normal(1000, 1);
  std::vector<float> twice = a;
  for (float& v : twice) v *= 2;
  CHECK(change_of(a, a) == 0);
  CHECK(change_of(a, twice) == Approx(std::log(2.0)));
  // A factor is divided out.
  CHECK(least_change(figures_of(row_of(a)), figures_of(row_of(twice, 2))) == 0);
  CHECK(change_of(a, std::vector<float>(1000)) == 1);
  CHECK(change_of(std::vector<float>(3), std::vector<float>(3)) == 0);
  // A constant added to all: by the sum.
  std::vector<float> moved = a;
  for (float& v : moved) v += 0.01F;
  CHECK(change_of(a, moved) == Approx(0.01).epsilon(0.05));
  std::vector<float> lost = a;
  lost[7] = std::numeric_limits<float>::quiet_NaN();
  CHECK(std::isinf(change_of(a, lost)));
  CHECK(std::isinf(change_of(a, normal(999, 1))));
}

TEST_CASE("significands are as long as the format that values were rounded to") {
  const std::vector<float> a = normal(1000, 1);
  const auto rounded = [&](const format& f) {
    std::vector<float> x = a;
    round_array(f, x);
    return bits_of(count_cells(x));
  };
  const significand_bits wide = bits_of(count_cells(a));
  CHECK(wide.usual >= 23);
  CHECK(rounded(float16).most == 11);
  CHECK(rounded(bfloat16).most == 8);
  CHECK(is_narrower(rounded(float16), wide));
  CHECK(is_narrower(rounded(bfloat16), rounded(float16)));
  CHECK_FALSE(is_narrower(wide, rounded(float16)));
  CHECK_FALSE(is_narrower(wide, wide));
  // A few values look like float16 by chance.
  CHECK_FALSE(is_narrower(bits_of(count_cells(std::vector<float>{1.5F})), wide));
  CHECK(bits_of(cell_table{}).most == 0);
}

TEST_CASE("an infinity in the place of a NaN is another value") {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const auto with = [](float last) { return figures_of(row_of({1, 2, last})); };
  CHECK(with(infinity) == with(infinity));
  CHECK_FALSE(with(infinity) == with(std::numeric_limits<float>::quiet_NaN()));
}
