// Pins the magnitude that is lost at each power-of-two scale to sums over rounded values, and where cells leave it open to
// lost_to_underflow at that scale.
#include <ulp/model/outcomes/magnitude_loss.hpp>

#include "support/catch.hpp"

#include <cmath>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <ulp/formats/catalog.hpp>
#include <ulp/formats/codec.hpp>
#include <ulp/formats/names.hpp>
#include <ulp/model/cells/cell_counter.hpp>
#include <ulp/model/outcomes/lost_mass.hpp>

#include "support/raw.hpp"

using namespace ulp;
using namespace ulp::test;

namespace {

// Over forty binades, edges of binades and cells among them.
std::vector<float> some_values() {
  std::mt19937 random(3);
  std::vector<float> values{0};
  for (int i = 0; i < 600; ++i) {
    const int k = static_cast<int>(random() % 40) - 30;
    const double fraction = i % 5 == 0   ? 0
                            : i % 5 == 1 ? 1 - std::ldexp(1.0, -static_cast<int>(random() % 11))
                                         : std::ldexp(static_cast<double>(random() % 4096), -12);
    values.push_back(static_cast<float>(std::ldexp(1 + fraction, k) * (random() % 2 == 0 ? 1 : -1)));
  }
  return values;
}

// What becomes zero, and what is cut off.
double lost_by_rounding(const std::vector<float>& values, const format& to, const rounding& mode, int exponent) {
  const double largest = std::ldexp(to_double(to, to.max_finite_code()), -exponent);
  double lost = 0;
  for (const float x : values) {
    unpacked scaled = decode(static_cast<double>(x));
    scaled.exponent += exponent;
    const auto result = encode(to, scaled, mode, 0);
    const double magnitude = std::abs(static_cast<double>(x));
    if ((result.code & to.magnitude_mask()) == 0) lost += magnitude;
    const bool clamped = any(result.flags, status::overflow) && !overflow_is_infinite({to, mode}, false);
    if (clamped) lost += magnitude - largest;
  }
  return lost;
}

std::vector<rounding> some_modes() {
  std::vector<rounding> modes;
  for (const direction d : {direction::nearest_even, direction::nearest_away, direction::toward_zero})
    for (const flush how : {flush::never, flush::before_rounding, flush::after_rounding})
      for (const overflow_mode overflow : {overflow_mode::ieee, overflow_mode::saturate})
        modes.push_back({.direction = d, .overflow = overflow, .flush = how});
  return modes;
}

}  // namespace

TEST_CASE("what is lost at each scale is what rounding each value loses") {
  const std::vector<float> values = some_values();
  const cell_table table = count_cells(values);
  double total = 0;
  for (const float x : values) total += std::abs(static_cast<double>(x));
  for (const char* const name :
       {"float16", "bfloat16", "cbfloat16", "float8_e4m3fn", "float8_e5m2", "float4_e2m1", "e4m3fn,max=240"})
    for (const rounding& mode : some_modes()) {
      const format to = *find_format(name);
      // Thresholds within binades are between two cells, so exact; their sums are bounds.
      const bool exact = mode.flush == flush::never;
      const magnitude_loss loss = magnitude_loss_of(table, {to, mode}, 1);
      CHECK(loss.total == Approx(total));
      CAPTURE(name, to_string(mode));
      for (int j = -60; j <= 60; ++j) {
        if (loss.lost.empty() || j > loss.first + static_cast<int>(loss.lost.size()) - 1) break;
        CAPTURE(j);
        const double lost = lost_by_rounding(values, to, mode, j);
        const bool clamps = !overflow_is_infinite({to, mode}, false);
        if (exact && !clamps) {
          CHECK(loss.at(j) == Approx(lost).epsilon(1e-12).margin(1e-15));
        } else {
          CHECK(loss.at(j) >= lost * (1 - 1e-12));
          CHECK(loss.at(j) <= lost * 1.02 + total * 1e-3);
        }
      }
    }
}

TEST_CASE("factors scale the values, powers of two or not") {
  const cell_table table = count_cells(some_values());
  for (const double factor : {1.0, 1024.0, 3.0, 0.1}) {
    const magnitude_loss loss = magnitude_loss_of(table, {float16}, factor);
    for (int j = -60; j <= 60; ++j) {
      CAPTURE(factor, j);
      const lost_mass lost = lost_to_underflow(table, {float16}, {.scale = std::ldexp(1.0, j), .factor = factor});
      CHECK(loss.at(j) == Approx(lost.magnitudes.high).margin(1e-18));
    }
  }
}

TEST_CASE("what cells do not decide is lost") {
  cell_counter counter(cell_counter::with::nothing);
  const std::vector<float> values = some_values();
  counter.add(std::span{values});
  const cell_table binades = binades_of(counter.take());
  cell_table buckets;
  buckets.numel = 30;
  buckets.maybe_zeros = 10;
  buckets.max_abs = not_known;
  buckets.min_abs = not_known;
  buckets.buckets = {{-1e-3, -1e-6, 10}, {-1e-9, 1e-9, 10}, {0.5, 0.75, 10}};
  for (const cell_table& table : {binades, buckets})
    for (const char* const name : {"float16", "dlfloat16"}) {
      const magnitude_loss loss = magnitude_loss_of(table, {*find_format(name)}, 1);
      for (int j = -40; j <= 40; ++j) {
        CAPTURE(name, j);
        const lost_mass lost = lost_to_underflow(table, {*find_format(name)}, {.scale = std::ldexp(1.0, j)});
        CHECK(loss.at(j) == Approx(lost.magnitudes.high).margin(1e-18));
      }
    }
}

TEST_CASE("losses of tables add up, and those of values that nobody counted are not known") {
  const cell_table table = count_cells(some_values());
  magnitude_loss both = magnitude_loss_of(table, {float16}, 1);
  both += magnitude_loss_of(table, {float16}, 0x1p20);
  const magnitude_loss one = magnitude_loss_of(table, {float16}, 1);
  const magnitude_loss other = magnitude_loss_of(table, {float16}, 0x1p20);
  CHECK(both.total == one.total + other.total);
  for (int j = -80; j <= 80; ++j) CHECK(both.at(j) == one.at(j) + other.at(j));

  cell_table unread;
  unread.numel = 5;
  unread.max_abs = unread.min_abs = not_known;
  CHECK(std::isnan(magnitude_loss_of(unread, {float16}, 1).total));
  CHECK(magnitude_loss_of({}, {float16}, 1).total == 0);
}
