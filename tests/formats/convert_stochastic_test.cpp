// Pins stochastic rounding of arrays to the codec, element by element with the random bits of random_bits.hpp, for every
// definition and number of bits, on every target, and across the end of the indices; what fill_random_bits writes; and that
// the results are unbiased, independent of their neighbours' and spread as binomial numbers are.
#include <ulp/formats/convert.hpp>

#include <algorithm>
#include <array>

#include "formats/convert.hpp"
#include "support/catch.hpp"
#include "support/strides.hpp"

namespace {

using namespace ulp;
using namespace ulp::test;

constexpr std::array definitions{stochastic_definition::a, stochastic_definition::b, stochastic_definition::c};

std::vector<float> elements_of(const format& f) {
  std::vector<float> all;
  push_numbers_and_midpoints(all, f, f.width() <= 8 ? 1 : (std::uint64_t{1} << (f.width() - 10)) + 1);
  push_specials(all);
  std::uint32_t bits = 1;
  for (int i = 0; i < (is_exhaustive() ? 4000 : 1000); ++i) {
    bits = bits * 1664525 + 1013904223;
    all.push_back(std::bit_cast<float>(bits));
    // Where bfloat16's and float16's subnormal numbers are.
    all.push_back(std::bit_cast<float>((bits & 0x807FFFFF) | (bits >> 8 & 7) << 23));
    all.push_back(std::bit_cast<float>((bits & 0x807FFFFF) | (100 + (bits >> 8 & 15)) << 23));
  }
  return all;
}

// Numbers at both ends of the format's range, in sixteenths of its steps there, of both signs: some groups of random bits.
std::vector<float> ends_of(const format& f) {
  std::vector<float> all;
  const auto push = [&](double x) {
    all.push_back(static_cast<float>(x));
    all.push_back(static_cast<float>(-x));
  };
  const double largest = to_double(f, f.max_finite_code());
  const double last_step = std::ldexp(1.0, f.emax() - f.fraction_bits);
  const double first_step = std::ldexp(1.0, f.min_quantum_exponent());
  const double least_normal = std::ldexp(1.0, f.emin());
  for (int i = -64; i <= 64; ++i) {
    push(largest + i / 16.0 * last_step);
    push(least_normal + i / 16.0 * first_step);
    push(std::abs(i) / 16.0 * first_step);
  }
  return all;
}

// With some that end at a largest number of their own.
std::vector<named_format> all_formats() {
  std::vector<named_format> all = convertible_formats();
  all.push_back({"e4m3fn to 240", ending_below(float8_e4m3fn, 7)});
  all.push_back({"e4m3fnuz to 224", ending_below(float8_e4m3fnuz, 1)});
  all.push_back({"float16 to 448", ending_below(float16, 0x7BFF - 0x5F00)});
  return all;
}

// In the narrowest elements that hold the codes.
void check_narrow(sweep& s, const named_format& to, const std::vector<float>& elements, const conversion& how) {
  const expected_codes expected =
      by_codec(to.format, elements.size(), how, [&](std::size_t i) { return decode(elements[i]); });
  const auto run = [&]<class Code>(Code) {
    for (const std::string_view target : targets()) {
      const forced_target forced{target};
      std::vector<Code> got(elements.size());
      encode_array(to.format, elements, got, how);
      compare(s, expected, std::vector<std::uint32_t>(got.begin(), got.end()), nullptr,
              std::string{to.name} + ' ' + describe(how.rounding) + ' ' + std::string{target});
      compare_rounded(s, to.format, expected, elements, how, to.name);
    }
  };
  if (to.format.width() <= 8) return run(std::uint8_t{});
  if (to.format.width() <= 16) return run(std::uint16_t{});
  run(std::uint32_t{});
}

template <class Number>
void check(sweep& s, const named_format& to, const std::vector<Number>& elements, const conversion& how) {
  const expected_codes expected =
      by_codec(to.format, elements.size(), how, [&](std::size_t i) { return decode(elements[i]); });
  for (const std::string_view target : targets()) {
    const forced_target forced{target};
    const std::string name = std::string{to.name} + ' ' + describe(how.rounding) + ' ' + std::string{target};
    std::vector<std::uint32_t> got(elements.size());
    encode_array(to.format, elements, got, how);
    compare(s, expected, got, nullptr, name);
    compare_rounded(s, to.format, expected, elements, how, name);
    conversion_counts counts;
    encode_array(to.format, elements, got, how, &counts);
    compare(s, expected, got, &counts, name + " counted");
  }
}

}  // namespace

