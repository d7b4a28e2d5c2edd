// The bodies of the kernels that round, run on the host, against the codec. tests/device/quantize_device.py runs the kernels themselves.
#include "support/catch.hpp"

#include <ulp/formats/catalog.hpp>
#include <ulp/formats/codec.hpp>
#include <ulp/formats/convert.hpp>
#include <ulp/formats/random_bits.hpp>

#include "device/plans.hpp"
#include "device/rounding.hpp"
#include "formats/convert.hpp"
#include "formats/sweep.hpp"
#include "quantize_on_host.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

using namespace ulp;
using namespace ulp::device;
using namespace ulp::test;

namespace {

using numbers = std::vector<std::uint32_t>;  // floats, as bits

void run(const quick_rounding& quick, const std::uint32_t* from, std::uint32_t* to, std::uint64_t size) {
  rounding_plan plan = quick.plan;
  void* const arguments[] = {&plan, &from, &to, &size};
  REQUIRE(run_kernel(quick.name(), 64, arguments));
}

std::uint32_t by_codec(const format& to, std::uint32_t bits, const conversion& how, std::uint64_t i) {
  const bool drawn = how.rounding.direction == direction::stochastic;
  const std::uint32_t random =
      drawn ? random_bits(how.random.seed, how.random.stream, how.random.first + i, how.rounding.random_bits) : 0;
  const unpacked x = scaled(decode(binary32, bits), decode(how.scale).exponent);
  return bits_of(to_float(to, encode(to, x, how.rounding, random).code));
}

// Compares what the kernels make of all numbers with the codec.
void compare(sweep& s, const format& to, const conversion& how, const numbers& from) {
  const auto quick = plan_rounding(to, how);
  REQUIRE(quick.has_value());
  numbers got(from.size());
  run(*quick, from.data(), got.data(), from.size());
  for (std::size_t i = 0; i < from.size(); ++i) {
    const std::uint32_t expected = by_codec(to, from[i], how, i);
    s.expect(got[i] == expected, [&] {
      std::ostringstream out;
      out << ulp::test::describe(to) << ' ' << ulp::test::describe(how.rounding) << " scale " << how.scale
          << ": element " << i << std::hex << " 0x" << from[i] << " gave 0x" << got[i] << ", expected 0x" << expected;
      return out.str();
    });
  }
}

// Every exponent of both signs with the fractions at which some number of dropped bits is a tie, or next to one, or nothing; and every
// `stride`th float.
numbers telling_numbers(std::uint32_t stride) {
  std::vector<std::uint32_t> fractions{0, 0x7FFFFF, 0x2AAAAA, 0x555555};
  for (std::uint32_t bit = 1; bit <= 0x400000; bit *= 2)
    for (const std::uint32_t f :
         {bit - 1, bit, bit + 1, 3 * bit, 3 * bit - 1, 3 * bit + 1, 0x800000 - bit, 0x7FFFFF - bit})
      fractions.push_back(f & 0x7FFFFF);
  numbers all;
  for (std::uint32_t top = 0; top < 512; ++top)
    for (const std::uint32_t f : fractions) all.push_back(top << 23 | f);
  for (std::uint64_t bits = 0; bits < std::uint64_t{1} << 32; bits += stride)
    all.push_back(static_cast<std::uint32_t>(bits));
  return all;
}

const std::vector<format> quick_formats = [] {
  std::vector<format> all{ieee_format(8, 1),  ieee_format(8, 22), ieee_format(2, 1),
                          ieee_format(2, 22), ieee_format(6, 17), ieee_format(3, 2),
                          ieee_format(5, 16), ieee_format(7, 3),  ieee_format(4, 3)};
  for (const catalog_entry& e : format_catalog())
    if (plan_rounding(e.format, {})) all.push_back(e.format);
  all.push_back({.exponent_bits = 5, .fraction_bits = 10, .bias = 40});
  all.push_back(ending_below(float8_e4m3fn, 7));
  all.push_back(ending_below(float16, 0x7BFF - 0x5F00));
  all.push_back(ending_below(bfloat16, 6));
  all.push_back({.exponent_bits = 4, .fraction_bits = 5, .bias = -30, .top = specials::nan_all_ones});
  return all;
}();

// Overflow is independent of flushing.
std::vector<rounding> modes_of_all_directions() {
  std::vector<rounding> all;
  for (const rounding& mode : deterministic_modes())
    if (mode.overflow == overflow_mode::ieee || (mode.flush == flush::never && !mode.daz)) all.push_back(mode);
  return all;
}

rounding stochastic(int bits, stochastic_definition definition = stochastic_definition::a) {
  return {.direction = direction::stochastic, .definition = definition, .random_bits = bits};
}

}  // namespace

