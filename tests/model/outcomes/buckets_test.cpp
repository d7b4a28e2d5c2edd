// Pins what is told of buckets to the values that were counted in them, each rounded by the reference: every range holds
// the truth, for formats, roundings and scales; and that buckets merge, replay and sweep as cells do.
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include <ulp/formats/names.hpp>
#include <ulp/model/cells/cell_counter.hpp>
#include <ulp/model/outcomes/clamping.hpp>
#include <ulp/model/outcomes/expectation.hpp>
#include <ulp/model/outcomes/lost_mass.hpp>
#include <ulp/model/outcomes/noise.hpp>
#include <ulp/model/replay/replay.hpp>
#include <ulp/model/sweep/sweep.hpp>

#include "support/catch.hpp"
#include "support/raw.hpp"

using namespace ulp;
using namespace ulp::test;

namespace {

// Edges ten per cent apart from 1e-12 to 1e4, mirrored, and 0: as TensorBoard has them, but for its ends.
std::vector<double> edges() {
  std::vector<double> all{0};
  for (double x = 1e-12; x < 1e4; x *= 1.1) {
    all.push_back(x);
    all.push_back(-x);
  }
  std::ranges::sort(all);
  return all;
}

cell_table bucketed(const std::vector<double>& values, const std::vector<double>& at) {
  cell_table t;
  std::vector<std::uint64_t> counts(at.size());
  for (const double x : values) {
    ++t.numel;
    if (std::isnan(x)) {
      ++t.nans;
      continue;
    }
    ++counts[static_cast<std::size_t>(std::ranges::upper_bound(at, x) - at.begin())];
    t.max_abs = std::max(t.max_abs, std::fabs(x));
  }
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] == 0) continue;
    t.buckets.push_back({at[i - 1], at[i], counts[i]});
    t.maybe_zeros += t.buckets.back().may_hold_zero() ? counts[i] : 0;
  }
  t.min_abs = t.buckets.empty() ? 0 : not_known;
  return t;
}

std::vector<double> values_of(unsigned seed, std::size_t n, double middle = -24) {
  std::mt19937 random(seed);
  std::normal_distribution<double> exponent(middle, 8);
  std::vector<double> all;
  for (std::size_t i = 0; i < n; ++i) {
    const auto x = static_cast<float>(std::clamp(std::exp2(exponent(random)), 0.0, 9e3));
    all.push_back(random() % 10 == 0 ? 0 : random() % 2 == 0 ? -x : x);
  }
  return all;
}

cell_table counted(const std::vector<double>& values) {
  const std::vector<float> floats(values.begin(), values.end());
  return count_cells(floats);
}

const std::vector<ulp::format> formats{float16, bfloat16, cbfloat16, float8_e4m3fn, float8_e5m2, dlfloat16, binary32};

// What a range of counts may be, zeros apart.
bool holds(const outcome_counts& told, const outcome_counts& truth) {
  return told.numel == truth.numel && told.nonfinite == truth.nonfinite &&
         contains(told.zeros(), {truth.zero, truth.zero}) && contains(told.underflow, truth.underflow) &&
         contains(told.subnormal, truth.subnormal) && contains(told.normal, truth.normal) &&
         contains(told.overflow, truth.overflow) && contains(told.infinite, truth.infinite);
}

}  // namespace

TEST_CASE("outcomes of buckets hold those of the values") {
  const auto at = edges();
  for (unsigned seed = 0; seed < 3; ++seed) {
    const auto values = values_of(seed, 400, seed == 2 ? -2 : -24);
    const cell_table t = bucketed(values, at);
    for (const ulp::format& to : formats)
      for (const rounding& mode : all_modes())
        for (const double scale : {1.0, 0x1p8, 0x1p15, 1000.0, 0x1p60, 0x1p-20}) {
          const outcome_counts truth = count_raw(values, to, mode, scale);
          if (!holds(outcomes_of(t, {to, mode}, {.scale = scale}), truth))
            FAIL_CHECK(seed << ' ' << to_string(mode) << ' ' << scale);
        }
  }
}

TEST_CASE("the largest value decides overflow, whatever its bucket") {
  // One value of [1e3, 1.1e5], and it is 65519 or 65520: the last that float16 rounds down, and the next.
  for (const double largest : {65519.0, 65520.0}) {
    cell_table t;
    t.numel = 3;
    t.max_abs = largest;
    t.min_abs = not_known;
    t.buckets = {{-1.1e5, -1e3, 1}, {1e3, 1.1e5, 2}};
    const outcome_counts c = outcomes_of(t, {float16}, {});
    CHECK(c.overflow == (largest == 65520 ? count_range{1, 3} : count_range{0, 0}));
    CHECK(c.infinite == c.overflow);
    CHECK(count_above(t, 65519, {}) == (largest == 65520 ? count_range{1, 3} : count_range{0, 0}));
  }
}