TEST_CASE("stochastic rounding of arrays is the codec's with the random bits of each element's index") {
  for (const named_format& to : all_formats()) {
    INFO(to.name);
    const std::vector<float> elements = elements_of(to.format);
    const std::vector<double> doubles{elements.begin(), elements.end()};
    sweep s;
    for (const auto definition : definitions)
      for (const int bits : {1, 5, 8, 9, 13, 16, 17, 20, 24, 31, 32}) {
        const rounding mode{.direction = direction::stochastic, .definition = definition, .random_bits = bits};
        const random_stream random{.seed = 7, .stream = 0xFEDCBA9876543210, .first = static_cast<std::uint64_t>(bits)};
        check(s, to, elements, {.rounding = mode, .random = random});
        if (bits % 8 == 0) check(s, to, doubles, {.rounding = mode, .random = random});
        if (bits != 8) continue;
        for (const auto overflow : {overflow_mode::saturate, overflow_mode::saturate_finite})
          for (const auto flush : {flush::before_rounding, flush::after_rounding, flush::result}) {
            rounding other = mode;
            other.overflow = overflow;
            other.flush = flush;
            other.daz = flush == flush::result;
            check(s, to, elements, {.rounding = other, .random = random});
          }
      }
    CHECK(s.failures() == "");
  }
}

TEST_CASE("every number of random bits at the ends of every format's range") {
  for (const named_format& to : all_formats()) {
    INFO(to.name);
    const std::vector<float> elements = ends_of(to.format);
    sweep s;
    for (const auto definition : definitions)
      for (int bits = 1; bits <= 32; ++bits) {
        const conversion how{
            .rounding = {.direction = direction::stochastic, .definition = definition, .random_bits = bits},
            .random = {.seed = 11, .stream = 5}};
        check_narrow(s, to, elements, how);
      }
    CHECK(s.failures() == "");
  }
}

TEST_CASE("indices of random bits wrap around within an array") {
  constexpr std::array formats{named_format{"float8_e5m2", float8_e5m2}, named_format{"float16", float16},
                               named_format{"tf32", tf32}};
  for (const named_format& to : formats) {
    INFO(to.name);
    const std::vector<float> elements = ends_of(to.format);
    sweep s;
    for (const auto definition : definitions)
      for (int bits = 1; bits <= 32; ++bits)
        for (const std::uint64_t left : {0u, 1u, 64u, 128u, 200u, 256u, 512u, 700u}) {
          const conversion how{
              .rounding = {.direction = direction::stochastic, .definition = definition, .random_bits = bits},
              .random = {.seed = 11, .stream = 5, .first = 0 - left}};
          check_narrow(s, to, elements, how);
        }
    CHECK(s.failures() == "");
  }
}

TEST_CASE("with as many random bits as are discarded, further words come from streams of their own") {
  const std::vector<double> elements{1e-9, 0.1, 1 + 0x1p-50, 3.14159e-5, -7e-8, 0x1p-60};
  const conversion how{.rounding = {.direction = direction::stochastic, .random_bits = exact_probability},
                       .random = {.seed = 3, .stream = 4, .first = 5}};
  std::vector<std::uint16_t> got(elements.size());
  encode_array(float16, elements, got, how);
  for (std::size_t i = 0; i < elements.size(); ++i) {
    std::array<std::uint32_t, 4> words{};
    for (std::size_t w = 0; w < words.size(); ++w) words[w] = random_word(3, 4, 5 + i, w);
    CHECK(got[i] == encode(float16, elements[i], how.rounding, random_input{words}).code);
  }
}

