// Pins which cell a value falls into, by the definition in real numbers; the exact sums; merging.
#include "support/catch.hpp"

#include <ulp/model/cells/cell_counter.hpp>
#include <ulp/model/cells/cell_table.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>

using namespace ulp;

namespace {

// By definition: is the finite nonzero |x| in the cell? Doubles hold every quantity exactly.
bool holds(const cell& c, double x) {
  int e = 0;
  const double f = std::frexp(std::fabs(x), &e) * 2 - 1;  // |x| = 2^(e-1) (1 + f)
  const int ones = [&] {
    int n = 0;
    while (n < 12 && f >= 1 - std::ldexp(1.0, -(n + 1))) ++n;
    return n;
  }();
  const bool on_edge = ones <= 10 && f == 1 - std::ldexp(1.0, -ones);
  int slot = ones <= 10 ? 2 * ones + (on_edge ? 0 : 1) : 11 + ones;
  if (ones <= 10 && ones > 2) slot += 2;
  if (ones > 10) slot += 2;
  if (ones == 2 && f == 0.8125) slot = 6;
  if (ones == 2 && f > 0.8125) slot = 7;
  return c.exponent == e - 1 && c.slot == slot && (c.sign == cell_sign::negative) == std::signbit(x);
}

bool in_range(const cell_range& r, double x) {
  const magnitude m = magnitude_of(x);
  const bool above = r.low < m || (r.low_closed && r.low == m);
  return above && (m < r.high || (r.low == r.high && m == r.high));
}

std::vector<float> awkward_floats() {
  std::vector<float> values;
  for (const int e : {-149, -148, -140, -127, -126, -125, -24, -1, 0, 1, 15, 127}) {
    for (int c = 0; c <= 13; ++c) {
      const double edge = 2 - std::ldexp(1.0, -c);
      for (const double f :
           {edge, edge - 0x1p-23, edge + 0x1p-23, 1.8125, 1.8125 - 0x1p-23, 1.8125 + 0x1p-23, 1.999999}) {
        const double x = std::ldexp(f, e);
        if (f >= 2 || x > static_cast<double>(std::numeric_limits<float>::max())) continue;
        for (const float y : {static_cast<float>(x), -static_cast<float>(x)})
          if (y != 0) values.push_back(y);
      }
    }
  }
  return values;
}

}  // namespace

