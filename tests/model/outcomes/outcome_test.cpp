// Pins outcome counts to rounding every value: exact where they must be, ranges that contain the truth elsewhere.
#include "support/catch.hpp"

#include <ulp/formats/catalog.hpp>
#include <ulp/formats/names.hpp>
#include <ulp/formats/neighbours.hpp>
#include <ulp/model/cells/cell_counter.hpp>
#include <ulp/model/cells/cell_table.hpp>
#include <ulp/model/outcomes/outcome.hpp>

#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <ranges>
#include <vector>

#include "support/raw.hpp"

using namespace ulp;
using namespace ulp::test;

namespace {

// Values on, just below and just above every threshold that any rounding has in the format, scaled back by 2^-j; and
// some spread over all exponents.
std::vector<double> awkward_values(const format& f, int j) {
  std::vector<double> values;
  const auto around = [&](double x) {
    for (const double y : {std::nextafter(x, 0.0), x, std::nextafter(x, INFINITY)}) {
      values.push_back(std::ldexp(y, -j));
      values.push_back(-std::ldexp(y, -j));
    }
  };
  const format finer{f.exponent_bits, f.fraction_bits + 2, f.bias, specials::ieee};
  if (f.has_subnormals())
    for (const std::uint64_t near : {std::uint64_t{0}, finer.min_normal_code()})
      for (std::uint64_t code = near > 12 ? near - 12 : 1; code < near + 12; ++code) around(to_double(finer, code));
  else
    for (int quarter = -12; quarter <= 12; ++quarter)
      around(std::ldexp(1 + std::ldexp(quarter, -2 - f.fraction_bits), f.emin()));
  const double max = to_double(f, f.max_finite_code());
  const double unit = std::ldexp(1.0, f.emax() - f.fraction_bits);
  for (int quarter = -6; quarter <= 6; ++quarter) around(max + quarter * unit / 4);
  std::mt19937_64 random(42);
  std::uniform_real_distribution<double> exponent(f.min_quantum_exponent() - 4, f.emax() + 4);
  for (int i = 0; i < 400; ++i) values.push_back(std::ldexp(std::exp2(exponent(random)), -j) * (i % 2 == 0 ? 1 : -1));
  values.push_back(0);
  values.push_back(INFINITY);
  values.push_back(std::nan(""));
  return values;
}

enum class fate { underflow, subnormal, normal, overflow };

// Of scale times the positive float with these bits, by the codec; the product is exact.
fate fate_of(std::uint32_t bits, const format& to, const rounding& mode, double scale) {
  const encoded result = encode(to, static_cast<double>(std::bit_cast<float>(bits)) * scale, mode);
  if (any(result.flags, status::overflow)) return fate::overflow;
  const std::uint64_t magnitude = result.code & to.magnitude_mask();
  return magnitude == 0 ? fate::underflow : magnitude < to.min_normal_code() ? fate::subnormal : fate::normal;
}

// How many positive floats fare worse, in the order of fates, which is that of the floats.
std::ptrdiff_t count_below(fate f, const format& to, const rounding& mode, double scale) {
  const auto bits = std::views::iota(1U, 0x7F800000U);
  const auto worse = [&](std::uint32_t x) { return fate_of(x, to, mode, scale) < f; };
  return std::ranges::partition_point(bits, worse) - bits.begin();
}

}  // namespace

