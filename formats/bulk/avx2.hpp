// Vectors of AVX2, with FMA and F16C: eight lanes of 32 bits. The names are those of avx512.hpp too: the bodies of loops are
// compiled with either.
#ifndef ULP_FORMATS_BULK_AVX2_HPP
#define ULP_FORMATS_BULK_AVX2_HPP

#include "control_register.hpp"

#if defined(__x86_64__)
#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#define ULP_VECTORS avx2
#define ULP_VECTOR [[gnu::target("arch=x86-64-v3")]]
#define ULP_VECTOR_LAMBDA __attribute__((target("arch=x86-64-v3")))
#define ULP_VECTOR_INLINE [[gnu::target("arch=x86-64-v3"), gnu::always_inline]] inline

namespace ulp::detail::avx2 {

using vector = __m256i;
using floats = __m256;
using mask = __m256i;         // all bits of a lane, or none
using shift_count = __m128i;  // of all lanes
inline constexpr std::size_t lane_count = 8;

ULP_VECTOR_INLINE vector all_of(std::uint32_t x) { return _mm256_set1_epi32(static_cast<int>(x)); }
ULP_VECTOR_INLINE vector all_of64(std::uint64_t x) { return _mm256_set1_epi64x(static_cast<long long>(x)); }
ULP_VECTOR_INLINE shift_count shift_by(int places) { return _mm_cvtsi32_si128(places); }
ULP_VECTOR_INLINE floats as_float(vector x) { return _mm256_castsi256_ps(x); }
ULP_VECTOR_INLINE vector as_bits(floats x) { return _mm256_castps_si256(x); }

ULP_VECTOR_INLINE vector load(const void* from) { return _mm256_loadu_si256(static_cast<const vector*>(from)); }
ULP_VECTOR_INLINE void store(void* to, vector x) { _mm256_storeu_si256(static_cast<vector*>(to), x); }
ULP_VECTOR_INLINE void stream(void* to, vector x) { _mm256_stream_si256(static_cast<vector*>(to), x); }

ULP_VECTOR_INLINE vector both(vector a, vector b) { return _mm256_and_si256(a, b); }
ULP_VECTOR_INLINE vector either(vector a, vector b) { return _mm256_or_si256(a, b); }
ULP_VECTOR_INLINE vector flipped(vector a, vector b) { return _mm256_xor_si256(a, b); }
ULP_VECTOR_INLINE vector without(vector a, vector b) { return _mm256_andnot_si256(b, a); }
ULP_VECTOR_INLINE vector shifted_left(vector x, shift_count by) { return _mm256_sll_epi32(x, by); }
ULP_VECTOR_INLINE vector shifted_right(vector x, shift_count by) { return _mm256_srl_epi32(x, by); }
// Each lane by as much as the other vector's says; by 32 and more leaves zero.
ULP_VECTOR_INLINE vector shifted_left(vector x, vector by) { return _mm256_sllv_epi32(x, by); }
ULP_VECTOR_INLINE vector shifted_right(vector x, vector by) { return _mm256_srlv_epi32(x, by); }
template <int Places>
ULP_VECTOR_INLINE vector shifted_right(vector x) {
  return _mm256_srli_epi32(x, Places);
}
ULP_VECTOR_INLINE vector shifted_right_signed(vector x, shift_count by) { return _mm256_sra_epi32(x, by); }
// All bits of negative lanes.
ULP_VECTOR_INLINE vector signs(vector x) { return _mm256_srai_epi32(x, 31); }

ULP_VECTOR_INLINE vector add(vector a, vector b) { return _mm256_add_epi32(a, b); }
ULP_VECTOR_INLINE vector sub(vector a, vector b) { return _mm256_sub_epi32(a, b); }
ULP_VECTOR_INLINE vector smaller(vector a, vector b) { return _mm256_min_epu32(a, b); }
ULP_VECTOR_INLINE vector larger(vector a, vector b) { return _mm256_max_epu32(a, b); }
ULP_VECTOR_INLINE vector larger_signed(vector a, vector b) { return _mm256_max_epi32(a, b); }
ULP_VECTOR_INLINE floats smaller(floats a, floats b) { return _mm256_min_ps(a, b); }
ULP_VECTOR_INLINE floats add(floats a, floats b) { return _mm256_add_ps(a, b); }
ULP_VECTOR_INLINE floats sub(floats a, floats b) { return _mm256_sub_ps(a, b); }
ULP_VECTOR_INLINE floats mul(floats a, floats b) { return _mm256_mul_ps(a, b); }
ULP_VECTOR_INLINE floats converted(vector x) { return _mm256_cvtepi32_ps(x); }
ULP_VECTOR_INLINE vector truncated(floats x) { return _mm256_cvttps_epi32(x); }
// The sum of both products of a lane's signed halves.
ULP_VECTOR_INLINE vector product_of_pairs(vector a, vector b) { return _mm256_madd_epi16(a, b); }

ULP_VECTOR_INLINE mask equal(vector a, vector b) { return _mm256_cmpeq_epi32(a, b); }
ULP_VECTOR_INLINE mask equal(floats a, floats b) { return as_bits(_mm256_cmp_ps(a, b, _CMP_EQ_OQ)); }
// Signed.
ULP_VECTOR_INLINE mask above(vector a, vector b) { return _mm256_cmpgt_epi32(a, b); }
ULP_VECTOR_INLINE mask negated(mask m) { return _mm256_xor_si256(m, all_of(~0u)); }
ULP_VECTOR_INLINE bool any(mask m) { return _mm256_movemask_epi8(m) != 0; }
// b in lanes of the mask.
ULP_VECTOR_INLINE vector chosen(vector a, vector b, mask m) { return _mm256_blendv_epi8(a, b, m); }
// b where x is negative.
ULP_VECTOR_INLINE vector by_sign(vector a, vector b, vector x) {
  return as_bits(_mm256_blendv_ps(as_float(a), as_float(b), as_float(x)));
}
// a, with b's bits too in lanes outside the mask.
ULP_VECTOR_INLINE vector either_unless(mask m, vector a, vector b) { return either(a, without(b, m)); }
ULP_VECTOR_INLINE vector either_where(mask m, vector a, vector b) { return either(a, both(b, m)); }
// x, but the larger of a and b in lanes of the mask.
ULP_VECTOR_INLINE vector larger_where(mask m, vector x, vector a, vector b) { return chosen(x, larger(a, b), m); }
ULP_VECTOR_INLINE vector only_unless(mask m, vector x) { return without(x, m); }
ULP_VECTOR_INLINE vector one_more(vector n, mask m) { return _mm256_sub_epi32(n, m); }
ULP_VECTOR_INLINE vector one_less(vector n, mask m) { return _mm256_add_epi32(n, m); }

// Codes of lanes that make a vector of codes; of 8 bits from codes times 2^finer, below 2^15.
ULP_VECTOR_INLINE vector packed(const vector* from, shift_count, std::uint32_t*) { return from[0]; }
ULP_VECTOR_INLINE vector packed(const vector* from, shift_count, std::uint16_t*) {
  return _mm256_permute4x64_epi64(_mm256_packus_epi32(from[0], from[1]), 0xD8);
}
ULP_VECTOR_INLINE vector packed(const vector* from, shift_count finer, std::uint8_t*) {
  const vector all = _mm256_packus_epi16(_mm256_srl_epi16(_mm256_packus_epi32(from[0], from[1]), finer),
                                         _mm256_srl_epi16(_mm256_packus_epi32(from[2], from[3]), finer));
  return _mm256_permutevar8x32_epi32(all, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
}
// float16 as its instruction has it.
template <int Rounding>
ULP_VECTOR_INLINE vector halves(vector a, vector b) {
  const __m128i low = _mm256_cvtps_ph(as_float(a), Rounding);
  return _mm256_set_m128i(_mm256_cvtps_ph(as_float(b), Rounding), low);
}

// In lanes of 16 bits.
ULP_VECTOR_INLINE vector all_of16(std::uint32_t x) { return _mm256_set1_epi16(static_cast<std::int16_t>(x)); }
ULP_VECTOR_INLINE vector smaller16(vector a, vector b) { return _mm256_min_epu16(a, b); }
ULP_VECTOR_INLINE vector larger16(vector a, vector b) { return _mm256_max_epu16(a, b); }
ULP_VECTOR_INLINE vector by_sign16(vector a, vector b, vector x) {
  return _mm256_blendv_epi8(a, b, _mm256_srai_epi16(x, 15));
}
ULP_VECTOR_INLINE bool any_above16(vector a, vector b) { return _mm256_movemask_epi8(_mm256_cmpgt_epi16(a, b)) != 0; }
// One half of the lanes as upper halves of lanes of 32 bits, and two such vectors packed as they were, saturated.
ULP_VECTOR_INLINE vector widened(vector x, bool upper) {
  return upper ? _mm256_unpackhi_epi16(all_of(0), x) : _mm256_unpacklo_epi16(all_of(0), x);
}
ULP_VECTOR_INLINE vector narrowed(vector lower, vector upper) { return _mm256_packus_epi32(lower, upper); }
ULP_VECTOR_INLINE vector narrowed_signed(vector lower, vector upper) { return _mm256_packs_epi32(lower, upper); }

// From codes of 16 bits in memory, and to them.
ULP_VECTOR_INLINE __m128i load_codes(const void* from) { return _mm_loadu_si128(static_cast<const __m128i*>(from)); }
// Codes in memory, one to a lane.
ULP_VECTOR_INLINE vector lanes_of(const std::uint8_t* codes) {
  return _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(codes)));
}
ULP_VECTOR_INLINE vector lanes_of(const std::uint16_t* codes) { return _mm256_cvtepu16_epi32(load_codes(codes)); }
ULP_VECTOR_INLINE vector lanes_of(const std::uint32_t* codes) { return load(codes); }
ULP_VECTOR_INLINE floats of_float16s(const void* from) { return _mm256_cvtph_ps(load_codes(from)); }
ULP_VECTOR_INLINE floats of_upper_halves(const void* from) {
  return as_float(_mm256_slli_epi32(_mm256_cvtepu16_epi32(load_codes(from)), 16));
}
template <int Rounding>
ULP_VECTOR_INLINE void store_float16s(void* to, floats x) {
  _mm_storeu_si128(static_cast<__m128i*>(to), _mm256_cvtps_ph(x, Rounding));
}

// In lanes of 64 bits: sums, products of lower halves, and upper halves.
ULP_VECTOR_INLINE vector add64(vector a, vector b) { return _mm256_add_epi64(a, b); }
ULP_VECTOR_INLINE vector product(vector a, vector b) { return _mm256_mul_epu32(a, b); }
ULP_VECTOR_INLINE vector upper(vector x) { return _mm256_srli_epi64(x, 32); }
// What lower_halves puts in order: of numbers 0, 1, 2 ... those in its first operand, and those in its second.
ULP_VECTOR_INLINE vector of_first() { return _mm256_setr_epi64x(0, 1, 4, 5); }
ULP_VECTOR_INLINE vector of_second() { return _mm256_setr_epi64x(2, 3, 6, 7); }
ULP_VECTOR_INLINE vector lower_halves(vector a, vector b) {
  return as_bits(_mm256_shuffle_ps(as_float(a), as_float(b), 0x88));
}
// a ^ b ^ c, b ^ c first: a is what is waited for.
ULP_VECTOR_INLINE vector flipped_late(vector a, vector b, vector c) {
  vector early = flipped(b, c);
  asm("" : "+x"(early));
  return flipped(a, early);
}

}  // namespace ulp::detail::avx2

#endif
#endif