TEST_CASE("a value falls into the cell of its exponent and leading ones, float and double alike") {
  std::size_t wrong = 0;
  for (const float x : awkward_floats()) {
    for (const cell_table& t : {count_cells(std::span{&x, 1}), [&] {
                                  const double y = static_cast<double>(x);
                                  return count_cells(std::span{&y, 1});
                                }()}) {
      const bool good = t.cells.size() == 1 && holds(t.cells[0], static_cast<double>(x)) &&
                        in_range(range_of(t.cells[0]), static_cast<double>(x)) &&
                        t.max_abs == std::fabs(static_cast<double>(x)) && t.min_abs == t.max_abs;
      wrong += good ? 0 : 1;
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("the cells of an octave tile it in the order of magnitude") {
  for (const auto e : std::initializer_list<std::int16_t>{-1074, -126, 0, 1023}) {
    magnitude at{e, 0};
    bool closed = true;
    for (std::uint8_t slot = 0; slot < slots_per_binade; ++slot) {
      const cell_range r = range_of({.slot = slot, .exponent = e});
      CHECK(r.low == at);
      CHECK(r.low_closed == closed);
      at = r.high;
      closed = !(r.low == r.high);  // after a point its own open interval follows
    }
    CHECK(at == magnitude{e + 1, 0});
  }
}

TEST_CASE("double subnormals keep their exponent") {
  const double x = 0x1.8p-1073;
  const cell_table t = count_cells(std::span{&x, 1});
  REQUIRE(t.cells.size() == 1);
  CHECK(t.cells[0].exponent == -1073);
  CHECK(holds(t.cells[0], x));
}

TEST_CASE("what is not finite and nonzero is counted by class") {
  const float inf = std::numeric_limits<float>::infinity();
  const std::vector<float> values{0.0F, -0.0F, inf, inf, -inf, std::nanf(""), -std::nanf(""), std::nanf("1"), 1.0F};
  const cell_table t = count_cells(values);
  CHECK(t.numel == 9);
  CHECK(t.zeros == 2);
  CHECK(t.positive_infinities == 2);
  CHECK(t.negative_infinities == 1);
  CHECK(t.nans == 3);
  CHECK(t.nonzero_finite() == 1);
}

TEST_CASE("sums are exact integers") {
  // Three values of binade 0 and one of binade -149.
  const std::vector<float> values{1.0F, 1.5F, -1.25F, 0x1.000002p0F, 0x1p-149F};
  const cell_table t = count_cells(values);
  REQUIRE(t.has_sums);
  std::uint64_t significands = 0;
  uint128 squares = 0;
  for (const binade_sums& s : t.sums) {
    if (s.exponent != 0 || s.sign != cell_sign::positive) continue;
    significands += static_cast<std::uint64_t>(s.significands);
    squares += s.squares;
  }
  const std::uint64_t one = 1U << 23;
  CHECK(significands == one + one * 3 / 2 + one + 1);
  CHECK((squares == uint128{one} * one + uint128{one * 3 / 2} * (one * 3 / 2) + uint128{one + 1} * (one + 1)));
  CHECK(t.sums.size() == 3);
  CHECK(squares_sum(t).quality == sum_quality::exact);
  CHECK(magnitudes_sum(t).value == 1.0 + 1.5 + 1.25 + 0x1.000002p0);
}

TEST_CASE("double significands are cut to 24 bits and counted") {
  const std::vector<double> values{1.0 + 0x1p-24, 1.0 + 0x1p-23, -0x1.ffffffffffffp0};
  const cell_table t = count_cells(values);
  CHECK(t.cut_significands == 2);
  CHECK(t.sums.size() == 2);
  CHECK((t.sums[0].significands == (1U << 23) + (1U << 23) + 1));
  CHECK((t.sums[1].significands == (1U << 24) - 1));
  CHECK(squares_sum(t).quality == sum_quality::estimated);
}

TEST_CASE("merging equals counting together, in any order") {
  std::mt19937 random(7);
  std::normal_distribution<float> normal(0, 1e-3F);
  std::vector<float> values(3000);
  for (float& x : values) x = std::round(normal(random) * 1e5F) / 1e5F;  // some zeros and equal values
  values[5] = std::numeric_limits<float>::infinity();
  const cell_table whole = count_cells(values);
  const std::span all{values};
  const cell_table a = count_cells(all.first(1000));
  const cell_table b = count_cells(all.subspan(1000, 1));
  const cell_table c = count_cells(all.subspan(1001));
  cell_table left = a;
  left.merge(b);
  left.merge(c);
  cell_table right = c;
  right.merge(a);
  right.merge(b);
  CHECK(left == whole);
  CHECK(right == whole);
  cell_table with_empty = whole;
  with_empty.merge(count_cells(std::span<const float>{}));
  CHECK(with_empty == whole);
  cell_table wrong = a;
  wrong.merge(b);
  CHECK_FALSE(wrong == whole);
}

TEST_CASE("a counter starts anew after take, and leaves out sums when asked") {
  cell_counter counter(cell_counter::with::nothing);
  const std::vector<float> values{1.0F, 2.0F};
  counter.add(std::span{values});
  const cell_table first = counter.take();
  CHECK_FALSE(first.has_sums);
  CHECK(first.sums.empty());
  CHECK(counter.take() == [] {
    cell_table empty;
    return empty;
  }());
  counter.add(std::span{values});
  CHECK(counter.take() == first);
  CHECK(squares_sum(first).quality == sum_quality::estimated);
}

// Edges that are numbers of the type, and such as lie between two of them, beside numbers of every kind.
TEST_CASE("above an edge is what is greater than it, though the edge is no number of the type") {
  const auto check = []<typename Float>(Float x) {
    constexpr Float infinity = std::numeric_limits<Float>::infinity();
    std::vector<Float> values{0, infinity, -infinity, std::numeric_limits<Float>::quiet_NaN()};
    std::vector<double> edges;
    for (const Float y : {std::nextafter(x, Float{0}), x, std::nextafter(x, infinity)}) {
      if (y == 0 || y == infinity) continue;
      values.insert(values.end(), {y, -y});
      const double next = std::min<double>(std::nextafter(y, infinity), std::numeric_limits<double>::max());
      for (const double part : {0.0, 0.125, 0.5, 0.75, 0.9375})
        edges.push_back(static_cast<double>(y) + part * (next - static_cast<double>(y)));
      edges.push_back(std::nextafter(static_cast<double>(y), 0.0));
      edges.push_back(std::nextafter(static_cast<double>(y), HUGE_VAL));
    }
    cell_counter counter{cell_counter::with::sums};
    for (const double edge : edges) {
      if (!(edge > 0) || std::isinf(edge)) continue;
      counter.set_edges(std::span{&edge, 1});
      counter.add(values);
      const cell_table table = counter.take();
      edge_counts expected{.at = edge};
      for (const Float v : values) {
        const double a = std::fabs(static_cast<double>(v));
        if (!(a > edge) || std::isinf(a)) continue;
        ++expected.above;
        if (std::ilogb(a) != std::ilogb(edge)) continue;
        const auto significand = static_cast<std::uint64_t>(std::ldexp(a, 23 - std::ilogb(a)));
        expected.squares_above += uint128{significand * significand};
      }
      CAPTURE(x, edge);
      REQUIRE(table.edges.size() == 1);
      CHECK(table.edges.front() == expected);
    }
  };
  for (const float x : {1.0F, 1.5F, 0x1.fffffep-1F, 3e-5F, 65504.0F, 0x1p-126F, 0x1.8p-140F, 0x1p-149F,
                        std::numeric_limits<float>::max(), 0x1p127F})
    check(x);
  for (const double x : {1.0, 0.1, 0x1p-1022, 0x1.8p-1060, 0x1p-1074, 1e300}) check(x);
}

TEST_CASE("a magnitude between two doubles becomes the upper one") {
  const double next = std::nextafter(1.0, 2.0);
  CHECK(double_from({.exponent = 0, .fraction = 0}) == 1);
  for (const std::uint64_t fraction :
       {std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{1} << 11, std::uint64_t{1} << 12})
    CHECK(double_from({.exponent = 0, .fraction = fraction}) == next);
  CHECK(double_from({.exponent = 0, .fraction = (std::uint64_t{1} << 12) + 1}) == std::nextafter(next, 2.0));
  CHECK(double_from(magnitude_of(0x1p-1074)) == 0x1p-1074);
}

TEST_CASE("sums of more than 64 bits are rounded once, to nearest even") {
  const auto sum_of = [](uint128 significands) {
    const float one = 1;
    cell_table t = count_cells(std::span{&one, 1});
    t.sums.front().significands = significands;
    return magnitudes_sum(t).value;
  };
  constexpr uint128 big = uint128{1} << 100;
  constexpr uint128 half = uint128{1} << 47;  // of the last place of a double
  CHECK(sum_of(big) == 0x1p77);
  CHECK(sum_of(big + half - 1) == 0x1p77);
  CHECK(sum_of(big + half) == 0x1p77);
  CHECK(sum_of(big + half + 1) == std::nextafter(0x1p77, HUGE_VAL));
  CHECK(sum_of(big + 3 * half) == 0x1.0000000000002p77);
  CHECK(sum_of(1) == 0x1p-23);
}

TEST_CASE("the largest possible value is the end of the last cell, or of all doubles for values in no cell") {
  cell_table t;
  t.numel = 3;
  t.zeros = 1;
  t.max_abs = t.min_abs = not_known;
  t.cells = {{cell_sign::unknown, whole_binade, 3, 2}};
  CHECK(t.largest_possible() == 16);
  t.buckets = {{-20, -18, 1}};
  t.numel = 4;
  CHECK(t.largest_possible() == 20);
  t.numel = 5;
  CHECK(t.largest_possible() == std::numeric_limits<double>::max());
  t.max_abs = 7;
  CHECK(t.largest_possible() == 7);
}

TEST_CASE("merged sums stay where both sides have them, or one has no values") {
  const float one = 1;
  const float zero = 0;
  const cell_table with = count_cells(std::span{&one, 1});
  cell_counter plain{cell_counter::with::nothing};
  plain.add(std::span{&one, 1});
  const cell_table without = plain.take();
  plain.add(std::span{&zero, 1});
  const cell_table empty = plain.take();
  const auto keeps = [](cell_table a, const cell_table& b) {
    a.merge(b);
    return a.has_sums && !a.sums.empty();
  };
  CHECK(keeps(with, with));
  CHECK(keeps(with, empty));
  CHECK(keeps(empty, with));
  CHECK_FALSE(keeps(with, without));
  CHECK_FALSE(keeps(without, with));
  CHECK_FALSE(keeps(without, empty));
}

TEST_CASE("without sums, values are taken to lie evenly in their cells") {
  cell_table t;
  t.numel = 3;
  t.max_abs = t.min_abs = not_known;
  t.cells = {{cell_sign::unknown, whole_binade, 0, 3}};  // from 1 to 2
  CHECK(magnitudes_sum(t).value == 4.5);
  CHECK(squares_sum(t).value == 7);
  CHECK(squares_sum(t).quality == sum_quality::estimated);
}
