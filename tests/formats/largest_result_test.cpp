// Formats with a largest number of their own, against a search among all numbers that they deliver: names, codes, every
// rounding of numbers, midpoints and what lies beside them, by the codec and by every kernel.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <ulp/formats/catalog.hpp>
#include <ulp/formats/codec.hpp>
#include <ulp/formats/convert.hpp>
#include <ulp/formats/names.hpp>
#include <ulp/formats/neighbours.hpp>

#include "formats/convert.hpp"
#include "support/catch.hpp"

using namespace ulp;
using namespace ulp::test;

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

// The numbers of a format and as many more as a last binade that is not whole lacks, and twice that: index is code.
std::vector<double> grid_of(const format& f) {
  std::vector<double> grid;
  const int steps = 1 << f.fraction_bits;
  for (int field = 0; field < (2 << f.exponent_bits); ++field)
    for (int fraction = 0; fraction < steps; ++fraction) {
      const bool is_low = field == 0 && f.bottom == lowest_binade::subnormals;
      const double x =
          std::ldexp(is_low ? fraction : steps + fraction, std::max(field, is_low ? 1 : 0) - f.bias - f.fraction_bits);
      grid.push_back(field == 0 && fraction == 0 && f.bottom != lowest_binade::normals_without_zero ? 0 : x);
    }
  return grid;
}

// What x > 0 becomes: the nearest of two numbers of the endless grid, unless that is beyond the largest.
struct answer {
  std::size_t index = 0;
  bool overflows = false;
  bool inexact = false;
};
answer search(const std::vector<double>& grid, std::size_t largest, double x, bool negative, direction way) {
  const auto above = static_cast<std::size_t>(std::lower_bound(grid.begin(), grid.end(), x) - grid.begin());
  if (above < grid.size() && grid[above] == x) return {above, above > largest, above > largest};
  const std::size_t below = above - 1;
  const double half = (grid[below] + grid[above]) / 2;
  bool up = false;
  switch (way) {
    case direction::nearest_even: up = x > half || (x == half && below % 2 == 1); break;
    case direction::nearest_away: up = x >= half; break;
    case direction::toward_zero: break;
    case direction::toward_positive: up = !negative; break;
    case direction::toward_negative: up = negative; break;
    default: up = below % 2 == 0; break;
  }
  const std::size_t index = up ? above : below;
  return {index, index > largest, true};
}

std::uint64_t signed_code(const format& f, std::uint64_t magnitude, bool negative) {
  const bool no_sign =
      magnitude == 0 && (f.top == specials::nan_negative_zero || f.top == specials::nan_negative_zero_and_infinity);
  return magnitude | (negative && !no_sign ? std::uint64_t{1} << (f.exponent_bits + f.fraction_bits) : 0);
}

// What is delivered in place of what overflows.
std::uint64_t in_place_of_overflow(const format& f, std::size_t largest, bool negative, const rounding& mode) {
  const std::uint64_t all_ones = (std::uint64_t{1} << (f.exponent_bits + f.fraction_bits)) - 1;
  const bool back = mode.direction == direction::toward_zero || mode.direction == direction::to_odd ||
                    mode.direction == (negative ? direction::toward_positive : direction::toward_negative);
  if (back || mode.overflow != overflow_mode::ieee) return signed_code(f, largest, negative);
  switch (f.top) {
    case specials::ieee: return signed_code(f, all_ones - ((std::uint64_t{1} << f.fraction_bits) - 1), negative);
    case specials::nan_all_ones:
    case specials::nan_negative_zero_and_infinity: return signed_code(f, all_ones, negative);
    case specials::nan_negative_zero: return all_ones + 1;
    case specials::none: break;
  }
  return signed_code(f, largest, negative);
}

// The numbers of the format to beyond its end, what lies between, halfway and close to that.
std::vector<double> elements_of(const std::vector<double>& grid, std::size_t end) {
  std::vector<double> all;
  for (std::size_t i = 0; i < end; ++i) {
    const double half = (grid[i] + grid[i + 1]) / 2;
    for (const double x : {grid[i], half}) {
      if (x > 0) all.insert(all.end(), {x, std::nextafter(static_cast<float>(x), 0.0F), std::nextafter(x, infinite)});
      all.push_back(static_cast<double>(std::nextafter(static_cast<float>(x), HUGE_VALF)));
    }
  }
  std::erase(all, 0.0);
  return all;
}

struct base_format {
  const char* name;
  format whole;
  std::uint64_t last;  // number's code
};
const std::vector<base_format> bases{
    {"e4m3fn", float8_e4m3fn, 0x7E},     {"e4m3fnuz", float8_e4m3fnuz, 0x7F}, {"e5m2", float8_e5m2, 0x7B},
    {"e5m2fnuz", float8_e5m2fnuz, 0x7F}, {"e4m3", ieee_format(4, 3), 0x77},   {"binary8p3se", binary8p3se, 0x7E},
    {"binary8p4se", binary8p4se, 0x7E},  {"float6_e3m2", float6_e3m2, 0x1F},  {"float4_e2m1", float4_e2m1, 7}};

}  // namespace

