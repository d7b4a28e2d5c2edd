// Pins functions.hpp to the host's double, which holds every number of these formats and does each function exactly, its
// result rounded by the oracle; nextafter's flags to the host's nextafterf; and the value type's functions to these.
#include <ulp/formats/functions.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cfenv>
#include <climits>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <ulp/formats/names.hpp>
#include <ulp/formats/number.hpp>

#include "formats/sweep.hpp"
#include "support/catch.hpp"
#include "support/oracle.hpp"

using namespace ulp;
using namespace ulp::test;

namespace {

std::vector<named_format> all_formats() {
  std::vector<named_format> all(small_formats.begin(), small_formats.end());
  all.insert(all.end(), formats_of_other_kinds.begin(), formats_of_other_kinds.end());
  // Integers are subnormal, or 1 is beyond the largest number, or there is none below.
  for (const char* name : {"e4m3,bias=-4", "e4m3,bias=20", "e2m4,specials=none", "e4m3,specials=fnuz,subnormals=no"})
    all.push_back({name, *find_format(name)});
  return all;
}

std::string of_code(std::uint64_t code, const encoded& got, const encoded& expected) {
  return describe(encoded{code}) + ": " + describe(got) + ", expected " + describe(expected);
}

// d, not rounded further but to the format, and what was lost on the way to d.
encoded delivered(const format& f, double d, const rounding& mode, bool lost) {
  encoded e = oracle_round(f, value_of(d), mode);
  if (lost) e.flags |= status::inexact;
  return e;
}

double host_integral(double x, direction way) {
  switch (way) {
    case direction::nearest_away: return std::round(x);
    case direction::toward_zero: return std::trunc(x);
    case direction::toward_positive: return std::ceil(x);
    case direction::toward_negative: return std::floor(x);
    case direction::to_odd: {
      const double cut = std::trunc(x);
      return cut == x || std::fmod(cut, 2) != 0 ? cut : cut + std::copysign(1.0, x);
    }
    default: return std::nearbyint(x);
  }
}

// Every code of formats up to 8 bits, some hundred of the others, the ends and zeros among them.
std::vector<std::uint64_t> some_codes(const format& f) {
  std::vector<std::uint64_t> codes;
  if (f.width() <= 8) {
    for (std::uint64_t code = 0; code <= f.code_mask(); ++code) codes.push_back(code);
    return codes;
  }
  for (const std::uint64_t sign : {std::uint64_t{0}, f.sign_mask()}) {
    for (std::uint64_t code = 0; code <= f.magnitude_mask(); code += 151) codes.push_back(sign | code);
    for (const std::uint64_t code :
         {std::uint64_t{1}, f.min_normal_code() - 1, f.min_normal_code(), f.max_finite_code(), f.max_finite_code() + 1,
          f.max_finite_code() + 2, f.magnitude_mask()})
      codes.push_back(sign | (code & f.magnitude_mask()));
  }
  return codes;
}

}  // namespace

TEST_CASE("rounding to an integer is the host's, rounded to the format") {
  for (const auto& [name, f] : all_formats()) {
    INFO(name);
    sweep s;
    for (std::uint64_t code = 0; code <= f.code_mask(); ++code) {
      const exact_value x = value_of(f, code);
      const bool number = x.kind == number_class::zero || x.kind == number_class::finite;
      const double d = number ? test::to_double(x) : 0;
      for (const direction way : deterministic) {
        const double integer = host_integral(d, way);
        for (const overflow_mode delivery : {overflow_mode::ieee, overflow_mode::saturate}) {
          const rounding mode{.direction = way, .overflow = delivery};
          const encoded expected = number ? delivered(f, integer, mode, integer != d) : oracle_round(f, x, mode);
          const encoded got = rint(f, code, mode);
          s.expect(same(got, expected), [&] { return describe(mode) + ' ' + of_code(code, got, expected); });
          if (delivery == overflow_mode::saturate || way == direction::to_odd) continue;
          const encoded quiet = way == direction::nearest_away      ? round(f, code)
                                : way == direction::toward_zero     ? trunc(f, code)
                                : way == direction::toward_positive ? ceil(f, code)
                                : way == direction::toward_negative ? floor(f, code)
                                                                    : roundeven(f, code);
          const encoded without = number ? delivered(f, integer, mode, false) : expected;
          // Zero is no number of E8M0.
          const bool loses = any(without.flags, status::overflow | status::underflow);
          s.expect(quiet.code == expected.code && (loses || quiet.flags == without.flags) &&
                       (!loses || quiet.flags == expected.flags),
                   [&] { return "quiet " + describe(mode) + ' ' + of_code(code, quiet, without); });
        }
      }
    }
    CHECK(s.failures() == "");
  }
  // Stochastic: 2.25 goes up with the four smallest of sixteen complements.
  const std::uint64_t x = encode(float16, 2.25).code;
  for (std::uint32_t r = 0; r < 16; ++r)
    CHECK(to_double(float16, rint(float16, x, {.direction = direction::stochastic, .random_bits = 4}, r).code) ==
          (r >= 12 ? 3 : 2));
  CHECK(same(rint(float16, 0x0001, {.direction = direction::toward_positive, .daz = true}), {0x0000, status::none}));
}

