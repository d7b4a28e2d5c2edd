// Pins lost updates of single elements to published stalls, to sums over all draws of the codec, and to exact rules at 1.
#include <ulp/model/updates/lost_update.hpp>

#include "support/catch.hpp"

#include <ulp/formats/arithmetic.hpp>
#include <ulp/formats/catalog.hpp>
#include <ulp/formats/codec.hpp>
#include <ulp/formats/names.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

using namespace ulp;

namespace {

lost_updates of_one(double weight, double update, const format& f, const rounding& mode = {}) {
  return count_lost_updates(std::vector{weight}, std::vector{update}, {f, mode});
}
bool is_lost(double weight, double update, const format& f) { return of_one(weight, update, f).lost.low == 1; }

double rounded(const format& f, double x) { return to_double(f, encode(f, x).code); }

// Where w <- w - step * (w - target), rounded once, halts.
double halt(const format& f, double from, double target, double step) {
  for (double w = from;;) {
    const double next = rounded(f, w - step * (w - target));
    if (next == w) return w;
    w = next;
  }
}

double share_lost(const format& f, double learning_rate) {
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal;
  std::vector<double> weights;
  std::vector<double> updates;
  for (int i = 0; i < 200'000; ++i) {
    weights.push_back(static_cast<float>(0.02 * normal(random)));
    updates.push_back(static_cast<float>(learning_rate * normal(random)));
  }
  return count_lost_updates(weights, updates, {f}).lost_share().low;
}

}  // namespace

// Zamirai et al. 2020, arXiv 2010.06192: weights halt in a ball that grows with the spacing over the step.
TEST_CASE("gradient descent on a parabola halts where the update is lost, within the stall radius") {
  CHECK(halt(bfloat16, 2, 1.25, 0.01) == 1.640625);
  CHECK(halt(float16, 2, 1.25, 0.01) == 1.298828125);
  CHECK(halt(cbfloat16, 2, 1.25, 0.01) == 1.34765625);
  for (const format& f : {bfloat16, float16, cbfloat16}) {
    const double w = halt(f, 2, 1.25, 0.01);
    const double update = -0.01 * (w - 1.25);
    CHECK(is_lost(w, update, f));
    const double before = to_double(f, encode(f, w).code + 1);
    CHECK(!is_lost(before, -0.01 * (before - 1.25), f));
    CHECK(w - 1.25 <= stall_radius(of_one(w, update, f).largest_spacing, 0.01, 1));
  }
  // The bound itself, to the bit.
  CHECK(stall_radius(-7, 0.01, 1) == 1.640625 - 1.25);
}

TEST_CASE("at exactly 1 an update must exceed 2^-(M+2) downward and 2^-(M+1) upward") {
  for (const format& f : {bfloat16, float16, cbfloat16, float8_e5m2}) {
    const double down = std::ldexp(1, -f.fraction_bits - 2);
    CHECK(is_lost(1, -down, f));
    CHECK(!is_lost(1, -std::nextafter(down, 1), f));
    CHECK(is_lost(1, 2 * down, f));
    CHECK(!is_lost(1, std::nextafter(2 * down, 1), f));
    CHECK(is_lost(-1, down, f));
    CHECK(!is_lost(-1, std::nextafter(down, 1), f));
    const lost_updates one = of_one(1, -down, f);
    CHECK(one.at_one == count_range{1, 1});
    CHECK(one.lost_at_one == count_range{1, 1});
  }
  // A learning rate of 6e-4 under Adam: bfloat16 holds 0.9994 as 1.
  CHECK(is_lost(1, -6e-4, bfloat16));
  CHECK(!is_lost(1, -6e-4, float16));
}

// Second moments v * beta2, the product a double, of every significand, as Collage (arXiv 2405.03637) has its example.
TEST_CASE("second moments in bfloat16 do not decay with beta2 = 0.999") {
  const auto stuck = [](const format& f, double beta2) {
    std::vector<double> v;
    std::vector<double> change;
    for (std::uint64_t code = encode(f, 1.0).code; code < encode(f, 2.0).code; ++code) {
      v.push_back(to_double(f, code));
      change.push_back(v.back() * beta2 - v.back());
    }
    return count_lost_updates(v, change, {f}).lost_share().low;
  };
  CHECK(stuck(bfloat16, 0.999) == 1);
  CHECK(std::fabs(stuck(bfloat16, 0.998) - 0.953) < 0.0005);
  CHECK(std::fabs(stuck(bfloat16, 0.997) - 0.297) < 0.0005);
  CHECK(stuck(bfloat16, 0.996) == 0);
  CHECK(stuck(float16, 0.999) == 0);
  CHECK(stuck(cbfloat16, 0.999) == 0);
}

TEST_CASE("the ladder of learning rates for normal weights of deviation 0.02") {
  struct row {
    double learning_rate, float16, cbfloat16, bfloat16;  // percent
  };
  for (const row& r : {row{1e-4, 4.5, 8.9, 32.4}, row{1e-5, 38.7, 59.9, 88.4}, row{1e-6, 90.7, 95.3, 98.8}}) {
    CHECK(std::fabs(100 * share_lost(float16, r.learning_rate) - r.float16) < 0.5);
    CHECK(std::fabs(100 * share_lost(cbfloat16, r.learning_rate) - r.cbfloat16) < 0.5);
    CHECK(std::fabs(100 * share_lost(bfloat16, r.learning_rate) - r.bfloat16) < 0.5);
  }
}

