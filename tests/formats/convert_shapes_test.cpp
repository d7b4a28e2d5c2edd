// Pins what does not depend on a kernel: arrays in pieces, at any address, of any length, in place, on several threads and
// past the caches give the same; two codes to a byte; scales; codes to numbers and to codes; what is refused.
#include <ulp/formats/convert.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "formats/convert.hpp"
#include "support/catch.hpp"
#include "support/guard_pages.hpp"

namespace {

using namespace ulp;
using namespace ulp::test;

std::vector<float> mixed_floats(std::size_t size) {
  std::vector<float> all(size);
  std::uint32_t bits = 12345;
  for (float& x : all) {
    bits = bits * 1664525 + 1013904223;
    x = std::bit_cast<float>((bits & 0x807FFFFF) | (85 + (bits >> 24 & 63)) << 23);
  }
  for (std::size_t i = 0; i < size; i += 1009)
    all[i] = i % 2 == 0 ? HUGE_VALF : -std::numeric_limits<float>::quiet_NaN();
  return all;
}

const rounding stochastic{.direction = direction::stochastic, .random_bits = 16};

// One rounding of each kind of loop.
std::vector<rounding> some_roundings() {
  rounding flushing;
  flushing.flush = flush::before_rounding;
  return {{}, {.direction = direction::toward_negative}, {.direction = direction::to_odd}, stochastic, flushing};
}

}  // namespace

TEST_CASE("pieces of any size give what the whole array gives, on every target and on one and two threads") {
  const std::vector<float> all = mixed_floats(3 * 4096 + 5);
  for (const rounding& mode : some_roundings()) {
    std::vector<std::uint16_t> whole;
    for (const std::string_view target : targets()) {
      const forced_target forced{target};
      for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, std::size_t{4096}, all.size()})
        for (const unsigned threads : {1u, 2u}) {
          std::vector<std::uint16_t> codes(all.size());
          for (std::size_t at = 0; at < all.size(); at += piece) {
            const std::size_t n = std::min(piece, all.size() - at);
            encode_array(cbfloat16, std::span{all}.subspan(at, n), std::span{codes}.subspan(at, n),
                         {.rounding = mode, .random = {.seed = 9, .stream = 8, .first = 7 + at}, .threads = threads});
          }
          if (whole.empty()) whole = codes;
          INFO(target << ' ' << describe(mode) << " pieces of " << piece);
          CHECK((codes == whole));
        }
    }
  }
}

// More than least_streamed bytes, and more than one thread takes.
TEST_CASE("large arrays give what their pieces give, on any number of threads") {
  const std::vector<float> all = mixed_floats((std::size_t{9} << 19) + 3);
  std::vector<std::uint16_t> codes(all.size() + 1);
  std::vector<std::uint16_t> pieces(all.size());
  std::vector<float> numbers(all.size() + 1);
  for (const std::string_view target : targets()) {
    if (target == "codec") continue;
    const forced_target forced{target};
    for (const rounding& mode : some_roundings()) {
      INFO(target << ' ' << describe(mode));
      const random_stream random{.seed = 9, .stream = 8};
      conversion_counts in_pieces;
      for (std::size_t at = 0; at < all.size(); at += 1 << 16) {
        const std::size_t n = std::min<std::size_t>(1 << 16, all.size() - at);
        encode_array(float16, std::span{all}.subspan(at, n), std::span{pieces}.subspan(at, n),
                     {.rounding = mode, .random = {.seed = 9, .stream = 8, .first = at}}, &in_pieces);
      }
      for (const unsigned threads : {1u, 2u, 5u})
        for (const bool counting : {false, true}) {
          // At an odd place, so that vectors are not aligned.
          const auto out = std::span{codes}.subspan(threads % 2, all.size());
          std::ranges::fill(codes, std::uint16_t{0xAAAA});
          conversion_counts counts;
          encode_array(float16, all, out, {.rounding = mode, .random = random, .threads = threads},
                       counting ? &counts : nullptr);
          CHECK(std::ranges::equal(out, pieces));
          if (counting) CHECK(counts == in_pieces);
          CHECK(codes[threads % 2 == 0 ? all.size() : 0] == 0xAAAA);
        }
      std::vector<float> in_place = all;
      const auto beside = std::span{numbers}.subspan(1, all.size());
      round_array(float16, in_place, {.rounding = mode, .random = random});
      round_array(float16, all, beside, {.rounding = mode, .random = random, .threads = 2});
      bool same = true;
      for (std::size_t i = 0; i < all.size(); ++i) {
        const auto value = std::bit_cast<std::uint32_t>(to_float(float16, pieces[i]));
        same = same && std::bit_cast<std::uint32_t>(in_place[i]) == value &&
               std::bit_cast<std::uint32_t>(beside[i]) == value;
      }
      CHECK(same);
    }
    for (const unsigned threads : {1u, 2u}) {
      const auto out = std::span{numbers}.subspan(threads % 2, all.size());
      decode_array(float16, pieces, out, threads);
      bool same = true;
      for (std::size_t i = 0; i < all.size(); ++i)
        same =
            same && std::bit_cast<std::uint32_t>(out[i]) == std::bit_cast<std::uint32_t>(to_float(float16, pieces[i]));
      CHECK(same);
    }
  }
}

