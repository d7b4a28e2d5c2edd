// Codes to floats, which are past the caches where it is asked for.
#include "avx2.hpp"

#if defined(__x86_64__)
#include <algorithm>

#include "kernels.hpp"

namespace ulp::detail {
namespace {

using namespace avx2;

ULP_VECTOR_INLINE __m256i eight(const std::uint8_t* codes) {
  return _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(codes)));
}
ULP_VECTOR_INLINE __m256i eight(const std::uint16_t* codes) {
  return _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(codes)));
}
ULP_VECTOR_INLINE __m256i eight(const std::uint32_t* codes) { return load(codes); }

enum class layout : std::uint8_t {
  half,         // float16, for which there is an instruction
  same_fields,  // codes are upper parts of floats
  ieee,         // infinity and NaN in the highest binade
  other
};

struct decode_vectors {
  __m256i magnitude, largest, infinity_code, min_normal, normal_offset, subnormal_offset, infinity, quiet, nan, sign,
      negative_zero;
  __m128i dropped, to_sign;
};

template <layout Layout>
ULP_VECTOR_INLINE __m256i number_of_code(const decode_vectors& v, __m256i code) {
  const __m256i magnitude = _mm256_and_si256(code, v.magnitude);
  const __m256i in_place = _mm256_sll_epi32(magnitude, v.dropped);
  __m256i value = in_place;
  if constexpr (Layout != layout::same_fields) {
    const __m256i normal = _mm256_add_epi32(in_place, v.normal_offset);
    // Exact, whatever the control register says; all bits of zero are taken back.
    const __m256i integer = as_bits(_mm256_cvtepi32_ps(magnitude));
    const __m256i subnormal = _mm256_andnot_si256(_mm256_cmpeq_epi32(magnitude, _mm256_setzero_si256()),
                                                  _mm256_add_epi32(integer, v.subnormal_offset));
    value = _mm256_blendv_epi8(normal, subnormal, _mm256_cmpgt_epi32(v.min_normal, magnitude));
  }
  const __m256i is_special = _mm256_cmpgt_epi32(magnitude, v.largest);
  if constexpr (Layout == layout::other) {
    value = _mm256_blendv_epi8(value, v.nan, is_special);
    value = _mm256_blendv_epi8(value, v.nan, _mm256_cmpeq_epi32(code, v.negative_zero));
  } else {
    const __m256i is_nan = _mm256_cmpgt_epi32(magnitude, v.infinity_code);
    value = _mm256_or_si256(value, _mm256_and_si256(is_special, v.infinity));
    value = _mm256_or_si256(value, _mm256_and_si256(is_nan, v.quiet));
  }
  return _mm256_or_si256(value, _mm256_and_si256(_mm256_sll_epi32(code, v.to_sign), v.sign));
}

template <layout Layout, class Code>
ULP_VECTOR_INLINE __m256i eight_numbers(const decode_vectors& v, const Code* codes) {
  if constexpr (Layout == layout::half && sizeof(Code) == 2)
    return as_bits(_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(codes))));
  else
    return number_of_code<Layout>(v, eight(codes));
}

template <layout Layout, class Code>
ULP_VECTOR void decode_lanes(const decode_plan<std::uint32_t>& plan, const Code* codes, float* numbers,
                             std::size_t size, bool streams) {
  constexpr std::size_t ahead = 1024 / sizeof(Code);
  constexpr std::size_t line = 64 / sizeof(Code);
  const decode_vectors v{.magnitude = all_of(plan.magnitude_mask),
                         .largest = all_of(plan.largest),
                         .infinity_code = all_of(plan.largest + 1),
                         .min_normal = all_of(plan.min_normal_code),
                         .normal_offset = all_of(plan.normal_offset),
                         .subnormal_offset = all_of(plan.subnormal_offset),
                         .infinity = all_of(0x7F800000),
                         .quiet = all_of(0x400000),
                         .nan = all_of(0x7FC00000),
                         .sign = all_of(0x80000000),
                         .negative_zero = all_of(plan.negative_zero != 0 ? plan.magnitude_mask + 1 : ~0u),
                         .dropped = _mm_cvtsi32_si128(plan.dropped),
                         .to_sign = _mm_cvtsi32_si128(31 - plan.sign_position)};
  const auto some = [&](std::size_t i, std::size_t n) __attribute__((target("arch=x86-64-v3"))) {
    Code in[8]{};
    alignas(32) float out[8];
    std::copy_n(codes + i, n, in);
    _mm256_store_si256(reinterpret_cast<__m256i*>(out), eight_numbers<Layout>(v, in));
    std::copy_n(out, n, numbers + i);
  };
  std::size_t i = 0;
  if (streams) {
    i = std::min(size, (32 - reinterpret_cast<std::uintptr_t>(numbers) % 32) % 32 / sizeof(float));
    some(0, i);
    for (; i + line <= size; i += line) {
      _mm_prefetch(reinterpret_cast<const char*>(codes + i + ahead), _MM_HINT_T0);
#pragma GCC unroll 8
      for (std::size_t j = 0; j < line; j += 8)
        _mm256_stream_si256(reinterpret_cast<__m256i*>(numbers + i + j), eight_numbers<Layout>(v, codes + i + j));
    }
  }
  for (; i + 8 <= size; i += 8)
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(numbers + i), eight_numbers<Layout>(v, codes + i));
  some(i, size - i);
}

template <class Code>
void decode(const decode_plan<std::uint32_t>& plan, const Code* codes, float* numbers, std::size_t size, bool streams) {
  if (plan.plain_nan != 0) return decode_lanes<layout::other>(plan, codes, numbers, size, streams);
  if (plan.normal_offset == 0) return decode_lanes<layout::same_fields>(plan, codes, numbers, size, streams);
  const bool half = plan.sign_position == 15 && plan.dropped == 13 && plan.normal_offset == (127 - 15) << 23;
  if (half && sizeof(Code) == 2) return decode_lanes<layout::half>(plan, codes, numbers, size, streams);
  return decode_lanes<layout::ieee>(plan, codes, numbers, size, streams);
}

}  // namespace

extern const quick_decode_loops avx2_decode_loops{decode<std::uint8_t>, decode<std::uint16_t>, decode<std::uint32_t>};

}  // namespace ulp::detail
#endif
