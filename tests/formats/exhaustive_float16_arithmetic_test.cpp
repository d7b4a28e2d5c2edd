// Pins add and mul of float16, nearest even, and those of its value type, to the processor's float arithmetic and F16C narrowing for all 2^32 pairs;
// NaN matches NaN. In float the sum and the product of two float16 numbers are rounded once before the narrowing, which
// changes nothing: the product is exact, and 24 bits are at least 2 * 11 + 2 (Figueroa, "When is double rounding
// innocuous?", SIGNUM Newsletter 30(3), 1995). A program of its own, because without the instructions it is reported as
// skipped.
#include <ulp/formats/arithmetic.hpp>

#include <cstdint>
#include <iostream>

#include <ulp/formats/catalog.hpp>
#include <ulp/formats/number.hpp>

#include "formats/operations.hpp"
#include "support/catch.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>

namespace {

using namespace ulp;
using namespace ulp::test;

bool has_f16c() {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0 && __builtin_cpu_supports("avx");
}

// The processor's results for a and b, b + 1, ... b + 7.
template <operation op>
__attribute__((target("f16c,avx"))) void processor_8(std::uint16_t a, std::uint16_t b, std::uint16_t* out) {
  const __m128i codes = _mm_add_epi16(_mm_set1_epi16(static_cast<short>(b)), _mm_setr_epi16(0, 1, 2, 3, 4, 5, 6, 7));
  const __m256 x = _mm256_cvtph_ps(_mm_set1_epi16(static_cast<short>(a)));
  const __m256 y = _mm256_cvtph_ps(codes);
  const __m256 result = op == operation::add ? _mm256_add_ps(x, y) : _mm256_mul_ps(x, y);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(out), _mm256_cvtps_ph(result, _MM_FROUND_TO_NEAREST_INT));
}

constexpr bool is_nan(std::uint64_t code) { return (code & 0x7FFF) > 0x7C00; }

template <operation op>
sweep_result all_pairs() {
  return on_all_processors(0x10000, [](sweep& s, std::uint64_t a) {
    for (std::uint32_t first = 0; first < 0x10000; first += 8) {
      std::uint16_t expected[8];
      processor_8<op>(static_cast<std::uint16_t>(a), static_cast<std::uint16_t>(first), expected);
      for (std::uint32_t i = 0; i < 8; ++i) {
        const std::uint64_t b = first + i;
        const encoded got = op == operation::add ? add(float16, a, b) : mul(float16, a, b);
        const auto x = float16_t::from_code(static_cast<std::uint16_t>(a));
        const auto y = float16_t::from_code(static_cast<std::uint16_t>(b));
        const std::uint64_t value = (op == operation::add ? x + y : x * y).code();
        const bool agrees = got.code == expected[i] || (is_nan(got.code) && is_nan(expected[i]));
        s.expect(agrees && value == got.code, [&] {
          return describe(op, float16, {float16, float16, float16}, {a, b, 0}, {}, got, encoded{expected[i]});
        });
      }
    }
  });
}

template <operation op>
void check() {
  if (!has_f16c()) {
    std::cout << "SKIPPED: this processor has no F16C\n";
    return;
  }
  const sweep_result all = all_pairs<op>();
  CHECK(all.failures == "");
  CHECK(all.compared == std::uint64_t{1} << 32);
}

}  // namespace

TEST_CASE("float16 add is the processor's for all pairs") { check<operation::add>(); }

TEST_CASE("float16 mul is the processor's for all pairs") { check<operation::mul>(); }
#else
TEST_CASE("float16 arithmetic is the processor's") { std::cout << "SKIPPED: not an x86-64 processor\n"; }
#endif