TEST_CASE("the usual formats have a plan") {
  for (const format& f :
       {float16, bfloat16, cbfloat16, tf32, float8_e4m3fn, float8_e5m2, float6_e3m2, float6_e2m3, float4_e2m1}) {
    CHECK(plan_rounding(f, {}).has_value());
    for (const int bits : {1, 8, 13, 16, 31, 32}) CHECK(plan_rounding(f, {.rounding = stochastic(bits)}).has_value());
  }
  CHECK(plan_rounding(float16, {.scale = 0x1p-20}).has_value());
  CHECK_FALSE(plan_rounding(float16, {.scale = 3}).has_value());
  CHECK_FALSE(plan_rounding(bfloat16, {.scale = 2}).has_value());
  CHECK_FALSE(plan_rounding(float32, {}).has_value());
  CHECK_FALSE(plan_rounding(float8_e4m3fnuz, {}).has_value());
  CHECK_FALSE(plan_rounding(dlfloat16, {}).has_value());
  CHECK(plan_rounding(float16, {.rounding = stochastic(16)})->name() == "stochastic16_by_sums");
  CHECK(plan_rounding(bfloat16, {.rounding = {.direction = direction::to_odd}})->name() == "to_odd_in_bits");
}

TEST_CASE("every deterministic rounding of every exponent equals the codec") {
  const numbers few = telling_numbers(1048573);
  const numbers many = telling_numbers(65521);
  sweep s;
  for (const format& to : quick_formats) {
    for (const rounding& how : modes_of_all_directions()) compare(s, to, {.rounding = how}, few);
    for (const direction way : deterministic) compare(s, to, {.rounding = {.direction = way}}, many);
  }
  CHECK(s.failures() == "");
}

TEST_CASE("so it does with a scale") {
  const numbers few = telling_numbers(1048573);
  sweep s;
  for (const format& to : {float16, cbfloat16, float8_e4m3fn, float8_e5m2, float4_e2m1})
    for (const double scale : {0x1p16, 0x1p-3, 0x1p50, 0x1p-60})
      for (const rounding& how : modes_of_all_directions()) compare(s, to, {.rounding = how, .scale = scale}, few);
  CHECK(s.failures() == "");
}

TEST_CASE("stochastic rounding equals the codec with the same random bits") {
  const numbers some = telling_numbers(131071);
  sweep s;
  for (const format& to : quick_formats)
    for (int bits = 1; bits <= 32; ++bits)
      for (const auto definition : {stochastic_definition::a, stochastic_definition::b}) {
        conversion how{.rounding = stochastic(bits, definition),
                       .random = {.seed = 0x123456789ABCDEF, .stream = 99, .first = 7}};
        if (!plan_rounding(to, how)) continue;
        compare(s, to, how, some);
      }
  for (const format& to : {float16, bfloat16, float8_e4m3fn})
    for (const auto overflow : {overflow_mode::ieee, overflow_mode::saturate, overflow_mode::saturate_finite})
      for (const auto flush : {flush::never, flush::before_rounding, flush::result})
        for (const bool daz : {false, true}) {
          rounding mode = stochastic(16);
          mode.overflow = overflow;
          mode.flush = flush;
          mode.daz = daz;
          compare(s, to, {.rounding = mode, .random = {.seed = 5}}, some);
          if (to != bfloat16) compare(s, to, {.rounding = mode, .scale = 0x1p12, .random = {.seed = 6}}, some);
        }
  CHECK(s.failures() == "");
}