TEST_CASE("names of formats with a largest number of their own") {
  const format to_224 = find_format("e4m3fnuz,max=224").value();
  CHECK(to_224 == ending_below(float8_e4m3fnuz, 1));
  CHECK(to_224 != float8_e4m3fnuz);
  CHECK(to_string(to_224) == "float8_e4m3fnuz,max=224");
  CHECK(find_format("E4M3FNUZ,MAX=224") == to_224);
  CHECK(find_format("fp8_e4m3fnuz,max=0x1.cp7") == to_224);
  CHECK(find_format("e4m3,max=224,specials=fnuz") == to_224);
  CHECK(find_format("E4M3,max=240") == ending_below(float8_e4m3fn, 7));
  CHECK(find_format("e4m3,max=240") == ieee_format(4, 3));  // where it ends anyway
  CHECK(note_on_name("e4m3,max=240") == note_on_name("e4m3"));
  CHECK(note_on_name("e4m3fn,max=240").empty());
  CHECK(find_format("e4m3fn,max=448") == float8_e4m3fn);
  CHECK(find_format("e5m2,max=57344") == float8_e5m2);
  CHECK(find_format("float16,max=448")->max_finite_code() == 0x5F00);
  CHECK(find_format("e8m0,max=2^10")->max_finite_code() == 137);
  CHECK(find_format("dlfloat16,max=1024")->emax() == 10);
  CHECK(default_direction(*find_format("dlfloat16,max=1024")) == direction::nearest_away);
  for (const char* const name :
       {"float8_e4m3fnuz,max=224", "float16,max=448", "float4_e2m1,max=4", "bfloat16,max=2^100",
        "e6m9,bias=30,specials=none,max=3.5", "float64,max=0x1.23456789abcdep+900", "float32,max=2^-126",
        "dlfloat16,max=1024", "binary9p4se,max=3", "float8_e8m0,max=4"}) {
    INFO(name);
    const parsed<format> read = parse_format(name);
    CHECK(read.error.empty());
    REQUIRE(read.value);
    CHECK(read.value->withheld > 0);
    CHECK(find_format(to_string(*read.value)) == read.value);
  }
}

TEST_CASE("a largest number that a format does not have is refused with the two nearest") {
  const auto error = [](const char* name) { return parse_format(name).error; };
  CHECK(
      error("e4m3fn,max=230") ==
      "format 'e4m3fn,max=230': max cannot be 230, only a normal number of float8_e4m3fn; the nearest are 224 and 240");
  CHECK(error("e4m3fn,max=1000").ends_with("the nearest are 416 and 448"));
  CHECK(error("e4m3fn,max=inf").ends_with("the nearest are 416 and 448"));
  for (const char* const low : {"0", "-0", "-3", "-inf", "nan", "0.001", "0.0146484375"})  // the last is subnormal
    CHECK(parse_format(std::string{"e4m3fn,max="} + low).error.ends_with("the nearest are 0.015625 and 0.017578125"));
  CHECK(error("e2m1,max=3.5").ends_with("only a normal number of e2m1; the nearest are 2 and 3"));
  CHECK(error("float16,max=70000").ends_with("the nearest are 65472 and 65504"));
  CHECK(error("float16,max=") == "format 'float16,max=': max cannot be '': a number");
  CHECK(error("float16,max=big") == "format 'float16,max=big': max cannot be 'big': a number");
  CHECK(error("float16,max=1,max=2") == "format 'float16,max=1,max=2': max is given twice");
  CHECK(error("mxfp8,max=240").find("a format of blocks") != std::string::npos);
  CHECK(error("float77,max=240").find("unknown format 'float77'") != std::string::npos);
  CHECK(error("max=240").find("unknown format") != std::string::npos);
  CHECK_FALSE(ending_below(float8_e4m3fn, 127).is_valid());
  CHECK_FALSE(ending_below(float8_e4m3fn, ~std::uint64_t{0}).is_valid());
}

TEST_CASE("codes above the largest result are the numbers they were") {
  for (const base_format& b : bases)
    for (std::uint64_t withheld = 0; withheld <= b.last - b.whole.min_normal_code(); ++withheld) {
      const format f = ending_below(b.whole, withheld);
      CHECK(f.is_valid());
      CHECK(f.last_number_code() == b.last);
      CHECK(f.max_finite_code() == b.last - withheld);
      bool all_equal = true;
      for (std::uint64_t code = 0; code <= f.code_mask(); ++code)
        all_equal = all_equal &&
                    (to_double(f, code) == to_double(b.whole, code)) == (decode(f, code).kind != number_class::nan) &&
                    decode(f, code).kind == decode(b.whole, code).kind;
      CHECK(all_equal);
    }
  const format to_224 = ending_below(float8_e4m3fnuz, 1);
  CHECK(to_double(to_224, code{0x7F}) == 240);
  CHECK(next_up(to_224, code{0x7E}) == 0x7F);
  CHECK(ulp_distance(to_224, code{0x7E}, code{0x7F}) == 1);
  CHECK(error_in_ulps(to_224, code{0x7F}, 224) == 1);
}

