// Pins counts from joint tables to rounding every element with the codec: all pairs of a small format, adversarial pairs for
// the others.
#include <ulp/model/updates/joint_table.hpp>

#include "support/catch.hpp"

#include <ulp/formats/catalog.hpp>
#include <ulp/formats/codec.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

using namespace ulp;

namespace {

struct pairs {
  std::vector<double> weights;
  std::vector<double> updates;
  void add(double weight, double update) {
    weights.push_back(weight);
    updates.push_back(update);
  }
};

joint_table table_of(const pairs& p) {
  joint_counter counter;
  counter.add(p.weights, p.updates);
  return counter.take();
}

bool holds(const value_range& range, double x, double slack) {
  return range.low - slack <= x && x <= range.high + slack;
}
bool holds(const count_range& range, const count_range& x) { return range.low <= x.low && x.high <= range.high; }

void check_exact(const pairs& p, const format& f, const rounding& mode = {}) {
  const joint_table table = table_of(p);
  REQUIRE(table.is_consistent());
  const lost_updates from_table = count_lost_updates(table, {f, mode});
  const lost_updates by_element = count_lost_updates(p.weights, p.updates, {f, mode});
  CAPTURE(f.exponent_bits, f.fraction_bits);
  CHECK(from_table.numel == by_element.numel);
  CHECK(from_table.zero_updates == by_element.zero_updates);
  CHECK(from_table.nonfinite == by_element.nonfinite);
  CHECK(from_table.overflowing == by_element.overflowing);
  CHECK(from_table.updates == by_element.updates);
  CHECK(from_table.lost == by_element.lost);
  CHECK(from_table.at_one == by_element.at_one);
  CHECK(from_table.lost_at_one == by_element.lost_at_one);
  CHECK(from_table.largest_spacing == by_element.largest_spacing);
}

void check_ranges(const pairs& p, const format& f, const rounding& mode) {
  const joint_table table = table_of(p);
  const lost_updates from_table = count_lost_updates(table, {f, mode});
  const lost_updates by_element = count_lost_updates(p.weights, p.updates, {f, mode});
  CAPTURE(f.exponent_bits, f.fraction_bits, mode.random_bits, static_cast<int>(mode.definition));
  CAPTURE(from_table.lost.low, from_table.lost.high, by_element.lost.low);
  CAPTURE(from_table.expected_lost.low, from_table.expected_lost.high, by_element.expected_lost.low);
  CHECK(holds(from_table.overflowing, by_element.overflowing));
  CHECK(holds(from_table.updates, by_element.updates));
  CHECK(holds(from_table.lost, by_element.lost));
  CHECK(holds(from_table.expected_lost, by_element.expected_lost.low, 1e-9 * static_cast<double>(p.weights.size())));
  CHECK(holds(from_table.at_one, by_element.at_one));
  CHECK(holds(from_table.lost_at_one, by_element.lost_at_one));
}

// Weights near every edge of a format, updates near every fraction of its spacing.
pairs adversarial(const format& f, std::uint64_t seed, int count) {
  std::mt19937_64 random(seed);
  const auto pick = [&](std::initializer_list<int> from) { return *(from.begin() + random() % from.size()); };
  const int lowest = std::max(f.min_quantum_exponent() - 4, -140);
  const int highest = std::min(f.emax() + 2, 127);
  pairs p;
  for (int i = 0; i < count; ++i) {
    const int k = random() % 4 == 0 ? pick({lowest, f.min_quantum_exponent(), f.emin() - 1, f.emin(), f.emax(), 0, -1})
                                    : lowest + static_cast<int>(random() % static_cast<unsigned>(highest - lowest));
    double fraction = 0;
    switch (random() % 6) {
      case 0: break;
      case 1: fraction = std::ldexp(1, -pick({1, 2, 3, 4, 8, 9, 10, 11, 12, 13})); break;
      case 2: fraction = 1 - std::ldexp(1, -pick({1, 2, 3, 4, 8, 9, 10, 11, 12, 13})); break;
      case 3:
        fraction = std::ldexp(static_cast<double>(random() % (2U << f.fraction_bits)), -f.fraction_bits - 1);
        break;
      default: fraction = std::ldexp(static_cast<double>(random() >> 41), -23); break;
    }
    if (random() % 3 == 0) fraction += std::ldexp(1, -23) * pick({-1, 1});
    const double weight = static_cast<float>(std::ldexp(1 + fraction, k)) * (random() % 2 == 0 ? 1 : -1);
    const int spacing = std::max(k, f.emin()) - f.fraction_bits + pick({-40, -12, -4, -3, -2, -1, -1, -1, 0, 1, 3, 14});
    double update = std::ldexp(1, spacing);
    if (random() % 2 == 0) update *= 1 + std::ldexp(static_cast<double>(random() >> 41), -23);
    if (random() % 4 == 0) update *= 1 + std::ldexp(1, -23) * pick({-1, 1});
    p.add(random() % 40 == 0 ? 0 : weight, static_cast<float>(update) * (random() % 2 == 0 ? 1 : -1));
  }
  const double inf = std::numeric_limits<double>::infinity();
  for (const double special : {0.0, -0.0, inf, -inf, std::numeric_limits<double>::quiet_NaN(), 1.0, 5e-324})
    for (const double other : {0.0, -0.0, inf, 1.0, -1.0, 5e-324}) p.add(special, other);
  return p;
}

const std::vector<format> exact_formats{
    float16,           bfloat16,           cbfloat16,         float8_e5m2,       ieee_format(4, 3),
    ieee_format(8, 1), ieee_format(6, 11), ieee_format(2, 5), ieee_format(5, 8), tf32,
    float8_e5m2fnuz};

}  // namespace