TEST_CASE("a bucket that may hold zeros counts nothing for certain") {
  cell_table t;
  t.numel = 5;
  t.maybe_zeros = 4;
  t.max_abs = 1;
  t.min_abs = not_known;
  t.buckets = {{0, 1e-12, 4}, {1, 1, 1}};
  const outcome_counts c = outcomes_of(t, {float16}, {});
  CHECK(c.zeros() == count_range{0, 4});
  CHECK(c.nonzero() == count_range{1, 5});
  CHECK(c.underflow == count_range{0, 4});
  CHECK(c.normal == count_range{1, 1});
  CHECK(underflow_share(c) == value_range{0, 0.8});
  CHECK(share_of_nonzero(c, c.normal) == value_range{0.2, 1});
  for (const double scale : {0.0, std::numeric_limits<double>::infinity()}) {
    const outcome_counts all = outcomes_of(t, {float16}, {.scale = scale});
    CHECK((scale == 0 ? all.underflow : all.overflow) == count_range{1, 5});
  }
  CHECK(expected_outcomes_of(t, {float16, {.direction = direction::stochastic}}, {.scale = 0}).underflow.mean ==
        value_range{1, 5});
}

TEST_CASE("counts above an edge, clamping, lost mass and noise hold the truth") {
  const auto at = edges();
  const auto values = values_of(7, 500);
  const cell_table t = bucketed(values, at);
  const cell_table exact = counted(values);
  for (const double edge : {1e-9, 0x1p-24, 1e-3, 1.0}) {
    const count_range above = count_above(t, edge, {});
    const auto truth =
        static_cast<std::uint64_t>(std::ranges::count_if(values, [&](double x) { return std::fabs(x) > edge; }));
    CHECK(contains(above, {truth, truth}));
    const clamping a = clamping_of(t, edge, {});
    double squares = 0;
    for (const double x : values) squares += std::min(std::fabs(x), edge) * std::min(std::fabs(x), edge);
    CHECK(a.squares.low <= squares * (1 + 1e-12));
    CHECK(a.squares.high >= squares * (1 - 1e-12));
  }
  const value_range all = magnitudes_bounds(t);
  CHECK(all.low <= magnitudes_sum(exact).value);
  CHECK(all.high >= magnitudes_sum(exact).value);
  CHECK(magnitudes_bounds(exact).exact());
  for (const ulp::format& to : formats)
    for (const rounding& mode : all_modes())
      for (const double scale : {1.0, 0x1p15}) {
        const lost_mass told = lost_to_underflow(t, {to, mode}, {.scale = scale});
        lost_mass truth;
        double signal = 0;
        double error = 0;
        for (const double x : values) {
          const encoded result = encode(to, product(x, scale), mode);
          if (x == 0 || any(result.flags, status::overflow)) continue;
          const double e = x - to_double(to, result.code) / scale;
          signal += x * x;
          error += e * e;
          if ((result.code & to.magnitude_mask()) == 0) truth += {{std::fabs(x), std::fabs(x)}, {x * x, x * x}};
        }
        constexpr double little = 1e-12;
        CAPTURE(to_string(mode), scale);
        CHECK(told.magnitudes.low <= truth.magnitudes.low * (1 + little));
        CHECK(told.magnitudes.high >= truth.magnitudes.low * (1 - little));
        CHECK(told.squares.low <= truth.squares.low * (1 + little));
        CHECK(told.squares.high >= truth.squares.low * (1 - little));
        const rounding_noise noise = noise_of(t, {to, mode}, {.scale = scale});
        CHECK_FALSE(noise.exact);
        CHECK(noise.least_signal <= signal * (1 + little));
        CHECK(noise.most >= error * (1 - little));
        if (mode.direction == direction::nearest_even && mode.flush == flush::never && noise.overflowing == 0 &&
            error > 0)
          CHECK(std::fabs(noise.sqnr() - 10 * std::log10(signal / error)) < 10);  // a few values decide it
      }
}

TEST_CASE("stochastic rounding of buckets holds that of the values") {
  const auto at = edges();
  const auto values = values_of(11, 300);
  const cell_table t = bucketed(values, at);
  const cell_table exact = counted(values);
  const rounding mode{.direction = direction::stochastic};
  for (const ulp::format& to : {float16, cbfloat16, bfloat16}) {
    const expected_outcomes told = expected_outcomes_of(t, {to, mode}, {});
    const expected_outcomes truth = expected_outcomes_of(exact, {to, mode}, {});
    CHECK(told.underflow.mean.low <= truth.underflow.mean.low);
    CHECK(told.underflow.mean.high >= truth.underflow.mean.high);
    CHECK(told.overflow.mean.high >= truth.overflow.mean.high);
  }
}