// The last element is the last one of its page: reading or writing further is fatal.
TEST_CASE("nothing is read or written beyond arrays, of any length and at any address") {
  const std::vector<float> all = mixed_floats(200);
  for (const std::string_view target : targets()) {
    const forced_target forced{target};
    sweep s;
    for (std::size_t size = 0; size < 200; size += size < 70 ? 1 : 13)
      for (const rounding& mode : some_roundings()) {
        const conversion how{.rounding = mode, .random = {.seed = 1, .stream = 2, .first = size}};
        const guard_pages guard;
        const std::vector<float> in(all.begin() + 3, all.begin() + 3 + static_cast<std::ptrdiff_t>(size));
        const auto expected = by_codec(float8_e5m2, size, how, [&](std::size_t i) { return decode(in[i]); });
        std::vector<std::uint8_t> out8(size);
        std::vector<std::uint16_t> out16(size);
        std::vector<std::uint32_t> out32(size);
        encode_array(float8_e5m2, in, out8, how);
        encode_array(float8_e5m2, in, out16, how);
        encode_array(float8_e5m2, in, out32, how);
        for (std::size_t i = 0; i < size; ++i)
          s.expect(out8[i] == expected.codes[i] && out16[i] == expected.codes[i] && out32[i] == expected.codes[i],
                   [&] { return std::to_string(i) + " of " + std::to_string(size); });
        std::vector<float> rounded(size);
        round_array(float8_e5m2, in, rounded, how);
        std::vector<float> back(size);
        decode_array(float8_e5m2, out8, back);
        s.expect(size == 0 || std::memcmp(rounded.data(), back.data(), 4 * size) == 0,
                 [&] { return "rounded " + std::to_string(size); });
        for (std::size_t i = 0; i < size; ++i)
          s.expect(std::bit_cast<std::uint32_t>(back[i]) ==
                       std::bit_cast<std::uint32_t>(to_float(float8_e5m2, out8[i])),
                   [&] { return "back " + std::to_string(i) + " of " + std::to_string(size); });
      }
    INFO(target);
    CHECK(s.failures() == "");
  }
}

TEST_CASE("codes of every format to floats and doubles") {
  for (const named_format& f : convertible_formats()) {
    const std::uint64_t stride = f.format.width() <= 16 ? 1 : 4099;
    std::vector<std::uint32_t> codes;
    for (std::uint64_t code = 0; code <= f.format.code_mask(); code += stride)
      codes.push_back(static_cast<std::uint32_t>(code));
    const std::vector<std::uint16_t> codes16{codes.begin(), codes.end()};
    const std::vector<std::uint8_t> codes8{codes.begin(), codes.end()};
    for (const std::string_view target : targets()) {
      const forced_target forced{target};
      sweep s;
      std::vector<float> floats(codes.size());
      std::vector<double> doubles(codes.size());
      const auto compare_all = [&](const const_code_span& from) {
        std::ranges::fill(floats, 7.0f);
        std::ranges::fill(doubles, 7.0);
        decode_array(f.format, from, std::span{floats});
        decode_array(f.format, from, std::span{doubles});
        for (std::size_t i = 0; i < codes.size(); ++i) {
          s.expect(std::bit_cast<std::uint32_t>(floats[i]) ==
                       std::bit_cast<std::uint32_t>(to_float(f.format, codes[i])),
                   [&] { return "float of " + std::to_string(codes[i]); });
          s.expect(std::bit_cast<std::uint64_t>(doubles[i]) ==
                       std::bit_cast<std::uint64_t>(to_double(f.format, codes[i])),
                   [&] { return "double of " + std::to_string(codes[i]); });
        }
      };
      compare_all(codes);
      if (f.format.width() <= 16) compare_all(codes16);
      if (f.format.width() <= 8) compare_all(codes8);
      INFO(f.name << ' ' << target);
      CHECK(s.failures() == "");
    }
  }
}