TEST_CASE("results end at the largest number, in every rounding") {
  sweep s;
  for (const base_format& b : bases) {
    const std::vector<double> grid = grid_of(b.whole);
    for (std::uint64_t withheld = 0; withheld <= b.last - b.whole.min_normal_code(); ++withheld) {
      const format f = ending_below(b.whole, withheld);
      const auto largest = static_cast<std::size_t>(b.last - withheld);
      const std::vector<double> all = elements_of(grid, largest + (std::size_t{2} << f.fraction_bits));
      for (const direction way : deterministic)
        for (const auto overflow : {overflow_mode::ieee, overflow_mode::saturate, overflow_mode::saturate_finite}) {
          const rounding mode{.direction = way, .overflow = overflow};
          for (const double x : all)
            for (const bool negative : {false, true}) {
              const answer expected = search(grid, largest, x, negative, way);
              const std::uint64_t code = expected.overflows ? in_place_of_overflow(f, largest, negative, mode)
                                                            : signed_code(f, expected.index, negative);
              const encoded got = encode(f, negative ? -x : x, mode);
              s.expect(
                  got.code == code && any(got.flags, status::overflow) == expected.overflows &&
                      any(got.flags, status::inexact) == expected.inexact,
                  [&] { return to_string(f) + ' ' + describe(mode) + ' ' + std::to_string(x) + ": " + describe(got); });
            }
        }
    }
  }
  CHECK(s.failures() == "");
  CHECK(s.compared() > 10'000'000);
}

TEST_CASE("every kernel ends at the largest number, and counts what overflows") {
  sweep s;
  for (const base_format& b : bases) {
    const std::vector<double> grid = grid_of(b.whole);
    for (const std::uint64_t withheld :
         {std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{3}, b.last - b.whole.min_normal_code()}) {
      const format f = ending_below(b.whole, withheld);
      const auto largest = static_cast<std::size_t>(b.last - withheld);
      std::vector<float> elements;
      for (const double x : elements_of(grid, largest + (std::size_t{2} << f.fraction_bits)))
        for (const bool negative : {false, true}) elements.push_back(static_cast<float>(negative ? -x : x));
      for (const direction way : deterministic)
        for (const auto overflow : {overflow_mode::ieee, overflow_mode::saturate, overflow_mode::saturate_finite}) {
          const conversion how{.rounding = {.direction = way, .overflow = overflow}};
          std::vector<std::uint64_t> codes;
          std::uint64_t overflowed = 0;
          for (const float x : elements) {
            const bool negative = std::signbit(x);
            const answer expected = search(grid, largest, std::fabs(static_cast<double>(x)), negative, way);
            overflowed += expected.overflows ? 1 : 0;
            codes.push_back(expected.overflows ? in_place_of_overflow(f, largest, negative, how.rounding)
                                               : signed_code(f, expected.index, negative));
          }
          for (const std::string_view target : targets()) {
            const forced_target forced{target};
            std::vector<std::uint8_t> plain(elements.size());
            std::vector<std::uint8_t> counted(elements.size());
            std::vector<float> rounded(elements.size());
            conversion_counts counts;
            encode_array(f, elements, plain, how);
            encode_array(f, elements, counted, how, &counts);
            round_array(f, elements, rounded, how);
            s.expect(counts.overflowed == overflowed, [&] { return to_string(f) + " counts " + describe(counts); });
            for (std::size_t i = 0; i < elements.size(); ++i) {
              const float number = to_float(b.whole, codes[i]);
              s.expect(plain[i] == codes[i] && counted[i] == codes[i] &&
                           (rounded[i] == number || (number != number && rounded[i] != rounded[i])),
                       [&] {
                         return std::string{target} + ' ' + to_string(f) + ' ' + describe(how.rounding) + ' ' +
                                std::to_string(elements[i]) + ": " + std::to_string(plain[i]) + ' ' +
                                std::to_string(counted[i]) + ' ' + std::to_string(rounded[i]);
                       });
            }
          }
        }
    }
  }
  CHECK(s.failures() == "");
}

TEST_CASE("infinity and NaN are as in the whole format") {
  const format fnuz = ending_below(float8_e4m3fnuz, 1);
  const format e5m2 = ending_below(float8_e5m2, 4);
  const format e2m1 = ending_below(float4_e2m1, 1);
  const rounding saturating{.overflow = overflow_mode::saturate};
  CHECK(encode(fnuz, infinite).code == 0x80);
  CHECK(encode(fnuz, -infinite, saturating).code == 0xFE);
  CHECK(encode(fnuz, std::nan("")).code == 0x80);
  CHECK(encode(e5m2, infinite).code == 0x7C);
  CHECK(encode(e5m2, -infinite, saturating).code == 0xF7);
  CHECK(encode(e5m2, infinite, {.overflow = overflow_mode::saturate_finite}).code == 0x7C);
  CHECK(encode(e5m2, std::nan("")).code == 0x7E);
  CHECK(encode(e2m1, infinite).code == 6);
  CHECK(encode(e2m1, std::nan("")).code == 6);
  CHECK(encode(e2m1, -100.0).code == 14);
}
