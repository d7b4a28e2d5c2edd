// Pins the mass lost to underflow to sums over rounded values, and over all draws.
#include <ulp/model/outcomes/lost_mass.hpp>

#include "support/catch.hpp"

#include <ulp/formats/catalog.hpp>
#include <ulp/formats/codec.hpp>
#include <ulp/formats/names.hpp>
#include <ulp/model/cells/cell_counter.hpp>

#include <cmath>
#include <random>
#include <vector>

#include "support/raw.hpp"

using namespace ulp;
using namespace ulp::test;

namespace {

// Few enough bits for exact sums in double.
std::vector<float> small_values(const format& to, double scale) {
  std::mt19937 random(11);
  std::vector<float> values{0};
  for (int k = to.min_quantum_exponent() - 6; k <= to.emin() + 2; ++k)
    for (int i = 0; i < 16; ++i) {
      const double significand = i < 3 ? 1 + i * 0.25 : 1 + std::ldexp(random() % 128, -7);
      values.push_back(static_cast<float>(std::ldexp(significand, k) / scale * (i % 2 == 0 ? 1 : -1)));
    }
  return values;
}

struct sums {
  double magnitudes = 0;
  double squares = 0;
  double kept = 0;

  [[nodiscard]] double all() const { return magnitudes + kept; }
  [[nodiscard]] double share() const { return magnitudes / all(); }
};

sums lost_by_rounding(const std::vector<float>& values, const format& to, const rounding& mode, double scale) {
  sums lost;
  for (const float x : values) {
    unpacked scaled = decode(static_cast<double>(x));
    scaled.exponent += std::ilogb(scale);
    const std::uint64_t draws = mode.direction == direction::stochastic ? std::uint64_t{1} << mode.random_bits : 1;
    std::uint64_t zeros = 0;
    for (std::uint64_t r = 0; r < draws; ++r)
      zeros += (encode(to, scaled, mode, static_cast<std::uint32_t>(r)).code & to.magnitude_mask()) == 0 ? 1 : 0;
    const double share = static_cast<double>(zeros) / static_cast<double>(draws);
    const double magnitude = std::abs(static_cast<double>(x));
    lost.magnitudes += share * magnitude;
    lost.squares += share * magnitude * magnitude;
    lost.kept += (1 - share) * magnitude;
  }
  return lost;
}

bool holds(const value_range& range, double x) {
  const double margin = 1e-12 * x;
  return range.low - margin <= x && x <= range.high + margin;
}

}  // namespace

TEST_CASE("the mass lost holds the truth in every rounding, and is exact where the threshold is an octave's edge") {
  for (const char* const name : {"float16", "bfloat16", "cbfloat16", "e5m2", "e4m3fn", "dlfloat16"})
    for (const direction d : deterministic_directions)
      for (const flush f : {flush::never, flush::before_rounding, flush::after_rounding, flush::result})
        for (const double scale : {1.0, 0x1p5}) {
          const format to = *find_format(name);
          const rounding mode{.direction = d, .flush = f};
          CAPTURE(name, static_cast<int>(d), static_cast<int>(f), scale);
          const std::vector<float> values = small_values(to, scale);
          const sums truth = lost_by_rounding(values, to, mode, scale);
          const cell_table table = count_cells(std::span{values});
          const lost_mass lost = lost_to_underflow(table, {to, mode}, {.scale = scale});
          CHECK(holds(lost.magnitudes, truth.magnitudes));
          CHECK(holds(lost.squares, truth.squares));
          CHECK(holds(lost.kept, truth.kept));
          CHECK(holds(share_of_magnitude(lost, magnitudes_bounds(table)), truth.share()));
          const bool directed = d == direction::toward_positive || d == direction::toward_negative;
          const bool edge = f == flush::before_rounding || (f == flush::never && !directed && d != direction::to_odd);
          if (edge && to.has_subnormals()) {
            CHECK(lost.magnitudes.exact());
            CHECK(lost.squares.exact());
          }
          // Cells alone give wider ranges.
          cell_counter counter(cell_counter::with::nothing);
          counter.add(std::span{values});
          const cell_table cells = counter.take();
          const lost_mass wider = lost_to_underflow(cells, {to, mode}, {.scale = scale});
          CHECK(holds(wider.magnitudes, truth.magnitudes));
          CHECK(holds(wider.kept, truth.kept));
          CHECK(holds(magnitudes_bounds(cells), truth.all()));
          const value_range share = share_of_magnitude(wider, magnitudes_bounds(cells));
          CHECK(holds(share, truth.share()));
          CHECK(share.high <= 1);
          CHECK(wider.magnitudes.high >= lost.magnitudes.high);
        }
}

