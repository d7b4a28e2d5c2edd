// Pins neighbours.hpp: next_up, next_down and ulp_distance against the sorted numbers of each small format, IEEE
// 754-2019's rules for specials, and the size of steps.
#include <ulp/formats/names.hpp>
#include <ulp/formats/neighbours.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "formats/sweep.hpp"
#include "support/catch.hpp"
#include "support/oracle.hpp"

using namespace ulp;
using namespace ulp::test;

namespace {

std::vector<named_format> all_formats() {
  std::vector<named_format> all(small_formats.begin(), small_formats.end());
  all.insert(all.end(), formats_of_other_kinds.begin(), formats_of_other_kinds.end());
  all.push_back({"e4m3,specials=fnuz,subnormals=no", *find_format("e4m3,specials=fnuz,subnormals=no")});
  return all;
}

// Ascending; -0 and +0 are one number.
std::vector<double> numbers_of(const format& f) {
  std::vector<double> numbers;
  for (std::uint64_t code = 0; code <= f.code_mask(); ++code)
    if (const exact_value x = value_of(f, code); x.kind != number_class::nan) numbers.push_back(test::to_double(x));
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  return numbers;
}

}  // namespace

TEST_CASE("next_up and next_down walk through all numbers in order") {
  for (const auto& [name, f] : all_formats()) {
    INFO(name);
    const std::vector<double> numbers = numbers_of(f);
    sweep s;
    for (std::uint64_t code = 0; code <= f.code_mask(); ++code) {
      const exact_value x = value_of(f, code);
      if (x.kind == number_class::nan) {
        s.expect(next_up(f, code) == code && next_down(f, code) == code, [&] { return describe(encoded{code}); });
        continue;
      }
      const auto at = std::lower_bound(numbers.begin(), numbers.end(), test::to_double(x));
      const double above = at + 1 == numbers.end() ? *at : *(at + 1);
      const double below = at == numbers.begin() ? *at : *(at - 1);
      const exact_value up = value_of(f, next_up(f, code));
      const exact_value down = value_of(f, next_down(f, code));
      s.expect(up.kind != number_class::nan && test::to_double(up) == above && down.kind != number_class::nan &&
                   test::to_double(down) == below,
               [&] { return describe(encoded{code}); });
    }
    CHECK(s.failures() == "");
  }
}

TEST_CASE("the distance of two numbers is how far apart they are in order") {
  for (const auto& [name, f] : all_formats()) {
    INFO(name);
    const std::vector<double> numbers = numbers_of(f);
    const std::uint64_t stride = f.width() > 8 ? 251 : 1;
    sweep s;
    for (std::uint64_t a = 0; a <= f.code_mask(); a += stride)
      for (std::uint64_t b = 0; b <= f.code_mask(); b += stride) {
        const exact_value x = value_of(f, a);
        const exact_value y = value_of(f, b);
        if (x.kind == number_class::nan || y.kind == number_class::nan) continue;
        const auto from = std::lower_bound(numbers.begin(), numbers.end(), test::to_double(x));
        const auto to = std::lower_bound(numbers.begin(), numbers.end(), test::to_double(y));
        s.expect(ulp_distance(f, a, b) == static_cast<std::uint64_t>(std::abs(to - from)),
                 [&] { return describe(encoded{a}) + ' ' + describe(encoded{b}); });
      }
    CHECK(s.failures() == "");
  }
  static_assert(ulp_distance(float16, 0x8000, 0x0000) == 0);
  static_assert(ulp_distance(float16, 0x8001, 0x0001) == 2);
  static_assert(ulp_distance(float16, 0x7BFF, 0x7C00) == 1);
  static_assert(ulp_distance(float8_e4m3fnuz, 0x81, 0x01) == 2);
  // From the one infinity to the other.
  static_assert(ulp_distance(binary64, 0xFFF0000000000000, 0x7FF0000000000000) == 0xFFE0000000000000);
}

TEST_CASE("next_up of zeros, ends and specials") {
  CHECK(next_up(float16, 0x0000) == 0x0001);
  CHECK(next_up(float16, 0x8000) == 0x0001);
  CHECK(next_down(float16, 0x0000) == 0x8001);
  CHECK(next_down(float16, 0x8000) == 0x8001);
  CHECK(next_up(float16, 0x8001) == 0x8000);  // -0, as IEEE 754-2019, 5.3.1 has it
  CHECK(next_down(float16, 0x0001) == 0x0000);
  CHECK(next_up(float16, 0x7BFF) == 0x7C00);
  CHECK(next_up(float16, 0x7C00) == 0x7C00);
  CHECK(next_up(float16, 0xFC00) == 0xFBFF);
  CHECK(next_down(float16, 0xFC00) == 0xFC00);
  CHECK(next_down(float16, 0x7C00) == 0x7BFF);
  CHECK(next_up(float16, 0x7C01) == 0x7C01);
  CHECK(next_up(float8_e4m3fn, 0x7E) == 0x7E);
  CHECK(next_down(float8_e4m3fn, 0xFE) == 0xFE);
  CHECK(next_up(float8_e4m3fn, 0xFF) == 0xFF);
  CHECK(next_up(float8_e4m3fnuz, 0x81) == 0x00);
  CHECK(next_down(float8_e4m3fnuz, 0x00) == 0x81);
  CHECK(next_down(float8_e4m3fnuz, 0x01) == 0x00);
  CHECK(next_up(float8_e4m3fnuz, 0x80) == 0x80);
  CHECK(next_up(float8_e4m3fnuz, 0x7F) == 0x7F);
  CHECK(next_up(float4_e2m1, 0x7) == 0x7);
  CHECK(next_down(float4_e2m1, 0xF) == 0xF);
  CHECK(next_down(float8_e8m0, 0x00) == 0x00);
  CHECK(next_up(float8_e8m0, 0xFE) == 0xFE);
  CHECK(next_up(float8_e8m0, 0xFF) == 0xFF);
  CHECK(next_up(dlfloat16, 0x8001) == 0x8000);
  CHECK(next_up(dlfloat16, 0x8000) == 0x0001);
  CHECK(next_up(dlfloat16, 0x7FFE) == 0x7FFE);
}

