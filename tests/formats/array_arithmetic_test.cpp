// Pins arithmetic of arrays to arithmetic.hpp: all pairs of codes of two 8-bit formats in every deterministic rounding,
// every 16-bit code with others, operands for which something happens in wider and mixed formats, and stochastic roundings.
#include <cstdint>
#include <string>
#include <vector>

#include <ulp/formats/array_arithmetic.hpp>

#include "formats/array_arithmetic.hpp"
#include "support/catch.hpp"

namespace {

using namespace ulp;
using namespace ulp::test;

struct mix {
  const char* name;
  format to;
  operand_formats from;
};

operand_formats all_of_format(const format& f) { return {f, f, f}; }

std::vector<mix> mixes() {
  constexpr format wide = ieee_format(11, 20);
  constexpr format narrow = ieee_format(8, 14);
  constexpr format shifted{.exponent_bits = 8, .fraction_bits = 7, .bias = 120};
  constexpr format tiny{.exponent_bits = 8, .fraction_bits = 7, .bias = 147};
  constexpr format to_224 = ending_below(float8_e4m3fnuz, 1);
  constexpr format to_448 = ending_below(float16, 0x7BFF - 0x5F00);
  constexpr format large{.exponent_bits = 7, .fraction_bits = 8, .bias = 62};
  return {{"float16", float16, all_of_format(float16)},
          {"bfloat16", bfloat16, all_of_format(bfloat16)},
          {"cbfloat16", cbfloat16, all_of_format(cbfloat16)},
          {"e4m3fn", float8_e4m3fn, all_of_format(float8_e4m3fn)},
          {"e5m2fnuz", float8_e5m2fnuz, all_of_format(float8_e5m2fnuz)},
          {"e2m1", float4_e2m1, all_of_format(float4_e2m1)},
          {"e4m3fnuz to 224", to_224, all_of_format(to_224)},
          {"float16 to 448", to_448, all_of_format(to_448)},
          {"binary8p4se", binary8p4se, all_of_format(binary8p4se)},
          {"dlfloat16", dlfloat16, all_of_format(dlfloat16)},
          {"tf32", tf32, all_of_format(tf32)},
          {"float32", binary32, all_of_format(binary32)},
          {"e11m20", wide, all_of_format(wide)},
          {"e8m14", narrow, all_of_format(narrow)},
          {"e7m8", ieee_format(7, 8), all_of_format(ieee_format(7, 8))},
          {"e4m11", ieee_format(4, 11), all_of_format(ieee_format(4, 11))},
          {"e2m13", ieee_format(2, 13), all_of_format(ieee_format(2, 13))},
          {"e5m21", ieee_format(5, 21), all_of_format(ieee_format(5, 21))},
          {"e8m7 of another bias", shifted, all_of_format(shifted)},
          {"e8m7 below float's numbers", tiny, all_of_format(tiny)},
          {"products beyond float's numbers", bfloat16, {ieee_format(7, 8), large, bfloat16}},
          {"float16 to float32", binary32, {float16, float16, binary32}},
          {"float16 and float32 to float16", float16, {float16, float16, binary32}},
          {"bfloat16 to float32", binary32, {bfloat16, bfloat16, binary32}},
          {"bfloat16 and float32 to bfloat16", bfloat16, {bfloat16, bfloat16, binary32}},
          {"8 bits to bfloat16", bfloat16, {float8_e4m3fn, float8_e5m2, float16}},
          {"16 bits to float16", float16, {cbfloat16, bfloat16, float16}},
          {"float32 to e4m3fn", float8_e4m3fn, all_of_format(binary32)},
          {"e8m0", bfloat16, {float8_e8m0, bfloat16, bfloat16}}};
}

// Zeros, the ends of the subnormal and normal numbers, one and its neighbours, infinity and NaN; of both signs.
std::vector<std::uint64_t> edges(const format& f) {
  const auto one = static_cast<std::uint64_t>(f.bias) << f.fraction_bits;
  std::vector<std::uint64_t> all;
  for (const std::uint64_t magnitude :
       {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{3}, f.fraction_mask(), f.min_normal_code(),
        f.min_normal_code() + 1, one - 1, one, one + 1, one | f.fraction_mask(), f.max_finite_code() - 1,
        f.max_finite_code(), f.max_finite_code() + 1, f.max_finite_code() + 2, f.magnitude_mask()})
    for (const std::uint64_t sign : {std::uint64_t{0}, f.sign_mask()})
      all.push_back((magnitude & f.magnitude_mask()) | sign);
  return all;
}

std::vector<codes> edge_tuples(operation op, const operand_formats& from) {
  std::vector<codes> all;
  const auto third = op == operation::fma ? edges(from[2]) : std::vector<std::uint64_t>{0};
  for (const std::uint64_t a : edges(from[0]))
    for (const std::uint64_t b : edges(from[1]))
      for (const std::uint64_t c : third) all.push_back({a, b, c});
  return all;
}

std::vector<codes> interesting_tuples(operation op, const mix& m, std::size_t n) {
  operand_source source{op, m.to, m.from, 0x5EED + static_cast<std::uint64_t>(op)};
  std::vector<codes> all;
  for (std::size_t i = 0; i < n; ++i) all.push_back(source.next());
  return all;
}

std::vector<rounding> stochastic_roundings() {
  std::vector<rounding> all;
  for (const auto definition : {stochastic_definition::a, stochastic_definition::b, stochastic_definition::c})
    for (const int bits : {1, 8, 13, 32})
      all.push_back({.direction = direction::stochastic, .definition = definition, .random_bits = bits});
  all.push_back({.direction = direction::stochastic, .flush = flush::after_rounding, .daz = true, .random_bits = 10});
  all.push_back({.direction = direction::stochastic, .random_bits = exact_probability});
  return all;
}

}  // namespace