TEST_CASE("counts are exact for formats up to 10 fraction bits, in every rounding, at powers of two") {
  std::size_t wrong = 0;
  std::size_t inexact = 0;
  for (const char* const name : {"float16",
                                 "bfloat16",
                                 "cbfloat16",
                                 "tf32",
                                 "float8_e4m3fn",
                                 "float8_e5m2",
                                 "e3m8",
                                 "e2m1",
                                 "e4m3",
                                 "e8m10",
                                 "float8_e4m3fnuz",
                                 "float8_e5m2fnuz",
                                 "float6_e3m2",
                                 "float6_e2m3",
                                 "float4_e2m1",
                                 "e6m9,bias=30,specials=none",
                                 "e5m10,specials=fnuz",
                                 "e3m2,bias=-4",
                                 "e3m4,bias=40,specials=none",
                                 "e4m3fnuz,max=224",
                                 "e4m3fn,max=240",
                                 "float16,max=32752",
                                 "float6_e3m2,max=14",
                                 "binary8p4se"}) {
    const format f = *find_format(name);
    for (const int j : {0, -13, 8, 15}) {
      const std::vector<double> values = awkward_values(f, j);
      const cell_table table = count_cells(std::span{values});
      for (const rounding& mode : all_modes()) {
        const outcome_counts ours = outcomes_of(table, {f, mode}, {std::ldexp(1.0, j)});
        const outcome_counts truth = count_raw(values, f, mode, std::ldexp(1.0, j));
        inexact += ours.underflow.exact() && ours.subnormal.exact() && ours.overflow.exact() ? 0 : 1;
        if (!(ours == truth)) {
          if (wrong++ == 0) FAIL_CHECK(name << " 2^" << j << " " << to_string(mode));
        }
      }
    }
  }
  CHECK(wrong == 0);
  CHECK(inexact == 0);
}

// The table of one value says what the value is: the outcome is exact also where a threshold cuts cells.
TEST_CASE("the outcome of one value is that of rounding it, in every format and rounding") {
  std::size_t wrong = 0;
  for (const char* const name : {"float16",
                                 "float8_e4m3fn",
                                 "float8_e4m3fnuz",
                                 "float8_e5m2fnuz",
                                 "float6_e3m2",
                                 "float6_e2m3",
                                 "float4_e2m1",
                                 "dlfloat16",
                                 "float32",
                                 "e6m9,specials=fn",
                                 "e5m4,specials=fn,subnormals=no",
                                 "e4m3,subnormals=no",
                                 "e4m6,specials=fnuz,subnormals=no,bias=3",
                                 "e3m1,specials=none,subnormals=no",
                                 "e5m1,specials=fn",
                                 "binary8p3se",
                                 "e4m3fnuz,max=224",
                                 "e5m2,max=20480",
                                 "float16,max=448",
                                 "float4_e2m1,max=1",
                                 "dlfloat16,max=1000"}) {
    const format f = *find_format(name);
    for (const double x : awkward_values(f, 0)) {
      const cell_table table = count_cells(std::span{&x, 1});
      for (const rounding& mode : all_modes()) {
        const outcome_counts ours = outcomes_of(table, {f, mode}, {});
        if (!(ours == count_raw({&x, 1}, f, mode, 1)) && wrong++ == 0)
          FAIL_CHECK(name << ' ' << x << ' ' << to_string(mode) << " flush " << static_cast<int>(mode.flush));
      }
    }
  }
  CHECK(wrong == 0);
}