TEST_CASE("minima and maxima are the host's, and NaN and zeros as the standard has them") {
  for (const auto& [name, f] : all_formats()) {
    INFO(name);
    sweep s;
    const std::vector<std::uint64_t> codes = some_codes(f);
    for (const std::uint64_t a : codes)
      for (const std::uint64_t b : codes) {
        const exact_value x = value_of(f, a);
        const exact_value y = value_of(f, b);
        const bool x_nan = x.kind == number_class::nan;
        const bool y_nan = y.kind == number_class::nan;
        std::array<encoded, 4> expected;  // min, max, fmin, fmax
        if (x_nan || y_nan) {
          const status flags = x.signaling || y.signaling ? status::invalid : status::none;
          const encoded nan{oracle_round(f, x_nan ? x : y).code, flags};
          const encoded number = x_nan && y_nan ? nan : encoded{x_nan ? b : a, flags};
          expected = {nan, nan, number, number};
        } else {
          const double p = test::to_double(x);
          const double q = test::to_double(y);
          const bool first = p != q ? p < q : x.negative;
          const std::uint64_t low = first ? a : b;
          const std::uint64_t high = low == a && a != b ? b : a;
          expected = {encoded{p == q                 ? low
                              : std::fmin(p, q) == p ? a
                                                     : b},
                      encoded{p == q                 ? high
                              : std::fmax(p, q) == p ? a
                                                     : b},
                      encoded{low}, encoded{high}};
        }
        const std::array<encoded, 4> got{min(f, a, b), max(f, a, b), fmin(f, a, b), fmax(f, a, b)};
        for (std::size_t i = 0; i < got.size(); ++i)
          s.expect(same(got[i], expected[i]), [&] {
            return std::to_string(i) + ' ' + describe(encoded{b}) + ' ' + of_code(a, got[i], expected[i]);
          });
      }
    CHECK(s.failures() == "");
  }
  static_assert(min(float16, 0x0000, 0x8000).code == 0x8000 && max(float16, 0x8000, 0x0000).code == 0x0000);
  static_assert(fmin(float16, 0x8000, 0x0000).code == 0x8000 && fmax(float16, 0x0000, 0x8000).code == 0x0000);
  static_assert(min(float16, 0x7C01, 0x3C00).code == 0x7E01 && fmin(float16, 0x7C01, 0x3C00).code == 0x3C00);
  static_assert(fmin(float16, 0x7C01, 0x3C00).flags == status::invalid);
}

TEST_CASE("nextafter goes to the next number in order") {
  for (const auto& [name, f] : all_formats()) {
    INFO(name);
    std::vector<double> numbers;
    for (std::uint64_t code = 0; code <= f.code_mask(); ++code)
      if (const exact_value x = value_of(f, code); x.kind != number_class::nan) numbers.push_back(test::to_double(x));
    std::sort(numbers.begin(), numbers.end());
    numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
    sweep s;
    const std::vector<std::uint64_t> codes = some_codes(f);
    for (const std::uint64_t a : codes)
      for (const std::uint64_t b : codes) {
        const exact_value x = value_of(f, a);
        const exact_value y = value_of(f, b);
        const encoded got = nextafter(f, a, b);
        if (x.kind == number_class::nan || y.kind == number_class::nan) {
          const encoded nan{oracle_round(f, x.kind == number_class::nan ? x : y).code,
                            x.signaling || y.signaling ? status::invalid : status::none};
          s.expect(same(got, nan), [&] { return of_code(a, got, nan); });
          continue;
        }
        const double p = test::to_double(x);
        const double q = test::to_double(y);
        const auto at = std::lower_bound(numbers.begin(), numbers.end(), p);
        const double next = p == q ? q : p < q ? *(at + 1) : *(at - 1);
        const exact_value z = value_of(f, got.code);
        const status flags = p == q                                        ? status::none
                             : std::isinf(next) && !std::isinf(p)          ? status::overflow | status::inexact
                             : z.kind == number_class::zero || z.subnormal ? status::underflow | status::inexact
                                                                           : status::none;
        s.expect(z.kind != number_class::nan && test::to_double(z) == next && got.flags == flags &&
                     (p != q || got.code == b),
                 [&] {
                   return describe(encoded{b}) + ' ' + of_code(a, got, {0, flags});
                 });
      }
    CHECK(s.failures() == "");
  }
}