TEST_CASE("codes of one format to those of another, by way of no other rounding") {
  const std::vector<named_format> formats = convertible_formats();
  for (const named_format& from : formats) {
    const std::uint64_t stride = from.format.width() <= 16 ? 1 : 65537;
    std::vector<std::uint32_t> codes;
    for (std::uint64_t code = 0; code <= from.format.code_mask(); code += stride)
      codes.push_back(static_cast<std::uint32_t>(code));
    for (const named_format& to : formats)
      for (rounding mode : some_roundings()) {
        mode.daz = mode.direction == direction::to_odd;
        const conversion how{.rounding = mode, .scale = mode.flush == flush::never ? 1 : 0x1p-7};
        const auto expected = by_codec(to.format, codes.size(), how, [&](std::size_t i) {
          return scaled(decode(from.format, codes[i]), how.scale == 1 ? 0 : -7);
        });
        for (const std::string_view target : targets()) {
          const forced_target forced{target};
          std::vector<std::uint32_t> got(codes.size());
          conversion_counts counts;
          recode_array(to.format, got, from.format, codes, how, &counts);
          sweep s;
          compare(s, expected, got, &counts, "");
          INFO(from.name << " to " << to.name << ' ' << describe(mode) << ' ' << target);
          CHECK(s.failures() == "");
        }
      }
  }
}

TEST_CASE("the exact product with the scale is rounded, once") {
  std::vector<float> elements = mixed_floats(3000);
  push_specials(elements);
  const std::vector<double> doubles{elements.begin(), elements.end()};
  for (const double scale :
       {0x1p-40, 0x1p-149, 0x1p-1074, 0x1p20, 0x1p140, 0x1p1023, 3.0, double{1.0f / 3}, 1.0 / 3, 0.1})
    for (const format& to : {float16, bfloat16, float8_e4m3fn, dlfloat16, ieee_format(11, 20)})
      for (const rounding& mode : {rounding{}, rounding{.direction = direction::toward_positive}, stochastic,
                                   rounding{.flush = flush::result, .daz = true}}) {
        const conversion how{.rounding = mode, .scale = scale, .random = {.seed = 5}};
        // Of a float and a double, in 24 + 53 bits.
        const auto product = [&](std::size_t i) {
          unpacked x = decode(elements[i]);
          if (x.kind != number_class::finite) return x;
          const unpacked y = decode(scale);
          __extension__ typedef unsigned __int128 wide;
          const wide exact = static_cast<wide>(x.significand >> 40) * (y.significand >> 11);
          const int shift = (exact >> 76) != 0 ? 51 : 52;
          const wide top = exact << shift;
          x.exponent += y.exponent + (shift == 51 ? 1 : 0);
          x.significand = static_cast<std::uint64_t>(top >> 64);
          x.low = static_cast<std::uint64_t>(top);
          return x;
        };
        const expected_codes expected = by_codec(to, elements.size(), how, product);
        // What is subnormal as a float is not as a double.
        const expected_codes from_doubles = by_codec(to, elements.size(), how, [&](std::size_t i) {
          unpacked x = product(i);
          x.subnormal = false;
          return x;
        });
        for (const std::string_view target : targets()) {
          const forced_target forced{target};
          std::vector<std::uint32_t> got(elements.size());
          conversion_counts counts;
          sweep s;
          encode_array(to, elements, got, how, &counts);
          compare(s, expected, got, &counts, "floats");
          encode_array(to, elements, got, how);
          compare(s, expected, got, nullptr, "floats, not counted");
          compare_rounded(s, to, expected, elements, how, "floats");
          encode_array(to, doubles, got, how);
          compare(s, from_doubles, got, nullptr, "doubles");
          INFO(describe(to) << " scale " << scale << ' ' << describe(mode) << ' ' << target);
          CHECK(s.failures() == "");
        }
      }
}