TEST_CASE("buckets merge exactly, equal ones as one") {
  const auto at = edges();
  const auto a = values_of(1, 200);
  const auto b = values_of(2, 300);
  std::vector<double> both = a;
  both.insert(both.end(), b.begin(), b.end());
  cell_table merged = bucketed(a, at);
  merged.merge(bucketed(b, at));
  CHECK(merged == bucketed(both, at));
  cell_table other = bucketed(b, at);
  other.merge(bucketed(a, at));
  CHECK(other == merged);

  // With cells of another source: both are kept, and none of their sums.
  cell_table mixed = counted(a);
  mixed.merge(bucketed(b, at));
  CHECK_FALSE(mixed.has_sums);
  CHECK(mixed.cells == counted(a).cells);
  CHECK(mixed.buckets == bucketed(b, at).buckets);
  CHECK(holds(outcomes_of(mixed, {float16}, {}), count_raw(both, float16, {}, 1)));

  cell_table unknown = bucketed(b, at);
  unknown.max_abs = not_known;
  CHECK(unknown.largest_possible() >= bucketed(b, at).max_abs);
  cell_table large = counted({0x1p20F});
  unknown.merge(large);
  CHECK(unknown.max_abs == 0x1p20);
  unknown.max_abs = not_known;
  unknown.merge(counted({0x1p-20F}));
  CHECK(std::isnan(unknown.max_abs));
}

TEST_CASE("replays and sweeps of buckets agree, and overflow is that of the exact run") {
  const auto at = edges();
  const std::vector<tensor_info> tensors{{.name = "a", .kind = tensor_kind::weight_grad},
                                         {.name = "b", .kind = tensor_kind::weight_grad}};
  std::vector<step> run;
  std::vector<step> truth;
  for (unsigned i = 0; i < 60; ++i) {
    step s;
    s.key.step = i;
    step t = s;
    for (std::uint32_t k = 0; k < 2; ++k) {
      auto values = values_of(100 * i + k, 100, i % 7 == 3 ? 0 : -12);
      if (i % 17 == 5) values.push_back(std::numeric_limits<double>::quiet_NaN());
      const double factor = k == 0 ? 1 : 2;
      s.tensors.push_back({k, dtype::unknown, factor, bucketed(values, at)});
      t.tensors.push_back({k, dtype::float32, factor, counted(values)});
    }
    run.push_back(s);
    truth.push_back(t);
  }
  std::vector<scenario> all;
  for (const ulp::format& to : {float16, bfloat16, float8_e5m2})
    for (const direction d : {direction::nearest_even, direction::toward_zero, direction::toward_positive})
      all.push_back(scenario{make_scaler(*find_scaler("pytorch_gradscaler"), {{"growth_interval", 5.0}}),
                             {to, {.direction = d}}});
  sweep together(all);
  for (const step& s : run) together.add(s, tensors);
  const auto results = together.results();
  for (std::size_t i = 0; i < all.size(); ++i) {
    CAPTURE(i);
    replayer of_buckets(all[i]);
    replayer of_values(all[i]);
    trajectory_summary sum;
    trajectory_summary exact;
    for (std::size_t k = 0; k < run.size(); ++k) {
      const trajectory_row a = of_buckets.advance(run[k], tensors);
      const trajectory_row b = of_values.advance(truth[k], tensors);
      sum.add(a);
      exact.add(b);
      if (sum.uncertain > 0) continue;  // the scales may differ from here on
      CHECK(a.found_inf == b.found_inf);
      CHECK((a.critical_scale == b.critical_scale || (std::isnan(a.critical_scale) && std::isnan(b.critical_scale))));
    }
    if (sum.uncertain == 0) {
      CHECK(sum.last_scale == exact.last_scale);
      CHECK(contains(sum.counts.underflow, exact.counts.underflow));
      CHECK(contains(sum.counts.overflow, exact.counts.overflow));
      CHECK(contains(sum.counts.zeros(), exact.counts.zeros()));
    }
    CHECK(results[i].skipped == sum.skipped);
    CHECK(results[i].last_scale == sum.last_scale);
    CHECK(results[i].underflow.low <= sum.counts.underflow.low);
    CHECK(results[i].underflow.high >= sum.counts.underflow.high);
    CHECK(results[i].nonzero == sum.counts.nonzero().high);
  }
}
