// Pins every kernel of convert.hpp to the codec: each target that this processor runs, all formats of the catalogue and some
// of no catalogue, every direction, overflow, flush and DAZ, from floats, doubles and codes; with counts, which are another
// loop, and without.
#include <ulp/formats/convert.hpp>

#include <array>
#include <numeric>

#include "formats/convert.hpp"
#include "support/catch.hpp"
#include "support/strides.hpp"

namespace {

using namespace ulp;
using namespace ulp::test;

// As many bits as fit, and formats whose range is not float's: with huge numbers only, tiny numbers only, on both sides.
std::vector<named_format> all_formats() {
  std::vector<named_format> all = convertible_formats();
  for (const named_format& f :
       {named_format{"e2m1", ieee_format(2, 1)}, named_format{"e5m16", ieee_format(5, 16)},
        named_format{"e5m22", ieee_format(5, 22)}, named_format{"e8m22", ieee_format(8, 22)},
        named_format{"e10m5", ieee_format(10, 5)}, named_format{"e11m20", ieee_format(11, 20)},
        named_format{"e4m3 of huge numbers", {4, 3, -100}}, named_format{"e4m3 up to 2^108", {4, 3, -93}},
        named_format{"e4m3 of tiny numbers", {4, 3, 140}}, named_format{"e4m3 of tinier numbers", {4, 3, 160}},
        named_format{"e5m3 without subnormals, fnuz",
                     {5, 3, 120, specials::nan_negative_zero, lowest_binade::normals_and_zero}},
        named_format{"e4m3fnuz to 224", ending_below(float8_e4m3fnuz, 1)},
        named_format{"e4m3fn to 240", ending_below(float8_e4m3fn, 7)},
        named_format{"float16 to 448", ending_below(float16, 0x7BFF - 0x5F00)},
        named_format{"bfloat16 to 1", ending_below(bfloat16, 0x7F7F - 0x3F80)},
        named_format{"float6_e3m2 to 16", ending_below(float6_e3m2, 3)},
        named_format{"binary8p3se to 40960", ending_below(binary8p3se, 1)},
        named_format{"binary12p6se", p3109_extended(12, 6)},
        named_format{"e3m4 without sign", {3, 4, 3, specials::ieee, lowest_binade::subnormals, false}}})
    all.push_back(f);
  return all;
}

template <class Number>
std::vector<Number> elements_of(const format& f) {
  std::vector<Number> all;
  // Of wide formats about so many powers of two.
  const int bits = f.width() + 1;
  const int most = is_exhaustive() ? 15 : 13;
  push_numbers_and_midpoints(all, f, bits <= most ? 1 : (std::uint64_t{1} << (bits - most)) + 1);
  push_specials(all);
  return all;
}

// Every stated stride over all floats: a prime, so that every bit takes part.
std::vector<float> strided_floats(std::uint32_t stride) {
  std::vector<float> all;
  for (std::uint64_t bits = 0; bits < std::uint64_t{1} << 32; bits += stride)
    all.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  return all;
}

template <class Number>
void check(sweep& s, const named_format& to, const std::vector<Number>& elements, const conversion& how,
           const std::string& what) {
  const int power = std::ilogb(how.scale);  // of powers of two
  const auto exact = [&](std::size_t i) { return scaled(decode(elements[i]), power); };
  const expected_codes expected = by_codec(to.format, elements.size(), how, exact);
  std::vector<std::uint32_t> got(elements.size());
  for (const std::string_view target : targets()) {
    const forced_target forced{target};
    const std::string name = std::string{to.name} + ' ' + describe(how.rounding) + ' ' + std::string{target} + what;
    std::fill(got.begin(), got.end(), 0xAAAAAAAA);
    encode_array(to.format, elements, got, how);
    compare(s, expected, got, nullptr, name);
    compare_rounded(s, to.format, expected, elements, how, name);
    std::fill(got.begin(), got.end(), 0xAAAAAAAA);
    conversion_counts counts;
    encode_array(to.format, elements, got, how, &counts);
    compare(s, expected, got, &counts, name + " counted");
  }
}

}  // namespace

TEST_CASE("floats to codes of every format in every deterministic rounding") {
  const std::vector<float> strided = strided_floats(1000003);
  for (const named_format& to : all_formats()) {
    INFO(to.name);
    std::vector<float> elements = elements_of<float>(to.format);
    elements.insert(elements.end(), strided.begin(), strided.end());
    sweep s;
    for (const rounding& mode : deterministic_modes()) check(s, to, elements, {.rounding = mode}, "");
    CHECK(s.failures() == "");
  }
}

TEST_CASE("doubles to codes of every format in every deterministic rounding") {
  for (const named_format& to : all_formats()) {
    INFO(to.name);
    const std::vector<double> elements = elements_of<double>(to.format);
    sweep s;
    for (const rounding& mode : deterministic_modes())
      if (mode.overflow != overflow_mode::saturate) check(s, to, elements, {.rounding = mode}, "");
    CHECK(s.failures() == "");
  }
}

TEST_CASE("what scales and flushes has the codec's breakpoints") {
  sweep s;
  // 2^-14 - 2^-26, half way between two midpoints, becomes the smallest normal number: at this scale float's subnormal
  // numbers do not tell what is just below it.
  for (const int power : {122, 123, 124}) {
    const double scale = std::ldexp(1.0, power);
    std::vector<double> elements;
    for (int steps = 1; steps <= 64; ++steps) {
      push_with_neighbours(elements, (std::ldexp(1.0, -14) - std::ldexp(steps, -27)) / scale);
      push_with_neighbours(elements, (std::ldexp(1.0, -14) + std::ldexp(steps, -27)) / scale);
    }
    for (const rounding& mode : deterministic_modes())
      check(s, {"float16", float16}, elements, {.rounding = mode, .scale = scale}, "scaled");
  }
  // The code that would be -0 is NaN, to which too large numbers go.
  std::vector<float> elements;
  for (int power = -20; power < 12; ++power) push_with_neighbours(elements, std::ldexp(1.25F, power));
  for (const format& to : {float8_e4m3fnuz, float8_e5m2fnuz})
    for (const double scale : {1.0, 256.0})
      for (const rounding& mode : deterministic_modes())
        check(s, {"fnuz", to}, elements, {.rounding = mode, .scale = scale}, "scaled");
  CHECK(s.failures() == "");
}
