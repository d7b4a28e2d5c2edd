// Pins float -> float16, nearest even, to the processor's own instruction (F16C, vcvtps2ph) for all 2^32 floats, NaNs
// bit for bit. A program of its own, because without the instruction it is reported as skipped.
#include <bit>
#include <cstdint>
#include <iostream>

#include <ulp/formats/catalog.hpp>
#include <ulp/formats/codec.hpp>

#include "formats/exhaustive.hpp"
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

__attribute__((target("f16c,avx"))) void convert_8(std::uint32_t first, std::uint16_t* out) {
  const __m128i low = _mm_add_epi32(_mm_set1_epi32(static_cast<int>(first)), _mm_setr_epi32(0, 1, 2, 3));
  const __m128i high = _mm_add_epi32(low, _mm_set1_epi32(4));
  constexpr int nearest = _MM_FROUND_TO_NEAREST_INT;
  _mm_storel_epi64(reinterpret_cast<__m128i*>(out), _mm_cvtps_ph(_mm_castsi128_ps(low), nearest));
  _mm_storel_epi64(reinterpret_cast<__m128i*>(out + 4), _mm_cvtps_ph(_mm_castsi128_ps(high), nearest));
}

}  // namespace

TEST_CASE("float to float16 is vcvtps2ph for all floats") {
  if (!has_f16c()) {
    std::cout << "SKIPPED: this processor has no F16C\n";
    return;
  }
  CHECK(over_all_floats([](sweep& s, std::uint32_t first, std::uint32_t last) {
          for (std::uint64_t group = first; group <= last; group += 8) {
            std::uint16_t expected[8];
            convert_8(static_cast<std::uint32_t>(group), expected);
            for (std::uint32_t i = 0; i < 8; ++i) {
              const auto bits = static_cast<std::uint32_t>(group) + i;
              const encoded got = encode(float16, std::bit_cast<float>(bits));
              s.expect(got.code == expected[i], [&] { return describe(encoded{bits}) + ": " + describe(got); });
            }
          }
        }) == "");
}
#else
TEST_CASE("float to float16 is vcvtps2ph for all floats") { std::cout << "SKIPPED: not an x86-64 processor\n"; }
#endif
