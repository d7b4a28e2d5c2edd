// What loops by AVX2 share. They are there where they are more than 1.3 times as fast as what compilers make of
// convert_loops.hpp.
#ifndef ULP_FORMATS_CONVERT_AVX2_HPP
#define ULP_FORMATS_CONVERT_AVX2_HPP

#include "kernels.hpp"

#if defined(__x86_64__)
#include <immintrin.h>

#include <algorithm>

#define ULP_AVX2 [[gnu::target("arch=x86-64-v3")]]
#define ULP_AVX2_INLINE [[gnu::target("arch=x86-64-v3"), gnu::always_inline]] inline

namespace ulp::detail {

// Rounding as a direction needs it, no exception unmasked, no flush to zero, no denormals as zero; and then as it was,
// flags and all.
class control_register {
 public:
  explicit control_register(direction way) noexcept : before_(_mm_getcsr()) {
    constexpr unsigned masked = 0x1F80;
    const unsigned rounding = way == direction::nearest_even      ? 0
                              : way == direction::toward_negative ? 1
                              : way == direction::toward_positive ? 2
                                                                  : 3;
    _mm_setcsr(masked | rounding << 13);
  }
  ~control_register() { _mm_setcsr(before_); }
  control_register(const control_register&) = delete;
  control_register& operator=(const control_register&) = delete;

 private:
  unsigned before_;
};

ULP_AVX2_INLINE __m256i all_of(std::uint32_t x) { return _mm256_set1_epi32(static_cast<int>(x)); }
ULP_AVX2_INLINE __m256 as_float(__m256i x) { return _mm256_castsi256_ps(x); }
ULP_AVX2_INLINE __m256i as_bits(__m256 x) { return _mm256_castps_si256(x); }
// b where x is negative.
ULP_AVX2_INLINE __m256i by_sign(__m256i a, __m256i b, __m256i x) {
  return as_bits(_mm256_blendv_ps(as_float(a), as_float(b), as_float(x)));
}

ULP_AVX2_INLINE __m256i load(const void* from) { return _mm256_loadu_si256(static_cast<const __m256i*>(from)); }

// As many lanes as make 32 bytes of codes.
template <class Code>
inline constexpr std::size_t codes_of_vector = 32 / sizeof(Code);

// Codes of 8 bits from codes times 2^finer, below 2^15.
ULP_AVX2_INLINE __m256i packed(const __m256i* lanes, __m128i, std::uint32_t*) { return lanes[0]; }
ULP_AVX2_INLINE __m256i packed(const __m256i* lanes, __m128i, std::uint16_t*) {
  return _mm256_permute4x64_epi64(_mm256_packus_epi32(lanes[0], lanes[1]), 0xD8);
}
ULP_AVX2_INLINE __m256i packed(const __m256i* lanes, __m128i finer, std::uint8_t*) {
  const __m256i all = _mm256_packus_epi16(_mm256_srl_epi16(_mm256_packus_epi32(lanes[0], lanes[1]), finer),
                                          _mm256_srl_epi16(_mm256_packus_epi32(lanes[2], lanes[3]), finer));
  return _mm256_permutevar8x32_epi32(all, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
}

// Codes of numbers i .. i + codes_of_vector - 1: lane(x, i) is those of eight of them, times 2^lane.finer() if of 8 bits.
template <class Code, class Lane>
ULP_AVX2_INLINE __m256i vector_of_codes(const float* numbers, std::size_t i, Lane& lane) {
  __m256i lanes[codes_of_vector<Code> / 8];
#pragma GCC unroll 4
  for (std::size_t j = 0; j < codes_of_vector<Code> / 8; ++j) lanes[j] = lane(load(numbers + 8 * j), i + 8 * j);
  return packed(lanes, lane.finer(), static_cast<Code*>(nullptr));
}

// The same for `size` of them, fewer than in a vector; zeros are put behind. Returns how many.
template <class Code, class Lane>
ULP_AVX2_INLINE std::size_t put_some(const float* numbers, Code* codes, std::size_t i, std::size_t size, Lane& lane) {
  if (size == 0) return 0;
  alignas(32) float some[codes_of_vector<Code>]{};
  alignas(32) Code some_codes[codes_of_vector<Code>];
  std::copy_n(numbers + i, size, some);
  _mm256_store_si256(reinterpret_cast<__m256i*>(some_codes), vector_of_codes<Code>(some, i, lane));
  std::copy_n(some_codes, size, codes + i);
  return codes_of_vector<Code> - size;
}

// Past the caches, an array is read at some places in turns, and each turn asks for what the next one at its place reads:
// one place after the other leaves the memory idle.
inline constexpr std::size_t turns = 8;
ULP_AVX2_INLINE void ask_for(const float* number) { _mm_prefetch(reinterpret_cast<const char*>(number), _MM_HINT_NTA); }

// Codes of all numbers; `streams`: past the caches. Returns how many zeros were put behind numbers.
template <class Code, class Lane>
ULP_AVX2_INLINE std::size_t put_all(const float* numbers, Code* codes, std::size_t size, bool streams, Lane& lane) {
  constexpr std::size_t step = codes_of_vector<Code>;
  std::size_t zeros = 0;
  std::size_t i = 0;
  if (streams) {
    const std::size_t before = (32 - reinterpret_cast<std::uintptr_t>(codes) % 32) % 32 / sizeof(Code);
    i = std::min(before, size);
    zeros += put_some(numbers, codes, 0, i, lane);
    constexpr std::size_t turn = 128;
    const std::size_t part = (size - i) / (turns * turn) * turn;
    for (const std::size_t end = i + part; i != end; i += turn)
      for (std::size_t place = i; place < i + turns * part; place += part)
#pragma GCC unroll 1
        for (std::size_t at = place; at != place + turn; at += step) {
          for (std::size_t j = 0; j < step; j += 16) ask_for(numbers + at + turn + j);
          _mm256_stream_si256(reinterpret_cast<__m256i*>(codes + at), vector_of_codes<Code>(numbers + at, at, lane));
        }
    i += (turns - 1) * part;
  }
  for (; i + step <= size; i += step)
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(codes + i), vector_of_codes<Code>(numbers + i, i, lane));
  return zeros + put_some(numbers, codes, i, size - i, lane);
}

}  // namespace ulp::detail

#endif
#endif