TEST_CASE("arrays of all pairs of 8-bit codes, in every deterministic rounding") {
  for (const format& f : {float8_e4m3fn, float8_e5m2}) {
    std::vector<codes> pairs;
    for (std::uint64_t a = 0; a < 256; ++a)
      for (std::uint64_t b = 0; b < 256; ++b) pairs.push_back({a, b, 0});
    const operand_arrays x{all_of_format(f), pairs};
    for (const operation op : {operation::add, operation::sub, operation::mul, operation::div}) {
      sweep s;
      for (const rounding& mode : deterministic_modes()) compare_targets(s, op, f, x, {.rounding = mode}, false);
      INFO(describe(f) << ' ' << to_string(op));
      CHECK(s.failures() == "");
    }
  }
}

TEST_CASE("arrays of every 16-bit code with eight others, in every direction") {
  for (const format& f : {float16, bfloat16, cbfloat16}) {
    std::vector<codes> pairs;
    for (std::uint64_t a = 0; a < 65536; ++a)
      for (std::uint64_t k = 0; k < 8; ++k)
        pairs.push_back({a, (a * 40503 + k * 8191) & 0xFFFF, (a + k * 28657) & 0xFFFF});
    const operand_arrays x{all_of_format(f), pairs};
    for (const operation op : array_operations) {
      sweep s;
      for (const rounding& mode : deterministic_roundings()) compare_targets(s, op, f, x, {.rounding = mode}, false);
      INFO(describe(f) << ' ' << to_string(op));
      CHECK(s.failures() == "");
    }
  }
}

TEST_CASE("arrays of edges against each other") {
  for (const mix& m : mixes())
    for (const operation op : array_operations) {
      const operand_arrays x{m.from, edge_tuples(op, m.from)};
      sweep s;
      for (const rounding& mode : deterministic_modes())
        if (op != operation::fma || mode.overflow == overflow_mode::ieee)
          compare_targets(s, op, m.to, x, {.rounding = mode}, mode == rounding{});
      INFO(m.name << ' ' << to_string(op));
      CHECK(s.failures() == "");
    }
}

TEST_CASE("arrays of operands for which something happens") {
  for (const mix& m : mixes())
    for (const operation op : array_operations) {
      const operand_arrays x{m.from, interesting_tuples(op, m, 3000)};
      sweep s;
      for (const rounding& mode : deterministic_modes())
        compare_targets(s, op, m.to, x, {.rounding = mode},
                        mode.overflow == overflow_mode::saturate_finite && mode.daz);
      INFO(m.name << ' ' << to_string(op));
      CHECK(s.failures() == "");
    }
}

TEST_CASE("arrays rounded stochastically") {
  for (const mix& m : mixes())
    for (const operation op : array_operations) {
      const operand_arrays x{m.from, interesting_tuples(op, m, 2000)};
      sweep s;
      for (const rounding& mode : stochastic_roundings())
        compare_targets(s, op, m.to, x, {.rounding = mode, .random = {.seed = 7, .stream = 3, .first = 1000001}}, true);
      INFO(m.name << ' ' << to_string(op));
      CHECK(s.failures() == "");
    }
}
