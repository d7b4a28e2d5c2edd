// Pins neighbours.hpp: next_up and next_down against the sorted numbers of each small format, IEEE 754-2019's rules for
// specials, and the size of steps.
#include <ulp/formats/neighbours.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "formats/sweep.hpp"
#include "support/catch.hpp"
#include "support/oracle.hpp"

using namespace ulp;
using namespace ulp::test;

TEST_CASE("next_up and next_down walk through all numbers in order") {
  for (const auto& [name, f] : small_formats) {
    INFO(name);
    std::vector<double> numbers;
    for (std::uint64_t code = 0; code <= f.code_mask(); ++code)
      if (const exact_value x = value_of(f, code); x.kind != number_class::nan) numbers.push_back(test::to_double(x));
    std::sort(numbers.begin(), numbers.end());
    numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());  // -0 and +0 are one number

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
      s.expect(test::to_double(value_of(f, next_up(f, code))) == above &&
                   test::to_double(value_of(f, next_down(f, code))) == below,
               [&] { return describe(encoded{code}); });
    }
    CHECK(s.failures() == "");
  }
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
}

TEST_CASE("a step is what separates neighbours") {
  for (const auto& [name, f] : small_formats) {
    INFO(name);
    sweep s;
    for (std::uint64_t code = 0; code < f.max_finite_code(); ++code) {
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