TEST_CASE("arrays of any size, place and first number, in place too") {
  const numbers some = telling_numbers(1048573);
  sweep s;
  std::vector<std::uint32_t> memory(6000);
  for (const rounding& mode :
       {rounding{}, stochastic(1), stochastic(8), stochastic(11), stochastic(16), stochastic(32)})
    for (const std::size_t size : {0, 1, 3, 4, 5, 63, 255, 256, 257, 511, 512, 1027, 2048, 4099})
      for (const std::size_t place : {0, 1, 3, 4})
        for (const std::uint64_t first :
             {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{252}, std::uint64_t{(1ull << 40) + 4},
              (std::uint64_t{1} << 32) - 100, ~std::uint64_t{0} - 700}) {
          if (mode.direction != direction::stochastic && first != 0) continue;
          const conversion how{.rounding = mode,
                               .random = {.seed = ~std::uint64_t{0}, .stream = std::uint64_t{1} << 40, .first = first}};
          const auto quick = plan_rounding(float16, how);
          REQUIRE(quick.has_value());
          for (const bool in_place : {false, true}) {
            constexpr std::uint32_t untouched = 0xABCDEF01;
            std::ranges::fill(memory, untouched);
            std::uint32_t* const to = memory.data() + 4 + place;
            const std::uint32_t* from = some.data() + 40000;
            if (in_place) {
              std::copy_n(from, size, to);
              from = to;
            }
            run(*quick, from, to, size);
            for (std::size_t i = 0; i < size; ++i)
              s.expect(to[i] == by_codec(float16, some[40000 + i], how, i), [&] {
                return quick->name() + ", size " + std::to_string(size) + ", place " + std::to_string(place) +
                       ", first " + std::to_string(first) + ": element " + std::to_string(i);
              });
            s.expect(to[-1] == untouched && to[size] == untouched,
                     [] { return std::string{"written beyond the array"}; });
          }
        }
  CHECK(s.failures() == "");
}

TEST_CASE("what has no plan goes through the codec itself") {
  const numbers some = telling_numbers(1048573);
  std::vector<float> floats;
  for (const std::uint32_t bits : some) floats.push_back(float_of(bits));
  sweep s;
  for (const named_format& f : convertible_formats())
    for (const rounding& mode :
         {rounding{}, rounding{.direction = direction::to_odd, .flush = flush::after_rounding, .daz = true},
          stochastic(11, stochastic_definition::c), stochastic(exact_probability)})
      for (const double factor : {1.0, 0.1}) {
        const conversion how{.rounding = mode, .scale = factor, .random = {.seed = 1, .stream = 2, .first = 3}};
        std::vector<std::uint32_t> expected(floats.size());
        conversion_counts counted;
        encode_array(f.format, floats, expected, how, &counted);
        const unpacked exact = decode(factor);
        codec_plan plan{.elements = binary32,
                        .to = f.format,
                        .out = f.format,
                        .rounding = mode,
                        .scale = exact.significand,
                        .scale_exponent = exact.exponent,
                        .element_bytes = 4,
                        .result_bytes = 4,
                        .seed = 1,
                        .stream = 2,
                        .first = 3};
        std::vector<std::uint32_t> got(floats.size());
        outcome_counts counts{};
        const void* from = some.data();
        std::uint64_t size = some.size();
        void* to = got.data();
        void* const converting[] = {&plan, &from, &to, &size};
        REQUIRE(run_kernel("convert", 32, converting));
        to = &counts;
        REQUIRE(run_kernel("outcomes", 32, converting));
        const auto name = [&] { return std::string{f.name} + " by the codec"; };
        s.expect(got == expected, name);
        s.expect(conversion_counts{counts.zeros, counts.newly_zero, counts.subnormal, counts.inexact, counts.overflowed,
                                   counts.nan} == counted,
                 name);
      }
  CHECK(s.failures() == "");
}