TEST_CASE("every pair of numbers of a small format, and of the grid four times as fine") {
  const format small = ieee_format(4, 3);
  const format fine = ieee_format(5, 5);
  for (const format& from : {small, fine}) {
    std::vector<double> values;
    for (std::uint64_t code = 0; code <= from.code_mask(); ++code) values.push_back(to_double(from, code));
    // One table for each weight: errors of opposite sign would cancel in one of all.
    for (const double weight : values) {
      pairs p;
      for (const double update : values) p.add(weight, update);
      check_exact(p, small);
    }
  }
}

TEST_CASE("adversarial float32 weights and updates are decided exactly, element by element") {
  for (const format& f : exact_formats) {
    const pairs p = adversarial(f, 11, 20'000);
    check_exact(p, f);
    // Alone, so that no two errors cancel.
    for (std::size_t i = 0; i < p.weights.size(); i += 3) {
      pairs one;
      one.add(p.weights[i], p.updates[i]);
      const auto table = count_lost_updates(table_of(one), {f});
      const auto element = count_lost_updates(one.weights, one.updates, {f});
      if (table.lost == element.lost && table.updates == element.updates) continue;
      CAPTURE(p.weights[i], p.updates[i], f.exponent_bits, f.fraction_bits);
      CHECK(table.lost == element.lost);
      CHECK(table.updates == element.updates);
    }
  }
}

TEST_CASE("weights that are in the format already") {
  for (const format& f : exact_formats) {
    pairs p = adversarial(f, 12, 20'000);
    for (double& w : p.weights) w = to_double(f, encode(f, w).code);
    check_exact(p, f);
  }
}

TEST_CASE("one table serves every format") {
  for (const format& f : exact_formats) check_exact(adversarial(float16, 13, 20'000), f);
}

TEST_CASE("stochastic means are exact with all random bits, and in ranges with some") {
  for (const format& f : exact_formats) {
    const pairs p = adversarial(f, 14, 5'000);
    const rounding all_bits{.direction = direction::stochastic, .random_bits = exact_probability};
    check_ranges(p, f, all_bits);
    const value_range mean = count_lost_updates(table_of(p), {f, all_bits}).expected_lost;
    CHECK(mean.high - mean.low <= 1e-6 * static_cast<double>(p.weights.size()));
    for (const stochastic_definition definition :
         {stochastic_definition::a, stochastic_definition::b, stochastic_definition::c})
      for (const int bits : {1, 2, 4, 8, 13, 32}) {
        const rounding mode{.direction = direction::stochastic, .definition = definition, .random_bits = bits};
        check_ranges(p, f, mode);
        // What no draw moves is known except for one binade.
        for (std::size_t i = 0; i < p.weights.size(); i += 7) {
          pairs one;
          one.add(p.weights[i], p.updates[i]);
          check_ranges(one, f, mode);
        }
      }
  }
}

TEST_CASE("formats with more fraction bits than places, or that end within a binade, are ranges that hold the count") {
  format e5m2_to_20480 = float8_e5m2;
  e5m2_to_20480.withheld = 6;
  format e4m3fnuz_to_224 = float8_e4m3fnuz;
  e4m3fnuz_to_224.withheld = 1;
  for (const format& f :
       {ieee_format(5, 14), ieee_format(8, 23), float8_e4m3fn, e5m2_to_20480, e4m3fnuz_to_224, binary8p4se}) {
    const pairs p = adversarial(f, 15, 20'000);
    check_ranges(p, f, {});
    for (std::size_t i = 0; i < p.weights.size(); i += 7) {
      pairs one;
      one.add(p.weights[i], p.updates[i]);
      check_ranges(one, f, {});
    }
  }
}

TEST_CASE("exponents alone are wrong where the key is not") {
  const pairs p = adversarial(bfloat16, 16, 20'000);
  std::uint64_t differ = 0;
  for (std::size_t i = 0; i < p.weights.size(); ++i) {
    const double w = p.weights[i];
    const double d = p.updates[i];
    if (!std::isnormal(w) || !std::isnormal(d) || std::fabs(w) < 1e-30 || std::fabs(w) > 1e30) continue;
    const bool guess = std::ilogb(w) - std::ilogb(d) >= bfloat16.fraction_bits + 2;
    const bool is_lost = count_lost_updates(std::vector{w}, std::vector{d}, {bfloat16}).lost.low == 1;
    differ += guess != is_lost ? 1 : 0;
  }
  CHECK(differ > 0);
}

TEST_CASE("merging is counting together, in any order") {
  const pairs a = adversarial(float16, 17, 3'000);
  const pairs b = adversarial(bfloat16, 18, 3'000);
  pairs both = a;
  both.weights.insert(both.weights.end(), b.weights.begin(), b.weights.end());
  both.updates.insert(both.updates.end(), b.updates.begin(), b.updates.end());
  joint_table ab = table_of(a);
  ab.merge(table_of(b));
  joint_table ba = table_of(b);
  ba.merge(table_of(a));
  CHECK(ab == table_of(both));
  CHECK(ba == ab);
  joint_table none;
  none.merge(ab);
  CHECK(none == ab);
  CHECK(none.is_consistent());
}

TEST_CASE("float64 updates are cut, and the mean is a range that holds it") {
  std::mt19937_64 random(19);
  pairs p;
  for (int i = 0; i < 2000; ++i)
    p.add(1 + std::ldexp(static_cast<double>(random() >> 11), -53),
          std::ldexp(static_cast<double>(random() >> 11), -64));
  CHECK(table_of(p).cut_significands > 0);
  check_exact(p, float16);
  check_ranges(p, float16, {.direction = direction::stochastic, .random_bits = exact_probability});
}

TEST_CASE("keys are read back, and what cannot be is refused") {
  for (const joint_cell& c : table_of(adversarial(float16, 20, 2000)).cells) {
    const joint_cell back = joint_cell::of_key(c.key());
    CHECK(back.key() == c.key());
    CHECK(back.weight_exponent == c.weight_exponent);
    CHECK(back.update_exponent == c.update_exponent);
    CHECK(back.place == c.place);
    CHECK(back.form == c.form);
    CHECK(back.shrinks == c.shrinks);
  }
  joint_table t = table_of(adversarial(float16, 21, 100));
  CHECK(t.is_consistent());
  joint_table more = t;
  more.cells.front().count += 1;
  CHECK(!more.is_consistent());
  joint_table sums = t;
  sums.cells.front().significands = 0;
  CHECK(!sums.is_consistent());
  joint_table turned = t;
  std::ranges::reverse(turned.cells);
  CHECK(!turned.is_consistent());
  joint_table place = t;
  place.cells.back().place = 24;
  CHECK(!place.is_consistent());
}