TEST_CASE("rounding in place, beside, and codes over the numbers they are of") {
  const std::vector<float> all = mixed_floats(5000);
  for (const named_format& f : convertible_formats())
    for (const rounding& mode : some_roundings())
      for (const std::string_view target : targets()) {
        const forced_target forced{target};
        const conversion how{.rounding = mode};
        const expected_codes expected =
            by_codec(f.format, all.size(), how, [&](std::size_t i) { return decode(all[i]); });
        std::vector<float> in_place = all;
        conversion_counts counts;
        round_array(f.format, in_place, how, &counts);
        std::vector<float> beside(all.size());
        round_array(f.format, all, beside, how);
        std::vector<float> over = all;
        const std::span<std::uint32_t> codes{reinterpret_cast<std::uint32_t*>(over.data()), over.size()};
        encode_array(f.format, over, codes, how);
        bool same = true;
        for (std::size_t i = 0; i < all.size(); ++i) {
          const auto value = std::bit_cast<std::uint32_t>(to_float(f.format, expected.codes[i]));
          std::uint32_t code = 0;
          std::memcpy(&code, over.data() + i, sizeof code);
          same = same && std::bit_cast<std::uint32_t>(in_place[i]) == value &&
                 std::bit_cast<std::uint32_t>(beside[i]) == value && code == expected.codes[i];
        }
        INFO(f.name << ' ' << describe(mode) << ' ' << target);
        CHECK(same);
        CHECK(counts == expected.counts);
      }
}

TEST_CASE("to nearest as floats around the largest number, with and without a power of two, in place and beside") {
  for (const named_format& f : convertible_formats()) {
    const float largest = to_float(f.format, f.format.max_finite_code());
    std::vector<float> all{0, -0.0F, 1, HUGE_VALF, -HUGE_VALF, std::numeric_limits<float>::quiet_NaN(), 0x1.8p-140F};
    for (int eighths = 1; eighths <= 24; ++eighths) {
      const float x = largest * 0.125F * static_cast<float>(eighths);
      for (const float y : {x, std::nextafter(x, 0.0F), std::nextafter(x, HUGE_VALF)})
        for (const float z : {y, -y, y / 8, y / 64}) all.push_back(z);
    }
    const float tie = largest + (largest - to_float(f.format, f.format.max_finite_code() - 1)) / 2;
    push_with_neighbours(all, tie);
    push_with_neighbours(all, -tie);
    if (f.format.width() <= 16) push_numbers_and_midpoints(all, f.format, f.format.width() > 10 ? 1021 : 1);
    for (const direction way : {direction::nearest_even, direction::nearest_away})
      for (const auto overflow : {overflow_mode::ieee, overflow_mode::saturate, overflow_mode::saturate_finite})
        for (const int power : {0, 3, -2}) {
          const conversion how{.rounding = {.direction = way, .overflow = overflow}, .scale = std::ldexp(1.0, power)};
          const expected_codes expected = by_codec(f.format, all.size(), how, [&](std::size_t i) {
            unpacked x = decode(all[i]);
            x.exponent += power;
            return x;
          });
          for (const std::string_view target : targets()) {
            const forced_target forced{target};
            std::vector<float> in_place = all;
            round_array(f.format, in_place, how);
            std::vector<float> beside(all.size());
            round_array(f.format, all, beside, how);
            std::size_t differ = 0;
            for (std::size_t i = 0; i < all.size(); ++i) {
              const auto value = std::bit_cast<std::uint32_t>(to_float(f.format, expected.codes[i]));
              differ += std::bit_cast<std::uint32_t>(in_place[i]) != value ? 1 : 0;
              differ += std::bit_cast<std::uint32_t>(beside[i]) != value ? 1 : 0;
            }
            INFO(f.name << ' ' << describe(how.rounding) << " times 2^" << power << ' ' << target);
            CHECK(differ == 0);
          }
        }
  }
}