TEST_CASE("nextafter of float32 is the host's, flags included") {
  sweep s;
  std::vector<std::uint32_t> codes{0,        1,          2,          0x7FFFFF,   0x800000,
                                   0x800001, 0x3F800000, 0x7F7FFFFF, 0x7F800000, 0x7FC00000};
  std::uint32_t state = 1;
  for (int i = 0; i < 200; ++i) codes.push_back((state = state * 1664525 + 1013904223) & 0x7FFFFFFF);
  for (std::size_t i = codes.size(); i-- > 0;) codes.push_back(codes[i] | 0x80000000);
  for (const std::uint32_t a : codes)
    for (const std::uint32_t b : codes) {
      const float x = std::bit_cast<float>(a);
      const float y = std::bit_cast<float>(b);
      if ((std::isnan(x) && (a & 0x400000) == 0) || (std::isnan(y) && (b & 0x400000) == 0)) continue;
      std::feclearexcept(FE_ALL_EXCEPT);
      volatile float from = x;
      volatile float to = y;
      volatile float host = nextafterf(from, to);
      const int raised = std::fetestexcept(FE_OVERFLOW | FE_UNDERFLOW | FE_INEXACT);
      const status flags = ((raised & FE_OVERFLOW) != 0 ? status::overflow : status::none) |
                           ((raised & FE_UNDERFLOW) != 0 ? status::underflow : status::none) |
                           ((raised & FE_INEXACT) != 0 ? status::inexact : status::none);
      const std::uint32_t expected = std::bit_cast<std::uint32_t>(static_cast<float>(host));
      const encoded got = nextafter(binary32, a, b);
      const bool nan = std::isnan(x) || std::isnan(y);
      s.expect((nan ? decode(binary32, got.code).kind == number_class::nan : got.code == expected) &&
                   got.flags == flags,
               [&] {
                 return describe(encoded{b}) + ' ' + of_code(a, got, {expected, flags});
               });
    }
  CHECK(s.failures() == "");
}

TEST_CASE("scaling, exponents and fractions are the host's, rounded to the format") {
  for (const auto& [name, f] : all_formats()) {
    INFO(name);
    sweep s;
    for (std::uint64_t code = 0; code <= f.code_mask(); ++code) {
      const exact_value x = value_of(f, code);
      const bool number = x.kind == number_class::finite;
      const double d = number ? test::to_double(x) : 0;
      const auto expect = [&](const char* what, const encoded& got, const encoded& expected) {
        s.expect(same(got, expected), [&] { return what + (' ' + of_code(code, got, expected)); });
      };
      for (const int n : {INT_MIN, -300, -64, -9, -3, -1, 0, 1, 2, 5, 17, 70, 300, INT_MAX})
        for (const direction way : {direction::nearest_even, direction::toward_positive, direction::toward_zero}) {
          const rounding mode{.direction = way};
          const exact_value scaled = number ? value_of(std::ldexp(d, std::clamp(n, -600, 600))) : x;
          expect("scalbn", scalbn(f, code, n, mode), oracle_round(f, scaled, mode));
        }
      for (const direction way : {direction::nearest_even, direction::toward_negative}) {
        const rounding mode{.direction = way};
        if (number) {
          const int e = std::ilogb(d);
          expect("logb", logb(f, code, mode), oracle_round(f, value_of_integer(e), mode));
          s.expect(ilogb(f, code).value == e && ilogb(f, code).flags == status::none,
                   [&] { return std::to_string(e); });
          int exponent = 0;
          const double fraction = std::frexp(d, &exponent);
          const fraction_and_exponent got = frexp(f, code, mode);
          expect("frexp", got.fraction, oracle_round(f, value_of(fraction), mode));
          s.expect(got.exponent == exponent, [&] { return "frexp " + describe(encoded{code}); });
        } else {
          expect("frexp", frexp(f, code, mode).fraction, oracle_round(f, x, mode));
          s.expect(frexp(f, code, mode).exponent == 0, [&] { return describe(encoded{code}); });
          if (x.kind == number_class::nan) expect("logb", logb(f, code, mode), oracle_round(f, x, mode));
          s.expect(ilogb(f, code).flags == status::invalid, [&] { return describe(encoded{code}); });
        }
      }
    }
    CHECK(s.failures() == "");
  }
  static_assert(same(logb(float16, 0x8000), {0xFC00, status::divide_by_zero}));
  static_assert(same(logb(float16, 0xFC00), {0x7C00, status::none}));
  static_assert(same(logb(float8_e4m3fn, 0x00), {0xFF, status::divide_by_zero}));
  static_assert(same(logb(float16, 0x0001, {.daz = true}), {0xFC00, status::divide_by_zero}));
  static_assert(same(logb(float16, 0x0001), {0xCE00, status::none}));  // -24
  static_assert(same(scalbn(float16, 0x0001, 3, {.daz = true}), {0x0000, status::none}));
  static_assert(ilogb(float16, 0x0001).value == -24);
  static_assert(ilogb(float16, 0).value == INT_MIN && ilogb(float16, 0x7C00).value == INT_MAX);
}