// Where a largest number's edge is no edge of a cell, counts are ranges; they are never wrong.
TEST_CASE("counts hold the truth whatever the largest number is") {
  std::size_t wrong = 0;
  std::size_t ranges = 0;
  std::size_t exact = 0;
  for (const char* const name : {"float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "binary8p3se", "float4_e2m1"}) {
    const format whole = *find_format(name);
    for (std::uint64_t withheld = 0; withheld <= whole.last_number_code() - whole.min_normal_code(); ++withheld) {
      format f = whole;
      f.withheld = withheld;
      const std::vector<double> values = awkward_values(f, 0);
      const cell_table table = count_cells(std::span{values});
      for (const double scale : {1.0, 3.0})
        for (const rounding& mode : all_modes()) {
          if (mode.flush != flush::never || mode.daz) continue;
          const outcome_counts ours = outcomes_of(table, {f, mode}, {scale});
          (ours.overflow.exact() ? exact : ranges) += 1;
          const bool holds = contains(ours, count_raw(values, f, mode, scale));
          if (!holds && wrong++ == 0) FAIL_CHECK(to_string(f) << " * " << scale << ' ' << to_string(mode));
        }
    }
  }
  CHECK(wrong == 0);
  CHECK(ranges > 100);
  CHECK(exact > 100);
}

// Of e5m2 to 20480, 1.25 2^14, 1.375 2^14 overflows and what is below does not: both are between 1 and 1.5.
TEST_CASE("an edge between two cells is not decided") {
  const std::vector<double> around{0x1.5fp14, 0x1.61p14, 0x1.41p14, 0x1.5ep14};
  const format f = *find_format("e5m2,max=20480");
  CHECK(count_raw(around, f, {}, 1).overflow == count_range{1, 1});
  const count_range overflow = outcomes_of(count_cells(std::span{around}), {f, {}}, {}).overflow;
  CHECK_FALSE(overflow.exact());
  CHECK(contains(overflow, count_range{1, 1}));
}

TEST_CASE("ranges contain the truth for finer formats, other scales and octaves") {
  std::size_t wrong = 0;
  std::size_t ranges = 0;
  for (const char* const name : {"float16", "cbfloat16", "float8_e4m3fn", "e8m23", "e6m16", "dlfloat16",
                                 "float8_e4m3fnuz", "e5m4,specials=fn,subnormals=no"}) {
    const format f = *find_format(name);
    const std::vector<double> values = awkward_values(f, 0);
    const cell_table table = count_cells(std::span{values});
    const cell_table binades = binades_of(table);
    for (const double scale : {1.0, 3.0, 1.0 / 3, 1000.1, 12345.0, 0.9999999, 1.0000001}) {
      for (const rounding& mode : all_modes()) {
        const outcome_counts truth = count_raw(values, f, mode, scale);
        const outcome_counts fine = outcomes_of(table, {f, mode}, {scale});
        const outcome_counts coarse = outcomes_of(binades, {f, mode}, {scale});
        wrong += contains(fine, truth) ? 0 : 1;
        wrong += contains(coarse, truth) && contains(coarse, fine) ? 0 : 1;
        ranges += coarse.underflow.exact() ? 0 : 1;
        if (mode.flush != flush::never || !f.has_subnormals())
          wrong += fine.subnormal == count_range{} && coarse.subnormal == count_range{} ? 0 : 1;
      }
    }
  }
  CHECK(wrong == 0);
  CHECK(ranges > 0);
}

TEST_CASE("random draws of stochastic rounding lie in the range") {
  const rounding mode{.direction = direction::stochastic, .random_bits = 8};
  const std::vector<double> values = awkward_values(float16, 0);
  const outcome_counts range = outcomes_of(count_cells(std::span{values}), {float16, mode}, {});
  for (const std::uint32_t random : {0U, 100U, 255U}) {
    std::uint64_t zeros = 0;
    std::uint64_t overflows = 0;
    for (const double x : values) {
      const unpacked u = decode(x);
      if (u.kind != number_class::finite) continue;
      const encoded e = encode(float16, u, mode, random);
      zeros += (e.code & float16.magnitude_mask()) == 0 ? 1 : 0;
      overflows += any(e.flags, status::overflow) ? 1 : 0;
    }
    CHECK((range.underflow.low <= zeros && zeros <= range.underflow.high));
    CHECK((range.overflow.low <= overflows && overflows <= range.overflow.high));
  }
}

// Draws of R give results that ascend with R, so that the first and the last are all there is between.
TEST_CASE("zero is possible or certain as the draws of every definition and number of random bits have it") {
  cell_counter counter{cell_counter::with::nothing};
  const auto table_of = [&](double x) {
    counter.add(std::span{&x, 1});
    return counter.take();
  };
  for (const char* const name : {"float16", "bfloat16", "float8_e4m3fn", "float8_e5m2fnuz", "float4_e2m1",
                                 "e5m10,subnormals=no", "e4m3fnuz,max=224", "binary8p3se"}) {
    const format f = *find_format(name);
    std::size_t wrong = 0;
    for (const auto definition : {stochastic_definition::a, stochastic_definition::b, stochastic_definition::c})
      for (int bits = 1; bits <= 32; ++bits)
        for (const flush flushing : {flush::never, flush::before_rounding, flush::after_rounding, flush::result}) {
          rounding mode{.direction = direction::stochastic, .definition = definition, .random_bits = bits};
          mode.flush = flushing;
          const auto check = [&](double x) {
            const auto zero_with = [&](std::uint32_t draw) {
              return (encode(f, decode(x), mode, draw).code & f.magnitude_mask()) == 0;
            };
            const count_range ours = outcomes_of(table_of(x), {f, mode}, {}).underflow;
            const count_range truth{zero_with(0xFFFFFFFF >> (32 - bits)) ? 1u : 0u, zero_with(0) ? 1u : 0u};
            const bool gradual = f.has_subnormals() && flushing == flush::never;
            // B and C raise what is all but the smallest number in every draw, which the range does not say.
            const bool exact = (!gradual || ours.low == truth.low) &&
                               (!gradual || definition != stochastic_definition::a || ours.high == truth.high);
            if (!(exact && contains(ours, truth)) && wrong++ == 0)
              FAIL_CHECK(name << ' ' << to_string(mode) << ": " << x);
          };
          for (const int below : {0, 1, bits - 1, bits, bits + 1, bits + 2})
            for (const double significand : {1.0, 1.5}) {
              const double x = std::ldexp(significand, f.min_quantum_exponent() - below);
              for (const double y : {std::nextafter(x, 0.0), x, std::nextafter(x, HUGE_VAL)}) {
                check(y);
                check(-y);
              }
            }
          const double least_normal = std::ldexp(1.0, f.emin());
          for (const double y : {std::nextafter(least_normal, 0.0), least_normal}) check(y);
        }
    CHECK(wrong == 0);
  }
}

TEST_CASE("what reaches a threshold, and which multipliers leave values") {
  const magnitude below = magnitude_of(0.75);
  const magnitude one = magnitude_of(1);
  const threshold closed{.at = one, .closed = true};
  const threshold open{.at = one, .closed = false};
  for (const threshold& t : {closed, open}) {
    CHECK_FALSE(t.reached_by(below));
    CHECK_FALSE(t.reached_above(below));
    CHECK(t.reached_above(one));
    CHECK(t.reached_by(magnitude_of(std::nextafter(1.0, 2.0))));
    CHECK(t.reached_by(one) == t.closed);
    CHECK(t.in_double().reached_by(1) == t.closed);
    CHECK_FALSE(t.in_double().reached_by(std::nextafter(1.0, 0.0)));
    CHECK(t.in_double().reached_by(std::nextafter(1.0, 2.0)));
    CHECK(t.in_double().reached_by(std::numeric_limits<double>::quiet_NaN()));
  }
  for (const double scale : {0x1p-1074, 1.0, std::numeric_limits<double>::max()})
    CHECK(multiplier{.scale = scale}.usable());
  for (const double scale : {0.0, -1.0, HUGE_VAL, std::numeric_limits<double>::quiet_NaN()})
    CHECK_FALSE(multiplier{.scale = scale}.usable());
  CHECK(tensor_row{}.unit() == 1);
  CHECK(tensor_row{.factor = 1024}.unit() == 1024);
}

TEST_CASE("published thresholds") {
  const auto underflows = [](double x, const char* name, double scale = 1) {
    return outcomes_of(count_cells(std::span{&x, 1}), {*find_format(name)}, {scale}).underflow.low;
  };
  const auto overflows = [](double x, const char* name) {
    return outcomes_of(count_cells(std::span{&x, 1}), {*find_format(name)}, {}).overflow.low;
  };
  CHECK(underflows(0x1p-25, "float16") == 1);
  CHECK(underflows(0x1.000002p-25, "float16") == 0);
  CHECK(underflows(0x1p-40, "cbfloat16") == 1);
  CHECK(underflows(0x1p-134, "bfloat16") == 1);
  CHECK(overflows(65519.99, "float16") == 0);
  CHECK(overflows(65520, "float16") == 1);
  CHECK(overflows(4292870144.0, "cbfloat16") == 1);
  CHECK(overflows(464, "float8_e4m3fn") == 0);
  CHECK(overflows(464.001, "float8_e4m3fn") == 1);
  CHECK(overflows(248, "float8_e4m3fnuz") == 1);
  CHECK(overflows(247.999, "float8_e4m3fnuz") == 0);
  CHECK(overflows(5, "float4_e2m1") == 0);
  CHECK(overflows(7, "float4_e2m1") == 1);  // halfway to 8, which is even
  CHECK(underflows(0.25, "float4_e2m1") == 1);
  // IBM's DLFloat16 rounds halves away from zero: overflow from bits 4FFFA000 on, zero below 2^-31 (1 + 2^-10).
  const rounding away{.direction = direction::nearest_away};
  const auto dlfloat = [&](double x) { return outcomes_of(count_cells(std::span{&x, 1}), {dlfloat16, away}, {}); };
  const auto edge = static_cast<double>(std::bit_cast<float>(0x4FFFA000U));
  CHECK(dlfloat(edge).overflow == count_range{1, 1});
  CHECK(dlfloat(std::nextafter(edge, 0)).normal == count_range{1, 1});
  const double least = 0x1p-31 * (1 + 0x1p-10);
  CHECK(dlfloat(least).normal == count_range{1, 1});
  CHECK(dlfloat(std::nextafter(least, 0)).underflow == count_range{1, 1});
  // Exact product: in float32 arithmetic 2^-13 times this would round to zero before bfloat16 sees it.
  CHECK(underflows(static_cast<double>(std::bit_cast<float>(0x03000080U)), "bfloat16", 0x1p-13) == 0);
  // Never through a narrower type: this double rounds to 2^-24, its float32 value to zero.
  CHECK(underflows(std::bit_cast<double>(std::uint64_t{0x3E60000000001000}), "float16") == 0);
}

TEST_CASE("cbfloat16 at 1 and float16 at 2^15 underflow alike, as do bfloat16 at 1 and float16 at 2^109") {
  struct pair {
    format wide;
    double scale;  // of float16
    std::uint32_t least_normal;
    std::array<std::ptrdiff_t, 3> flushed;  // positive floats that float16 flushes and the other does not, by rule
  };
  constexpr std::ptrdiff_t binade = 1 << 23;
  for (const pair& p :
       {pair{cbfloat16, 0x1p15, std::bit_cast<std::uint32_t>(0x1p-30F), {binade, binade + 4096, binade + 8192}},
        pair{bfloat16,
             0x1p109,
             std::bit_cast<std::uint32_t>(0x1p-126F),
             {3 * binade, 3 * binade + 12288, 3 * binade + 24576}}}) {
    for (const direction way : deterministic_directions) {
      CAPTURE(p.scale, to_string(rounding{.direction = way}));
      const auto float16_loses_more = [&](const rounding& mode) {
        return count_below(fate::subnormal, float16, mode, p.scale) - count_below(fate::subnormal, p.wide, mode, 1);
      };
      // With gradual underflow: every 1021st of the positive floats, and the last one lost.
      const rounding gradual{.direction = way};
      std::size_t differ = 0;
      for (std::uint32_t bits = 1; bits < 0x7F800000U; bits += 1021)
        differ += (fate_of(bits, p.wide, gradual, 1) == fate::underflow) ==
                          (fate_of(bits, float16, gradual, p.scale) == fate::underflow)
                      ? 0
                      : 1;
      CHECK(differ == 0);
      CHECK(float16_loses_more(gradual) == 0);
      // It is not so of subnormal results and of overflow,
      CHECK(fate_of(p.least_normal, p.wide, gradual, 1) == fate::normal);
      CHECK(fate_of(p.least_normal, float16, gradual, p.scale) == fate::subnormal);
      const auto overflowed = std::bit_cast<std::uint32_t>(static_cast<float>(0x1p16 / p.scale));
      CHECK(fate_of(overflowed, p.wide, gradual, 1) == fate::normal);
      CHECK(fate_of(overflowed, float16, gradual, p.scale) == fate::overflow);
      // nor of any flushing to zero, whose edge is the least normal number.
      for (const flush rule : {flush::before_rounding, flush::after_rounding, flush::result}) {
        const rounding flushing{.direction = way, .flush = rule};
        CHECK(fate_of(p.least_normal, p.wide, flushing, 1) == fate::normal);
        CHECK(fate_of(p.least_normal, float16, flushing, p.scale) == fate::underflow);
        if (way == direction::nearest_even)
          CHECK(float16_loses_more(flushing) == p.flushed.at(static_cast<std::size_t>(rule) - 1));
      }
    }
  }
}

TEST_CASE("DAZ reads subnormals of the recorded type as zero") {
  const std::vector<double> values{0x1p-127, 0x1p-126};
  const cell_table t = count_cells(std::span{values});
  const rounding daz{.daz = true};
  CHECK(outcomes_of(t, {binary32, daz}, {}, dtype::float32).underflow.low == 1);
  CHECK(outcomes_of(t, {binary32, daz}, {}, dtype::float64).underflow.low == 0);
}

TEST_CASE("scale and factor are divided exactly") {
  // 196560 / 3 = 65520 is the threshold, its neighbour below is not; scale / factor = 1/3 rounded is below 1/3.
  const auto overflows = [](double x, multiplier by) {
    return outcomes_of(count_cells(std::span{&x, 1}), {float16}, by).overflow.low;
  };
  CHECK(overflows(196560, {1, 3}) == 1);
  CHECK(overflows(std::nextafter(196560, 0), {1, 3}) == 0);
  CHECK(reaches(thresholds_of({float16}, false).overflow, {1, 3}, 196560));
  CHECK_FALSE(reaches(thresholds_of({float16}, false).overflow, {1, 3}, std::nextafter(196560, 0)));
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> any(1, 2);
  std::size_t wrong = 0;
  for (int i = 0; i < 20000; ++i) {
    // Integers small enough for exact products: x * scale >= 65520 * factor.
    const double scale = std::floor(any(random) * 1000);
    const double factor = std::floor(any(random) * 1000);
    const double x = std::floor(65520 * factor / scale) + static_cast<double>(i % 3) - 1;
    wrong += (overflows(x, {scale, factor}) == 1) == (x * scale >= 65520 * factor) ? 0 : 1;
  }
  CHECK(wrong == 0);
}

// Thresholds that are the product of a double and a multiplier, cut to their 65 bits or raised to them: with a multiplier of
// powers of two, short and long numbers, and so that next to nothing is cut.
TEST_CASE("a double reaches a threshold over a multiplier if its product with it does, to the last bit") {
  std::mt19937_64 random(7);
  const auto significand = [&](int kind) {
    constexpr std::uint64_t one = std::uint64_t{1} << 52;
    if (kind == 0) return one;
    return kind == 1 ? one | (random() & 0x1F) << 47 : one | (random() & (one - 1));
  };
  const auto as_double = [](std::uint64_t x) { return std::ldexp(static_cast<double>(x), -52); };  // [1, 2)
  std::size_t wrong = 0;
  std::size_t beside = 0;
  for (int i = 0; i < 60000; ++i) {
    const std::uint64_t scale = significand(i % 3) | (i % 5 == 4 ? 1 : 0);
    const std::uint64_t factor = significand(i % 5 == 4 ? 0 : i / 3 % 3);
    std::uint64_t x = significand(2);
    if (i % 5 == 4) {
      // x * scale is some units below a multiple of 2^41.
      std::uint64_t inverse = scale;
      for (int bits = 3; bits < 64; bits *= 2) inverse *= 2 - scale * inverse;
      constexpr std::uint64_t low = (std::uint64_t{1} << 41) - 1;
      x = (x & ~low) | ((0 - (random() & 3)) * inverse & low);
    }
    for (int shift = 11; shift <= 13; ++shift) {
      const uint128 product = uint128{x} * scale << shift;
      const uint128 cut = product / factor;
      if (cut >> 64 != 1) continue;
      for (const uint128 at : {cut, cut + 1}) {
        if (at >> 64 != 1) continue;
        for (const bool closed : {false, true}) {
          const threshold t{.at = {.exponent = 12 - shift, .fraction = static_cast<std::uint64_t>(at)},
                            .closed = closed};
          const multiplier by{.scale = as_double(scale), .factor = as_double(factor)};
          for (const int step : {-1, 0, 1}) {
            const uint128 ours = uint128{x + static_cast<std::uint64_t>(step)} * scale << shift;
            const uint128 other = at * factor;
            const bool truth = ours > other || (closed && ours == other);
            wrong += reaches(t, by, as_double(x + static_cast<std::uint64_t>(step))) == truth ? 0 : 1;
          }
          beside += product == at * factor ? 0 : 1;
        }
      }
    }
  }
  CHECK(wrong == 0);
  CHECK(beside > 60000);
}

TEST_CASE("a scale of zero loses every value, an infinite one overflows every value") {
  const std::vector<double> values{1, -2, 0};
  const cell_table t = count_cells(std::span{values});
  CHECK(outcomes_of(t, {float16}, {0}).underflow == count_range{2, 2});
  CHECK(outcomes_of(t, {float16}, {INFINITY}).overflow == count_range{2, 2});
  CHECK(outcomes_of(t, {float16}, {0x1p-1074, 0x1p1000}).underflow == count_range{2, 2});
  CHECK(outcomes_of(t, {float16}, {0x1p1000, 0x1p-1074}).overflow == count_range{2, 2});
}

TEST_CASE("a merged table does not take one cell's largest value for another's") {
  cell_table binade;
  binade.numel = 1;
  binade.max_abs = 40000;
  binade.min_abs = not_known;
  binade.cells = {{cell_sign::unknown, whole_binade, 15, 1}};
  const double x = 65530;
  binade.merge(count_cells(std::span{&x, 1}));
  CHECK(outcomes_of(binade, {float16}, {}).overflow == count_range{1, 2});
}

TEST_CASE("values of a payload that was not understood may be anything") {
  cell_table t;
  t.numel = 10;
  t.zeros = 3;
  t.max_abs = 1;
  const outcome_counts c = outcomes_of(t, {float16}, {});
  CHECK(c.underflow == count_range{0, 7});
  CHECK(c.overflow == count_range{0, 7});
}

TEST_CASE("an infinite scale gives infinities unless infinities saturate") {
  const std::vector<double> values{1, -2, 0};
  const cell_table t = count_cells(std::span{values});
  const auto infinite = [&](overflow_mode overflow, const format& to) {
    return outcomes_of(t, {to, {.overflow = overflow}}, {INFINITY}).infinite;
  };
  CHECK(infinite(overflow_mode::ieee, float16) == count_range{2, 2});
  CHECK(infinite(overflow_mode::saturate_finite, float16) == count_range{2, 2});
  CHECK(infinite(overflow_mode::saturate, float16) == count_range{0, 0});
  CHECK(infinite(overflow_mode::ieee, float4_e2m1) == count_range{0, 0});
}

TEST_CASE("what may be of either sign may be infinite where one sign is, and is for certain where both are") {
  cell_table unknown;
  unknown.numel = 10;
  unknown.zeros = 3;
  unknown.max_abs = 1;
  cell_table large;
  large.numel = 2;
  large.max_abs = 1e6;
  large.min_abs = not_known;
  large.buckets = {{-1e7, -1, 1}, {1, 1e7, 1}};
  struct row {
    direction way;
    count_range of_unknown;
    std::uint64_t certain;
  };
  for (const row& r : {row{direction::nearest_even, {0, 7}, 1}, row{direction::toward_positive, {0, 7}, 0},
                       row{direction::toward_negative, {0, 7}, 0}, row{direction::toward_zero, {0, 0}, 0}}) {
    CAPTURE(to_string(rounding{.direction = r.way}));
    CHECK(outcomes_of(unknown, {float16, {.direction = r.way}}, {}).infinite == r.of_unknown);
    CHECK(outcomes_of(large, {float16, {.direction = r.way}}, {}).overflow.low == 1);
    CHECK(outcomes_of(large, {float16, {.direction = r.way}}, {}).infinite.low == r.certain);
  }
}

TEST_CASE("DAZ leaves a bucket that begins with the smallest normal number") {
  const auto underflow = [](double low, double high) {
    cell_table t;
    t.numel = 5;
    t.max_abs = high;
    t.min_abs = low;
    t.buckets = {{low, high, 5}};
    return outcomes_of(t, {bfloat16, {.daz = true}}, {.scale = 0x1p20}, dtype::float32).underflow;
  };
  CHECK(underflow(0x1p-126, 0x1p-125) == count_range{0, 0});
  CHECK(underflow(0x1.fp-127, 0x1p-125) == count_range{0, 5});
  CHECK(underflow(0x1p-128, 0x1.fp-127) == count_range{5, 5});
}