TEST_CASE("a step is what separates neighbours") {
  for (const auto& [name, f] : all_formats()) {
    INFO(name);
    sweep s;
    // Without subnormals the gap above zero is wider.
    for (std::uint64_t code = f.has_zero() && !f.has_subnormals() ? 1 : 0; code < f.max_finite_code(); ++code) {
      const double gap = test::to_double(value_of(f, code + 1)) - test::to_double(value_of(f, code));
      s.expect(std::ldexp(1.0, ulp_exponent(f, decode(f, code))) == gap &&
                   std::ldexp(1.0, ulp_exponent(f, decode(f, f.sign_mask() | code))) == gap,
               [&] { return describe(encoded{code}); });
    }
    CHECK(s.failures() == "");
  }
  // Numbers of other formats: that of their binade, within the format's range.
  CHECK(ulp_exponent(float16, decode(0x1p-100)) == -24);
  CHECK(ulp_exponent(float16, decode(0x1p100)) == 5);
  CHECK(ulp_exponent(float16, decode(1.9999999)) == -10);
}

TEST_CASE("the error of a code is the exact quotient of its distance and the unit of the exact value") {
  CHECK(error_in_ulps(float16, 0x3C00, 1.0) == 0);
  CHECK(error_in_ulps(float16, 0x3C01, 1.0) == 1);         // 1 + 2^-10
  CHECK(error_in_ulps(float16, 0x3BFF, 1.0) == 0.5);       // 1 - 2^-11: the unit is that above a power of two
  CHECK(error_in_ulps(float16, 0x3C00, 0x1.ffcp-1) == 1);  // but 1 is a whole one from it
  CHECK(error_in_ulps(float16, 0xBC00, 1.0) == 2048);      // of the other sign
  CHECK(error_in_ulps(float16, 0x3C00, 1 + 0x1p-11) == 0.5);
  CHECK(error_in_ulps(float16, 0x3C00, 1 + 0x1p-52) == 0x1p-42);
  // Zero and subnormal numbers: the step of those.
  CHECK(error_in_ulps(float16, 0, 0x1p-25) == 0.5);
  CHECK(error_in_ulps(float16, 0x8000, 0.0) == 0);
  CHECK(error_in_ulps(float16, 1, -0x1p-24) == 2);
  CHECK(error_in_ulps(float16, 0x0400, 0x1.ff8p-15) == 1);
  CHECK(error_in_ulps(float64, 1, 0.0) == 1);
  CHECK(error_in_ulps(float64, 0, 0x1p-1074) == 1);
  // Beyond the largest number: the step of the largest, infinity being 2^16 and everything above.
  constexpr double infinity = std::numeric_limits<double>::infinity();
  CHECK(error_in_ulps(float16, 0x7BFF, 65520) == 0.5);
  CHECK(error_in_ulps(float16, 0x7C00, 65520) == 0.5);
  CHECK(error_in_ulps(float16, 0x7C00, 65504) == 1);
  CHECK(error_in_ulps(float16, 0x7C00, 65536) == 0);
  CHECK(error_in_ulps(float16, 0x7C00, 1e300) == 0);
  CHECK(error_in_ulps(float16, 0x7C00, infinity) == 0);
  CHECK(error_in_ulps(float16, 0xFC00, 65536) == 4096);
  CHECK(error_in_ulps(float16, 0xFC00, infinity) == infinity);
  CHECK(error_in_ulps(float16, 0x7BFF, infinity) == infinity);
  CHECK(error_in_ulps(float8_e4m3fn, 0x7E, 480) == 1);
  CHECK(error_in_ulps(float64, 0x7FEFFFFFFFFFFFFF, -1e308) > 1e15);
  // NaN.
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(error_in_ulps(float16, 0x7E00, nan) == 0);
  CHECK(error_in_ulps(float16, 0x7E00, 1.0) == infinity);
  CHECK(error_in_ulps(float16, 0x3C00, nan) == infinity);
}

TEST_CASE("rounding to nearest is off by half a unit at most, any rounding by less than one") {
  for (const auto& [name, f] : small_formats) {
    INFO(name);
    sweep s;
    for (std::uint64_t bits = 1; bits < 0x7FF0000000000000; bits += 0x0000F0F0F0F0F0F1) {
      const auto x = std::bit_cast<double>(bits);
      if (!f.has_infinity() && x > to_double(f, f.max_finite_code())) break;
      s.expect(error_in_ulps(f, encode(f, x).code, x) <= 0.5, [&] { return std::to_string(x); });
      const encoded below = encode(f, x, {.direction = direction::toward_negative});
      if (x <= to_double(f, f.max_finite_code()))
        s.expect(error_in_ulps(f, below.code, x) < 1, [&] { return std::to_string(x); });
    }
    CHECK(s.failures() == "");
  }
}