TEST_CASE("fractions of the catalogue's formats are exact but for two") {
  for (const catalog_entry& row : format_catalog()) {
    INFO(row.name);
    if (row.format.width() > 19) continue;
    bool exact = true;
    for (std::uint64_t code = 0; code <= row.format.code_mask(); ++code)
      if (decode(row.format, code).kind == number_class::finite)
        exact = exact && frexp(row.format, code).fraction.flags == status::none;
    CHECK(exact == (row.format != float4_e2m1 && row.format != float6_e2m3));
  }
}

TEST_CASE("the value type has them under the names of <cmath>") {
  using saturating = number<float6_e2m3, rounding{.overflow = overflow_mode::saturate}>;
  sweep s;
  for (std::uint64_t code = 0; code <= 0xFFFF; ++code) {
    const auto x = float16_t::from_code(code);
    const auto y = float16_t::from_code(code * 40503);
    int exponent = 0;
    const auto fraction = frexp(x, &exponent);
    const fraction_and_exponent parts = frexp(float16, code);
    const auto is = [&](float16_t got, const encoded& expected) {
      s.expect(got.code() == expected.code, [&] { return of_code(code, encoded{got.code()}, expected); });
    };
    is(fraction, parts.fraction);
    s.expect(exponent == parts.exponent && ilogb(x) == ilogb(float16, code).value,
             [&] { return std::to_string(code); });
    is(nextafter(x, y), nextafter(float16, code, y.code()));
    is(min(x, y), min(float16, code, y.code()));
    is(max(x, y), max(float16, code, y.code()));
    is(fmin(x, y), fmin(float16, code, y.code()));
    is(fmax(x, y), fmax(float16, code, y.code()));
    is(ldexp(x, 3), scalbn(float16, code, 3));
    is(scalbn(x, -7), scalbn(float16, code, -7));
    is(logb(x), logb(float16, code));
    is(floor(x), floor(float16, code));
    is(ceil(x), ceil(float16, code));
    is(trunc(x), trunc(float16, code));
    is(round(x), round(float16, code));
    is(roundeven(x), roundeven(float16, code));
    is(rint(x), rint(float16, code));
    is(nearbyint(x), rint(float16, code));
  }
  CHECK(s.failures() == "");
  static_assert(rint(saturating{7.5}) == saturating{7.5});
  using capped = number<float16, rounding{.overflow = overflow_mode::saturate}>;
  constexpr auto endless = capped::from_code(float16.infinity_code());
  static_assert(rint(endless) == std::numeric_limits<capped>::max() && round(endless) == rint(endless));
  static_assert(floor(endless) == rint(endless) && ceil(endless) == rint(endless) && trunc(endless) == rint(endless));
  static_assert(roundeven(-endless) == -rint(endless));
  // 1 is beyond the largest number.
  using fractions = number<format{3, 2, 8}, rounding{.overflow = overflow_mode::saturate}>;
  static_assert(ceil(fractions{0.25}) == std::numeric_limits<fractions>::max());
  using zeroing = number<float16, rounding{.daz = true}>;
  static_assert(ceil(zeroing::from_code(1)) == zeroing{} && ceil(0x1p-24_f16) == 1_f16);
  static_assert(floor(zeroing::from_code(0x8001)) == zeroing{} && floor(-0x1p-24_f16) == -1_f16);
  static_assert(ilogb(zeroing::from_code(1)) == INT_MIN && ilogb(0x1p-24_f16) == -24);
  static_assert(ilogb(float16, 1, true).flags == status::invalid && ilogb(float16, 0x0400, true).value == -14);
  static_assert(max(1.5_f16, 2_f16) == 2_f16 && floor(-1.5_f16) == -2_f16);
}