TEST_CASE("under stochastic rounding the chance is the share of draws that give the weight back") {
  std::mt19937_64 random(3);
  const format f = ieee_format(4, 3);
  for (const stochastic_definition definition :
       {stochastic_definition::a, stochastic_definition::b, stochastic_definition::c})
    for (const int bits : {1, 3, 6})
      for (int i = 0; i < 4000; ++i) {
        const rounding mode{.direction = direction::stochastic, .definition = definition, .random_bits = bits};
        const std::uint64_t code = random() % 256;
        const double weight = to_double(f, code);
        // Few bits, so that ties and multiples of the draws' step are frequent.
        const double update = std::ldexp(static_cast<double>(random() % 64), static_cast<int>(random() % 20) - 18) *
                              (random() % 2 == 0 ? 1 : -1);
        const lost_updates counted = of_one(weight, update, f, mode);
        if (!std::isfinite(weight) || update == 0) {
          CHECK(counted.updates.high == 0);
          continue;
        }
        std::uint32_t same = 0;
        for (std::uint32_t r = 0; r < 1U << bits; ++r)
          same += to_double(f, add(f, decode(weight), decode(update), mode, r).code) == weight ? 1U : 0U;
        const double share = same / std::ldexp(1, bits);
        CAPTURE(weight, update, bits, static_cast<int>(definition));
        CHECK(counted.expected_lost == value_range{share, share});
        CHECK(counted.lost.low == (same == 1U << bits ? 1 : 0));
      }
}

TEST_CASE("with all random bits the chance is 1 - |update| / spacing, and none is never moved") {
  const rounding mode{.direction = direction::stochastic, .random_bits = exact_probability};
  CHECK(of_one(1, std::ldexp(1, -10), bfloat16, mode).expected_lost.low == 1 - std::ldexp(1, -3));
  CHECK(of_one(1, -std::ldexp(1, -10), bfloat16, mode).expected_lost.low == 1 - std::ldexp(1, -2));
  CHECK(of_one(1, 1e-300, bfloat16, mode).lost.low == 0);
}

TEST_CASE("what is no update is told apart") {
  const double inf = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> weights{1, 1, nan, inf, 70000, 0, -0.0, 1e-30};
  const std::vector<double> updates{0, inf, 1, 1, 1e-9, 1e-9, 1, -1e-30};
  const lost_updates all = count_lost_updates(weights, updates, {float16});
  CHECK(all.numel == 8);
  CHECK(all.zero_updates == 1);
  CHECK(all.nonfinite == 3);
  CHECK(all.overflowing == count_range{1, 1});
  CHECK(all.updates == count_range{3, 3});
  CHECK(all.lost == count_range{2, 2});
  CHECK(count_lost_updates({}, {}, {float16}).numel == 0);
  CHECK(std::isnan(count_lost_updates({}, {}, {float16}).lost_share().low));
  CHECK_THROWS_AS(count_lost_updates(weights, {}, {float16}), std::invalid_argument);
}

// Twenty weights of 2^-20 and eighty of 1: ten updates of 2^-27, which are zero as differences of bfloat16 weights and which float16
// loses, ten of 2^-18 and eighty of 2^-9, that float16 loses and keeps.
TEST_CASE(
    "a zero difference may be an update that another format keeps, so the lower end does not take it for no update") {
  std::vector<double> weights(100, 1);
  std::vector<double> updates(100, std::ldexp(1, -9));
  std::fill_n(weights.begin(), 20, std::ldexp(1, -20));
  std::fill_n(updates.begin(), 10, std::ldexp(1, -27));
  std::fill_n(updates.begin() + 10, 10, std::ldexp(1, -18));
  const double truth = count_lost_updates(weights, updates, {float16}).lost_share().low;
  std::vector<double> differences;
  for (std::size_t i = 0; i < 100; ++i) differences.push_back(rounded(bfloat16, weights[i] + updates[i]) - weights[i]);
  lost_updates of_differences = count_lost_updates(weights, differences, {float16});
  of_differences.open_zero_updates();
  CHECK(of_differences.open_zeros > 50);
  CHECK(of_differences.lost_share().low <= truth);
  CHECK(of_differences.lost_share().high >= truth);
  // Without open zeros it is what was counted.
  const lost_updates exact = count_lost_updates(weights, updates, {bfloat16});
  CHECK(exact.lost_share().low == static_cast<double>(exact.lost.low) / 100);
  CHECK(exact.lost_share().exact());
}

TEST_CASE("of zero differences only those of weights at 1 may be stuck there") {
  lost_updates of =
      count_lost_updates(std::vector<double>{1, -1, 2, 3, 1}, std::vector<double>{0, 0, 0, 0, 1}, {bfloat16});
  CHECK(of.at_one == count_range{1, 1});
  of.open_zero_updates();
  CHECK(of.lost == count_range{0, 4});
  CHECK(of.at_one == count_range{1, 3});
  CHECK(of.lost_at_one == count_range{0, 2});
}

TEST_CASE("a checkpoint in the format changes the weights that it does not hold") {
  const std::vector<double> weights{1, 1.001, -0.5, 1e-9, 0, std::numeric_limits<double>::quiet_NaN(), 1e9};
  CHECK(count_changed(weights, {bfloat16}) == 3);
  CHECK(count_changed(weights, {float16}) == 3);
}
