// Pins the code search to the rules as they are stated, on all float32 numbers around every edge; the maps to published
// digests' entries and to exact arithmetic; and what is refused. The originals' own codes: shared_optimizer_test.cpp.
#include "support/catch.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <set>
#include <span>
#include <stdexcept>
#include <vector>

#include <ulp/formats/blocks.hpp>
#include <ulp/formats/codebooks.hpp>
#include <ulp/formats/random_bits.hpp>

namespace ulp {
namespace {

std::vector<float> map_for(const block_row& entry, bool is_signed) {
  if (!std::holds_alternative<codebook_rule>(entry.elements)) return {};
  return dynamic_map(is_signed);
}

// x and its `reach` neighbours on each side.
template <class Visit>
void around(float x, int reach, const Visit& visit) {
  float below = x;
  for (int i = 0; i < reach; ++i) below = std::nextafter(below, -std::numeric_limits<float>::infinity());
  for (int i = 0; i <= 2 * reach; ++i) {
    visit(below);
    below = std::nextafter(below, std::numeric_limits<float>::infinity());
  }
}

TEST_CASE("the search finds the code of the rule around every midpoint, entry, step and special number") {
  for (const block_row& entry : block_rows())
    for (const bool is_signed : {true, false}) {
      INFO(entry.name << (is_signed ? " signed" : " unsigned"));
      const block_codec codec{entry.quantizer, map_for(entry, is_signed)};
      std::size_t wrong = 0;
      std::set<int> codes;
      std::vector<float> many;  // for the search of many at once
      const auto check = [&](float x) {
        const int code = codec.code_of(x);
        codes.insert(code);
        many.push_back(x);
        if (code != codec.code_by_rule(x)) ++wrong;
      };
      const std::span<const float> map = codec.map();
      for (std::size_t i = 0; i + 1 < map.size(); ++i) {
        around((map[i] + map[i + 1]) * 0.5F, 64, check);
        around(map[i], 64, check);
      }
      for (int i = 0; i <= 65535; ++i) around(-1.0F + 2.0F * static_cast<float>(i) / 65535.0F, 1, check);
      for (const float x : {0.0F, -0.0F, 1.0F, -1.0F, 2.0F, -2.0F, 1e-45F, -1e-45F, 3e38F, -3e38F}) around(x, 4, check);
      check(std::numeric_limits<float>::infinity());
      check(-std::numeric_limits<float>::infinity());
      check(std::numeric_limits<float>::quiet_NaN());
      check(-std::numeric_limits<float>::quiet_NaN());
      for (std::uint64_t i = 0; i < 100'000; ++i) check(std::bit_cast<float>(random_bits(1, 2, i, 32)));
      std::vector<std::uint8_t> found(many.size());
      codec.codes_of_quotients(many, 1.0F, found);
      for (std::size_t i = 0; i < many.size(); ++i) wrong += found[i] != codec.code_by_rule(many[i]) ? 1U : 0U;
      CHECK(wrong == 0);
      const bool native = entry.quantizer == block_quantizer::bnb_cpu_native;
      CHECK(codes.size() == (native ? (is_signed ? 249 : 246) : 256));
    }
}

TEST_CASE("all of the 4-bit search, too") {
  for (const bool is_signed : {true, false}) {
    const block_codec codec{block_quantizer::ao, map_4bit(is_signed)};
    std::size_t wrong = 0;
    for (std::uint64_t i = 0; i < 300'000; ++i) {
      const float x = std::bit_cast<float>(random_bits(3, 4, i, 32));
      if (codec.code_of(x) != codec.code_by_rule(x)) ++wrong;
    }
    for (std::size_t i = 0; i + 1 < codec.map().size(); ++i)
      around((codec.map()[i] + codec.map()[i + 1]) * 0.5F, 1000,
             [&](float x) { wrong += codec.code_of(x) != codec.code_by_rule(x) ? 1U : 0U; });
    CHECK(wrong == 0);
  }
}

TEST_CASE("of numbers of a format the nearest has the code, and of two the even one") {
  const block_codec codec{block_quantizer::ao_fp8, {}};
  std::size_t wrong = 0;
  const auto check = [&](float x) {
    std::size_t nearest = 0;
    const auto distance = [&](std::size_t code) { return std::abs(double{codec.map()[code]} - double{x}); };
    for (std::size_t code = 0; code < 0x7F; ++code) {
      if (distance(code) < distance(nearest) || (distance(code) == distance(nearest) && code % 2 == 0)) nearest = code;
    }
    wrong += codec.code_of(x) != nearest ? 1U : 0U;
    wrong += codec.code_of(-x) != (nearest | 0x80U) ? 1U : 0U;
  };
  for (std::size_t code = 0; code + 1 < 0x7F; ++code) {
    around(codec.map()[code], 3, [&](float x) { check(std::abs(x)); });
    around((codec.map()[code] + codec.map()[code + 1]) * 0.5F, 3, check);
  }
  for (std::uint64_t i = 0; i < 10'000; ++i) check(static_cast<float>(random_bits(5, 6, i, 24)) * 448 / 0x1p24F);
  CHECK(wrong == 0);
}

TEST_CASE("maps differ by build as published, and are the real numbers rounded where that is asked for") {
  const auto differing = [](bool is_signed, map_arithmetic a, map_arithmetic b) {
    const std::vector<float> x = dynamic_map(is_signed, a);
    const std::vector<float> y = dynamic_map(is_signed, b);
    int n = 0;
    for (std::size_t i = 0; i < 256; ++i) n += x[i] != y[i] ? 1 : 0;
    return n;
  };
  using enum map_arithmetic;
  CHECK(differing(true, torch26_nofma, torch26_fma) == 42);
  CHECK(differing(false, torch26_nofma, torch26_fma) == 31);
  CHECK(differing(true, torch26_nofma, correctly_rounded) == 80);
  CHECK(differing(false, torch26_nofma, correctly_rounded) == 103);
  CHECK(differing(true, torch26_fma, correctly_rounded) == 72);
  CHECK(differing(false, torch26_fma, correctly_rounded) == 100);
  for (const bool is_signed : {true, false})
    for (const map_arithmetic how : {torch26_nofma, torch26_fma, correctly_rounded}) {
      const std::vector<float> map = dynamic_map(is_signed, how);
      CHECK(map.size() == 256);
      CHECK(std::is_sorted(map.begin(), map.end()));
      CHECK(map[is_signed ? 127 : 0] == 0);
      CHECK(map[255] == 1);
    }
  // (2 N + 9 (2 k + 1)) / (20 N 10^(6 - i)) rounded once: no float32 number is nearer, in integers.
  const std::vector<float> map = dynamic_map(false, correctly_rounded);
  std::size_t at = 1;
  for (int i = 0; i < 7; ++i) {
    const int parts = 2 << i;
    for (int k = 0; k < parts; ++k, ++at) {
      __extension__ using wide = __int128;
      wide denominator = 20 * parts;
      for (int e = i; e < 6; ++e) denominator *= 10;
      const wide numerator = 2 * parts + 9 * (2 * k + 1);
      const auto distance = [&](float x) {  // |x - numerator / denominator| * 2^60 denominator
        const wide d = static_cast<wide>(std::ldexp(static_cast<double>(x), 60)) * denominator - (numerator << 60);
        return d < 0 ? -d : d;
      };
      CHECK(distance(map[at]) < distance(std::nextafter(map[at], 0.0F)));
      CHECK(distance(map[at]) < distance(std::nextafter(map[at], 2.0F)));
    }
  }
  CHECK(at == 255);
  CHECK(map_4bit(false).front() == 0.0625F);
  CHECK(map_4bit(true).size() == 16);
  CHECK(linear_map(true).size() == 256);
  CHECK(linear_map(true)[127] == linear_map(true)[128]);  // zero, twice
  CHECK(linear_map(false)[128] == 1.0F - 127.0F * (1.0F / 255.0F));
}

TEST_CASE("4-bit and fp8 states keep what the codes stand for") {
  const block_codec codec{block_quantizer::ao, map_4bit(true)};
  std::vector<float> x{2, -2, 0, 0.875F};
  std::vector<std::uint8_t> codes(4);
  std::vector<float> absmax(1);
  codec.quantize(x, 4, codes, absmax);
  CHECK(codes == std::vector<std::uint8_t>{15, 0, 7, 12});
  CHECK(absmax[0] == 2);
}

TEST_CASE("a short last block has its own scale where an implementation gives it one") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::vector<std::uint8_t> codes(5);
  std::vector<float> absmax(2);
  // The search for the absmax of a whole block begins at -3.4e38, of a short one at 0.
  block_codec{block_quantizer::bnb_cuda_text, dynamic_map(true)}.quantize(std::vector{nan, nan, nan, nan, nan}, 4,
                                                                          codes, absmax);
  CHECK(absmax == std::vector{std::numeric_limits<float>::lowest(), 0.0F});
  // The divisor of a short block is stored, 1e-38 at least.
  const block_codec codec{block_quantizer::bnb_default, dynamic_map(true)};
  codec.quantize(std::vector<float>(5, 0.0F), 4, codes, absmax);
  CHECK(absmax == std::vector{0.0F, 1e-38F});
}

TEST_CASE("whole blocks are multiplied by a rounded reciprocal, and a short last one is divided") {
  const block_codec codec{block_quantizer::bnb_default, dynamic_map(true)};
  const float largest = 3;
  const float reciprocal = 1 / largest;
  std::size_t told_apart = 0;
  for (std::size_t i = 1; i < codec.map().size(); ++i)
    around((codec.map()[i - 1] + codec.map()[i]) / 2 * largest, 3, [&](float x) {
      const std::uint8_t of_product = codec.code_of(x * reciprocal);
      const std::uint8_t of_quotient = codec.code_of(x / largest);
      if (of_product == of_quotient) return;
      ++told_apart;
      std::vector<std::uint8_t> codes(4);
      std::vector<float> absmax(2);
      codec.quantize(std::vector{largest, x, largest, x}, 2, codes, absmax);
      CHECK((codes[1] == of_product && codes[3] == of_product));
      codec.quantize(std::vector{largest, x}, 3, std::span{codes}.first(2), std::span{absmax}.first(1));
      CHECK(codes[1] == of_quotient);
    });
  CHECK(told_apart > 0);
}

TEST_CASE("two codes to a byte are read and written from any block on, in blocks of an odd size too") {
  const block_codec codec{block_quantizer::ao, map_4bit(true)};
  const std::vector<float> numbers{2, -2, 0, 0.875F, -1, 1, 0.25F, 1.75F, -0.25F};
  std::vector<std::uint8_t> codes(numbers.size());
  std::vector<float> absmax(3);
  codec.quantize(numbers, 3, codes, absmax);
  std::vector<float> whole(numbers.size());
  codec.dequantize(codes, absmax, 3, whole);
  for (const std::size_t first : {0u, 3u, 6u}) {
    CAPTURE(first);
    block_array array(codec, 3, numbers.size());
    array.store(0, numbers);
    const std::span<const float> rest = std::span{numbers}.subspan(first);
    array.store(first, rest);
    std::vector<float> out(rest.size());
    array.load(first, out);
    CHECK(std::ranges::equal(out, std::span{whole}.subspan(first)));
    for (std::size_t i = 0; i < numbers.size(); ++i)
      CHECK((i % 2 == 0 ? array.codes()[i / 2] >> 4 : array.codes()[i / 2] & 15) == codes[i]);
  }
}

TEST_CASE("empty arrays, one element, and what is refused") {
  for (const block_row& entry : block_rows()) {
    const block_codec codec{entry.quantizer, map_for(entry, true)};
    std::vector<float> none;
    std::vector<std::uint8_t> no_codes;
    codec.quantize(none, 256, no_codes, none);
    codec.dequantize(no_codes, none, 256, none);
    std::vector<float> one{0.5F}, absmax(1);
    std::vector<std::uint8_t> code(1);
    codec.quantize(one, 1, code, absmax);
    codec.dequantize(code, absmax, 1, one);
    CHECK(std::fabs(one[0] - 0.5F) < 1e-6F);
    CHECK_THROWS_AS(codec.quantize(one, 0, code, absmax), std::invalid_argument);
    CHECK_THROWS_AS(codec.quantize(one, 1, no_codes, absmax), std::invalid_argument);
    CHECK_THROWS_AS(codec.dequantize(code, none, 1, one), std::invalid_argument);
    if (entry.whole_blocks_only) CHECK_THROWS_AS(codec.quantize(one, 2, code, absmax), std::invalid_argument);
  }
  std::vector<float> map = dynamic_map(true);
  CHECK_THROWS_AS(block_codec(block_quantizer::bnb_cuda_text, std::span{map}.first(16)), std::invalid_argument);
  CHECK_THROWS_AS(block_codec(block_quantizer::bnb_default, std::span{map}.first(255)), std::invalid_argument);
  map[9] = std::numeric_limits<float>::quiet_NaN();
  CHECK_THROWS_AS(block_codec(block_quantizer::bnb_default, map), std::invalid_argument);
  CHECK_THROWS_AS(dynamic_map(false, map_arithmetic::torch26_nofma, 6), std::invalid_argument);
  CHECK_THROWS_AS(dynamic_map(true, map_arithmetic::torch26_nofma, 8), std::invalid_argument);
  CHECK_THROWS_AS(dynamic_map(true, map_arithmetic::torch26_nofma, 3, 40), std::invalid_argument);
  CHECK_THROWS_AS(dynamic_map(true, map_arithmetic::correctly_rounded, 6), std::invalid_argument);
}

}  // namespace
}  // namespace ulp