TEST_CASE("two codes to a byte, the first in its low half") {
  std::vector<float> all = mixed_floats(2050);
  for (float& x : all) x = std::isfinite(x) ? std::ldexp(x, 10) : x;
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{2}, std::size_t{1023}, std::size_t{2050}})
    for (const rounding& mode : some_roundings())
      for (const std::string_view target : targets()) {
        const forced_target forced{target};
        // An odd number of random values before the next block of them.
        const conversion how{.rounding = mode, .random = {.first = 3}};
        const std::span elements = std::span{all}.first(size);
        std::vector<std::uint8_t> codes(size);
        std::vector<std::uint8_t> bytes((size + 1) / 2, 0xFF);
        encode_array(float4_e2m1, elements, codes, how);
        encode_array(float4_e2m1, elements, code_span::packed(bytes, size), how);
        sweep s;
        s.expect(true, [] { return ""; });
        for (std::size_t i = 0; i < bytes.size(); ++i)
          s.expect(bytes[i] == (codes[2 * i] | (2 * i + 1 < size ? codes[2 * i + 1] : 0) << 4),
                   [&] { return "byte " + std::to_string(i); });
        std::vector<float> one(size);
        std::vector<float> two(size);
        decode_array(float4_e2m1, codes, one);
        decode_array(float4_e2m1, const_code_span::packed(bytes, size), two);
        s.expect(one == two, [] { return "numbers"; });
        std::vector<std::uint8_t> wider(size);
        std::vector<std::uint8_t> again((size + 1) / 2);
        recode_array(float8_e4m3fn, wider, float4_e2m1, const_code_span::packed(bytes, size));
        recode_array(float4_e2m1, code_span::packed(again, size), float8_e4m3fn, wider);
        s.expect(again == bytes, [] { return "there and back"; });
        INFO(size << ' ' << describe(mode) << ' ' << target);
        CHECK(s.failures() == "");
      }
}

TEST_CASE("formats known at compile time") {
  const std::vector<float> elements{1.0f, -2.5f, 1e9f};
  std::vector<std::uint8_t> codes(3);
  encode_array<float8_e4m3fn>(elements, codes);
  CHECK(codes == std::vector<std::uint8_t>{0x38, 0xC2, 0x7F});
  std::vector<float> numbers(3);
  decode_array<float8_e4m3fn>(codes, numbers);
  CHECK(numbers[1] == -2.5f);
  round_array<float8_e4m3fn>(numbers, {.rounding = {.overflow = overflow_mode::saturate}});
  CHECK(numbers[0] == 1.0f);
}

TEST_CASE("what is refused, and says why") {
  const std::vector<float> x(3);
  std::vector<std::uint8_t> codes(3);
  std::vector<std::uint8_t> two(2);
  std::vector<std::uint16_t> codes16(3);
  CHECK_THROWS_AS(encode_array(float16, x, codes), std::invalid_argument);
  CHECK_THROWS_AS(encode_array(float8_e5m2, x, two), std::invalid_argument);
  CHECK_THROWS_AS(encode_array(float16, x, code_span::packed(two, 3)), std::invalid_argument);
  CHECK_THROWS_AS(code_span::packed(two, 5), std::invalid_argument);
  CHECK_THROWS_AS(encode_array(format{.exponent_bits = 1}, x, codes), std::invalid_argument);
  for (const double scale : {0.0, -1.0, HUGE_VAL, std::nan("")})
    CHECK_THROWS_AS(encode_array(float16, x, codes16, {.scale = scale}), std::invalid_argument);
  rounding wrong;
  wrong.random_bits = 33;
  CHECK_THROWS_AS(encode_array(float16, x, codes16, {.rounding = wrong}), std::invalid_argument);
  CHECK_THROWS_AS(recode_array(float16, codes16, float16, codes), std::invalid_argument);
  CHECK_THROWS_AS(decode_array(float16, codes, std::span<float>{}), std::invalid_argument);
  CHECK_THROWS_AS(round_array(binary64, x, std::span<float>{}), std::invalid_argument);
}

TEST_CASE("targets are listed and chosen by name") {
  const auto names = targets();
  REQUIRE(names.size() >= 2);
  CHECK(names.front() == "codec");
#if defined(__x86_64__)
  CHECK(names[1] == "x86-64");
  CHECK((std::ranges::count(names, "x86-64-v3") != 0) == (__builtin_cpu_supports("x86-64-v3") != 0));
#endif
  std::string refusal;
  try {
    force_target("x86-64-v9");
  } catch (const std::invalid_argument& e) {
    refusal = e.what();
  }
  CHECK(refusal.find("'x86-64-v9'") != std::string::npos);
  CHECK(refusal.find("codec, ") != std::string::npos);
}