TEST_CASE("under stochastic rounding it is the mean over all draws") {
  for (const char* const name : {"float16", "e5m2", "dlfloat16"})
    for (const auto definition : {stochastic_definition::a, stochastic_definition::b, stochastic_definition::c})
      for (const int bits : {3, 10}) {
        const format to = *find_format(name);
        const rounding mode{.direction = direction::stochastic, .definition = definition, .random_bits = bits};
        CAPTURE(name, static_cast<int>(definition), bits);
        const std::vector<float> values = small_values(to, 1);
        const sums truth = lost_by_rounding(values, to, mode, 1);
        const lost_mass lost = lost_to_underflow(count_cells(std::span{values}), {to, mode}, {});
        CHECK(holds(lost.magnitudes, truth.magnitudes));
        CHECK(holds(lost.squares, truth.squares));
        CHECK(holds(lost.kept, truth.kept));
      }
  const rounding all{.direction = direction::stochastic, .random_bits = exact_probability};
  std::vector<float> below;
  for (int i = 1; i < 64; ++i) below.push_back(static_cast<float>(std::ldexp(i, -30)));
  double truth = 0;
  for (const float x : below) truth += static_cast<double>(x) * (1 - static_cast<double>(x) / 0x1p-24);
  const lost_mass lost = lost_to_underflow(count_cells(std::span{below}), {float16, all}, {});
  CHECK(lost.magnitudes.exact());
  CHECK(lost.magnitudes.low == Approx(truth).epsilon(1e-14));
}

TEST_CASE("where all is lost the share is 1, and where nothing is 0, whatever is not known of the sums") {
  const std::vector<float> values{0x1.2p-26F, 0x1.fp-26F, 0x1p-20F, 1};
  cell_counter counter(cell_counter::with::nothing);
  counter.add(std::span{values});
  const cell_table cells = counter.take();
  const value_range all = magnitudes_bounds(cells);
  CHECK_FALSE(all.exact());
  CHECK(share_of_magnitude(lost_to_underflow(cells, {float16}, {.scale = 0x1p-60}), all) == value_range{1, 1});
  CHECK(share_of_magnitude(lost_to_underflow(cells, {float16}, {.scale = 0x1p10}), all) == value_range{0, 0});
  CHECK(share_of_magnitude(lost_to_underflow(cells, {float16}, {.scale = 0}), all) == value_range{1, 1});
  cell_table unknown;
  unknown.numel = 3;
  CHECK(share_of_magnitude(lost_to_underflow(unknown, {float16}, {}), magnitudes_bounds(unknown)) == value_range{0, 1});
}

TEST_CASE("a reported sum that the cells do not allow lifts no share above 1") {
  cell_counter counter(cell_counter::with::nothing);
  const std::vector<float> values(100, 0x1p-30F);
  counter.add(std::span{values});
  cell_table cells = counter.take();
  for (const double printed : {9.3132e-08, 9.30e-08, 9.4e-08}) {
    cells.reported_abs_sum = printed;
    const lost_mass lost = lost_to_underflow(cells, {float16}, {});
    CHECK(share_of_magnitude(lost, magnitudes_bounds(cells)) == value_range{1, 1});
  }
}

TEST_CASE("factors divide, and a scale of 0 loses everything") {
  const std::vector<float> values{0x1p-26F, 0x1p-20F, 1};
  const cell_table table = count_cells(std::span{values});
  const lost_mass scaled = lost_to_underflow(table, {float16}, {.scale = 1, .factor = 0x1p10});
  CHECK(scaled.magnitudes == value_range{(0x1p-26 + 0x1p-20) / 0x1p10, (0x1p-26 + 0x1p-20) / 0x1p10});
  CHECK(lost_to_underflow(table, {float16}, {.scale = 0}).magnitudes.low == 1 + 0x1p-20 + 0x1p-26);
  CHECK(lost_to_underflow(table, {float16}, {.scale = INFINITY}).magnitudes == value_range{0, 0});
  cell_table unknown;
  unknown.numel = 3;
  CHECK(std::isinf(lost_to_underflow(unknown, {float16}, {}).magnitudes.high));
}

TEST_CASE("DAZ loses what of a bucket may be subnormal") {
  const auto lost = [](double low, double high) {
    cell_table t;
    t.numel = 5;
    t.max_abs = high;
    t.min_abs = low;
    t.buckets = {{low, high, 5}};
    return lost_to_underflow(t, {bfloat16, {.daz = true}}, {.scale = 0x1p20}, dtype::float32).magnitudes;
  };
  CHECK(lost(0x1p-126, 0x1p-125) == value_range{0, 0});
  CHECK(lost(0x1.8p-127, 0x1p-125).low == 0);
  CHECK(lost(0x1.8p-127, 0x1p-125).high >= 4 * 0x1.8p-127);
  CHECK(lost(0x1p-128, 0x1.8p-127).low >= 5 * 0x1p-128);
}
