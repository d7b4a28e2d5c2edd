// Vectors of AVX-512 as x86-64-v4 has it: sixteen lanes of 32 bits, by the names of avx2.hpp.
#ifndef ULP_FORMATS_BULK_AVX512_HPP
#define ULP_FORMATS_BULK_AVX512_HPP

#include "control_register.hpp"

#if defined(__x86_64__)
// gcc's intrinsics have operands that are undefined on purpose.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>
#pragma GCC diagnostic pop

#include <cstddef>
#include <cstdint>

#define ULP_VECTORS avx512
#define ULP_VECTOR [[gnu::target("arch=x86-64-v4")]]
#define ULP_VECTOR_LAMBDA __attribute__((target("arch=x86-64-v4")))
#define ULP_VECTOR_INLINE [[gnu::target("arch=x86-64-v4"), gnu::always_inline]] inline

namespace ulp::detail::avx512 {

using vector = __m512i;
using floats = __m512;
using mask = __mmask16;
using shift_count = __m128i;
inline constexpr std::size_t lane_count = 16;

ULP_VECTOR_INLINE vector all_of(std::uint32_t x) { return _mm512_set1_epi32(static_cast<int>(x)); }
ULP_VECTOR_INLINE vector all_of64(std::uint64_t x) { return _mm512_set1_epi64(static_cast<long long>(x)); }
ULP_VECTOR_INLINE shift_count shift_by(int places) { return _mm_cvtsi32_si128(places); }
ULP_VECTOR_INLINE floats as_float(vector x) { return _mm512_castsi512_ps(x); }
ULP_VECTOR_INLINE vector as_bits(floats x) { return _mm512_castps_si512(x); }

ULP_VECTOR_INLINE vector load(const void* from) { return _mm512_loadu_si512(from); }
ULP_VECTOR_INLINE void store(void* to, vector x) { _mm512_storeu_si512(to, x); }
ULP_VECTOR_INLINE void stream(void* to, vector x) { _mm512_stream_si512(static_cast<vector*>(to), x); }

ULP_VECTOR_INLINE vector both(vector a, vector b) { return _mm512_and_si512(a, b); }
ULP_VECTOR_INLINE vector either(vector a, vector b) { return _mm512_or_si512(a, b); }
ULP_VECTOR_INLINE vector flipped(vector a, vector b) { return _mm512_xor_si512(a, b); }
ULP_VECTOR_INLINE vector without(vector a, vector b) { return _mm512_andnot_si512(b, a); }
ULP_VECTOR_INLINE vector shifted_left(vector x, shift_count by) { return _mm512_sll_epi32(x, by); }
ULP_VECTOR_INLINE vector shifted_right(vector x, shift_count by) { return _mm512_srl_epi32(x, by); }
ULP_VECTOR_INLINE vector shifted_left(vector x, vector by) { return _mm512_sllv_epi32(x, by); }
ULP_VECTOR_INLINE vector shifted_right(vector x, vector by) { return _mm512_srlv_epi32(x, by); }
template <int Places>
ULP_VECTOR_INLINE vector shifted_right(vector x) {
  return _mm512_srli_epi32(x, Places);
}
ULP_VECTOR_INLINE vector shifted_right_signed(vector x, shift_count by) { return _mm512_sra_epi32(x, by); }
ULP_VECTOR_INLINE vector signs(vector x) { return _mm512_srai_epi32(x, 31); }

ULP_VECTOR_INLINE vector add(vector a, vector b) { return _mm512_add_epi32(a, b); }
ULP_VECTOR_INLINE vector sub(vector a, vector b) { return _mm512_sub_epi32(a, b); }
ULP_VECTOR_INLINE vector smaller(vector a, vector b) { return _mm512_min_epu32(a, b); }
ULP_VECTOR_INLINE vector larger(vector a, vector b) { return _mm512_max_epu32(a, b); }
ULP_VECTOR_INLINE vector larger_signed(vector a, vector b) { return _mm512_max_epi32(a, b); }
ULP_VECTOR_INLINE floats smaller(floats a, floats b) { return _mm512_min_ps(a, b); }
ULP_VECTOR_INLINE floats add(floats a, floats b) { return _mm512_add_ps(a, b); }
ULP_VECTOR_INLINE floats sub(floats a, floats b) { return _mm512_sub_ps(a, b); }
ULP_VECTOR_INLINE floats mul(floats a, floats b) { return _mm512_mul_ps(a, b); }
ULP_VECTOR_INLINE floats converted(vector x) { return _mm512_cvtepi32_ps(x); }
ULP_VECTOR_INLINE vector truncated(floats x) { return _mm512_cvttps_epi32(x); }
ULP_VECTOR_INLINE vector product_of_pairs(vector a, vector b) { return _mm512_madd_epi16(a, b); }

ULP_VECTOR_INLINE mask equal(vector a, vector b) { return _mm512_cmpeq_epi32_mask(a, b); }
ULP_VECTOR_INLINE mask equal(floats a, floats b) { return _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ); }
ULP_VECTOR_INLINE mask above(vector a, vector b) { return _mm512_cmpgt_epi32_mask(a, b); }
ULP_VECTOR_INLINE mask negated(mask m) { return static_cast<mask>(~m); }
ULP_VECTOR_INLINE mask either(mask a, mask b) { return static_cast<mask>(a | b); }
ULP_VECTOR_INLINE mask without(mask a, mask b) { return static_cast<mask>(a & ~b); }
ULP_VECTOR_INLINE bool any(mask m) { return m != 0; }
ULP_VECTOR_INLINE vector chosen(vector a, vector b, mask m) { return _mm512_mask_mov_epi32(a, m, b); }
ULP_VECTOR_INLINE vector by_sign(vector a, vector b, vector x) { return chosen(a, b, _mm512_movepi32_mask(x)); }
ULP_VECTOR_INLINE vector either_unless(mask m, vector a, vector b) { return _mm512_mask_or_epi32(a, negated(m), a, b); }
ULP_VECTOR_INLINE vector either_where(mask m, vector a, vector b) { return _mm512_mask_or_epi32(a, m, a, b); }
ULP_VECTOR_INLINE vector larger_where(mask m, vector x, vector a, vector b) {
  return _mm512_mask_max_epu32(x, m, a, b);
}
ULP_VECTOR_INLINE vector only_unless(mask m, vector x) { return _mm512_maskz_mov_epi32(negated(m), x); }
ULP_VECTOR_INLINE vector one_more(vector n, mask m) { return _mm512_mask_sub_epi32(n, m, n, all_of(~0u)); }
ULP_VECTOR_INLINE vector one_less(vector n, mask m) { return _mm512_mask_add_epi32(n, m, n, all_of(~0u)); }