TEST_CASE("random bits in bulk are random_bits of each index") {
  constexpr std::uint64_t end = ~std::uint64_t{0};
  for (const std::string_view target : targets()) {
    const forced_target forced{target};
    INFO(target);
    sweep s;
    for (const std::uint64_t first : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{77}, std::uint64_t{256},
                                      (std::uint64_t{1} << 40) - 300, end - 600})
      for (int bits = 1; bits <= 32; ++bits)
        for (const std::size_t size :
             {std::size_t{0}, std::size_t{1}, std::size_t{63}, std::size_t{256}, std::size_t{1001}}) {
          std::vector<std::uint32_t> out(size + 1, 0xAAAAAAAA);
          fill_random_bits({.seed = 0x123456789ABCDEF0, .stream = end - 5, .first = first}, bits,
                           std::span{out}.first(size));
          for (std::size_t i = 0; i < size; ++i)
            s.expect(out[i] == random_bits(0x123456789ABCDEF0, end - 5, first + i, bits), [&] {
              return std::to_string(bits) + " bits of " + std::to_string(first) + " + " + std::to_string(i);
            });
          s.expect(out[size] == 0xAAAAAAAA, [&] { return "written behind " + std::to_string(size); });
        }
    CHECK(s.failures() == "");
  }
  std::vector<std::uint32_t> out(1);
  CHECK_THROWS_AS(fill_random_bits({}, 0, out), std::invalid_argument);
  CHECK_THROWS_AS(fill_random_bits({}, 33, out), std::invalid_argument);
}

// Fractions of a step from 2^-9 to 15/16, where results are normal, subnormal, and zero or the smallest number.
TEST_CASE("a million draws of each fraction are within five standard deviations, and their neighbours uncorrelated") {
  constexpr std::size_t draws = 1'000'000;
  std::vector<double> fractions{0x1p-9};
  for (int i = 1; i < 16; ++i) fractions.push_back(i / 16.0);
  struct place {
    double base;
    double step;
  };
  std::vector<float> elements(draws);
  std::vector<std::uint16_t> codes(draws);
  std::uint64_t stream = 0;
  for (const format& to : {float16, cbfloat16}) {
    const double smallest = to_double(to, 1);
    for (const place& p :
         {place{1, std::ldexp(1.0, -to.fraction_bits)}, place{3 * smallest, smallest}, place{0, smallest}})
      for (const double fraction : fractions) {
        std::fill(elements.begin(), elements.end(), static_cast<float>(p.base + fraction * p.step));
        const rounding mode{.direction = direction::stochastic, .random_bits = 16};
        encode_array(to, elements, codes, {.rounding = mode, .random = {.seed = 2024, .stream = ++stream}});
        const std::uint64_t low = encode(to, p.base).code;
        std::size_t up = 0;
        std::array<std::size_t, 2> both{};  // of elements one apart, and sixteen: the next lane of a block
        bool others = false;
        for (std::size_t i = 0; i < draws; ++i) {
          others |= codes[i] != low && codes[i] != low + 1;
          const bool is_up = codes[i] != low;
          up += is_up ? 1 : 0;
          both[0] += is_up && i >= 1 && codes[i - 1] != low ? 1 : 0;
          both[1] += is_up && i >= 16 && codes[i - 16] != low ? 1 : 0;
        }
        INFO(describe(to) << " from " << p.base << " fraction " << fraction);
        CHECK_FALSE(others);
        const auto n = static_cast<double>(draws);
        CHECK(std::abs(static_cast<double>(up) - n * fraction) < 5 * std::sqrt(n * fraction * (1 - fraction)));
        // Pairs are nearly independent, so their number's variance is at most three times that of independent ones.
        const double pairs = fraction * fraction;
        for (const std::size_t b : both)
          CHECK(std::abs(static_cast<double>(b) - n * pairs) < 5 * std::sqrt(3 * n * pairs * (1 - pairs)));
      }
  }
}