ULP_VECTOR_INLINE vector packed(const vector* from, shift_count, std::uint32_t*) { return from[0]; }
ULP_VECTOR_INLINE vector packed(const vector* from, shift_count, std::uint16_t*) {
  const vector in_order = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);
  return _mm512_permutexvar_epi64(in_order, _mm512_packus_epi32(from[0], from[1]));
}
ULP_VECTOR_INLINE vector packed(const vector* from, shift_count finer, std::uint8_t*) {
  const vector in_order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  const vector all = _mm512_packus_epi16(_mm512_srl_epi16(_mm512_packus_epi32(from[0], from[1]), finer),
                                         _mm512_srl_epi16(_mm512_packus_epi32(from[2], from[3]), finer));
  return _mm512_permutexvar_epi32(in_order, all);
}
template <int Rounding>
ULP_VECTOR_INLINE vector halves(vector a, vector b) {
  const __m256i low = _mm512_cvtps_ph(as_float(a), Rounding);
  return _mm512_inserti64x4(_mm512_castsi256_si512(low), _mm512_cvtps_ph(as_float(b), Rounding), 1);
}

ULP_VECTOR_INLINE vector all_of16(std::uint32_t x) { return _mm512_set1_epi16(static_cast<std::int16_t>(x)); }
ULP_VECTOR_INLINE vector smaller16(vector a, vector b) { return _mm512_min_epu16(a, b); }
ULP_VECTOR_INLINE vector larger16(vector a, vector b) { return _mm512_max_epu16(a, b); }
ULP_VECTOR_INLINE vector by_sign16(vector a, vector b, vector x) {
  return _mm512_mask_mov_epi16(a, _mm512_movepi16_mask(x), b);
}
ULP_VECTOR_INLINE bool any_above16(vector a, vector b) { return _mm512_cmpgt_epi16_mask(a, b) != 0; }
ULP_VECTOR_INLINE vector widened(vector x, bool upper) {
  return upper ? _mm512_unpackhi_epi16(all_of(0), x) : _mm512_unpacklo_epi16(all_of(0), x);
}
ULP_VECTOR_INLINE vector narrowed(vector lower, vector upper) { return _mm512_packus_epi32(lower, upper); }
ULP_VECTOR_INLINE vector narrowed_signed(vector lower, vector upper) { return _mm512_packs_epi32(lower, upper); }

ULP_VECTOR_INLINE __m256i load_codes(const void* from) { return _mm256_loadu_si256(static_cast<const __m256i*>(from)); }
ULP_VECTOR_INLINE vector lanes_of(const std::uint8_t* codes) {
  return _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(codes)));
}
ULP_VECTOR_INLINE vector lanes_of(const std::uint16_t* codes) { return _mm512_cvtepu16_epi32(load_codes(codes)); }
ULP_VECTOR_INLINE vector lanes_of(const std::uint32_t* codes) { return load(codes); }
ULP_VECTOR_INLINE floats of_float16s(const void* from) { return _mm512_cvtph_ps(load_codes(from)); }
ULP_VECTOR_INLINE floats of_upper_halves(const void* from) {
  return as_float(_mm512_slli_epi32(_mm512_cvtepu16_epi32(load_codes(from)), 16));
}
template <int Rounding>
ULP_VECTOR_INLINE void store_float16s(void* to, floats x) {
  _mm256_storeu_si256(static_cast<__m256i*>(to), _mm512_cvtps_ph(x, Rounding));
}

ULP_VECTOR_INLINE vector add64(vector a, vector b) { return _mm512_add_epi64(a, b); }
ULP_VECTOR_INLINE vector product(vector a, vector b) { return _mm512_mul_epu32(a, b); }
ULP_VECTOR_INLINE vector upper(vector x) { return _mm512_srli_epi64(x, 32); }
ULP_VECTOR_INLINE vector of_first() { return _mm512_setr_epi64(0, 1, 4, 5, 8, 9, 12, 13); }
ULP_VECTOR_INLINE vector of_second() { return _mm512_setr_epi64(2, 3, 6, 7, 10, 11, 14, 15); }
ULP_VECTOR_INLINE vector lower_halves(vector a, vector b) {
  return as_bits(_mm512_shuffle_ps(as_float(a), as_float(b), 0x88));
}
ULP_VECTOR_INLINE vector flipped_late(vector a, vector b, vector c) { return _mm512_ternarylogic_epi32(a, b, c, 0x96); }

}  // namespace ulp::detail::avx512

#endif
#endif
