// Eight floats or four doubles under one set of names.
#ifndef ULP_FORMATS_BULK_AVX2_LANES_HPP
#define ULP_FORMATS_BULK_AVX2_LANES_HPP

#include "avx2.hpp"

#if defined(__x86_64__)

namespace ulp::detail::avx2 {

#define ULP_LANE_FUNCTION ULP_VECTOR_INLINE static

struct float_lanes {
  using number = float;
  using vector = __m256;
  using mask = __m256;  // all bits of a lane, or none
  static constexpr std::size_t size = 8;
  ULP_LANE_FUNCTION vector load(const float* from) { return _mm256_loadu_ps(from); }
  ULP_LANE_FUNCTION void store(float* to, vector x) { _mm256_storeu_ps(to, x); }
  ULP_LANE_FUNCTION vector zero() { return _mm256_setzero_ps(); }
  ULP_LANE_FUNCTION vector sign() { return as_float(all_of(0x80000000)); }
  ULP_LANE_FUNCTION vector last_bit() { return as_float(all_of(1)); }
  ULP_LANE_FUNCTION vector all_bits() { return as_float(all_of(~0u)); }
  ULP_LANE_FUNCTION vector both(vector x, vector y) { return _mm256_and_ps(x, y); }
  ULP_LANE_FUNCTION vector either(vector x, vector y) { return _mm256_or_ps(x, y); }
  ULP_LANE_FUNCTION vector without(vector x, vector bits) { return _mm256_andnot_ps(bits, x); }
  ULP_LANE_FUNCTION vector flipped(vector x, vector bits) { return _mm256_xor_ps(x, bits); }
  ULP_LANE_FUNCTION mask is_equal(vector x, vector y) { return _mm256_cmp_ps(x, y, _CMP_EQ_OQ); }
  ULP_LANE_FUNCTION mask is_other(vector x, vector y) { return _mm256_cmp_ps(x, y, _CMP_NEQ_UQ); }
  ULP_LANE_FUNCTION mask is_nan(vector x) { return _mm256_cmp_ps(x, x, _CMP_UNORD_Q); }
  ULP_LANE_FUNCTION mask is_negative(vector x) { return as_float(_mm256_srai_epi32(as_bits(x), 31)); }
  ULP_LANE_FUNCTION bool any(mask m) { return _mm256_movemask_ps(m) != 0; }
  // x, with these bits too in lanes of the mask.
  ULP_LANE_FUNCTION vector either_where(mask m, vector x, vector bits) { return either(x, both(m, bits)); }
  ULP_LANE_FUNCTION vector without_where(mask m, vector x, vector bits) { return without(x, both(m, bits)); }
  // The number before x in the order of bits, in lanes of both masks.
  ULP_LANE_FUNCTION vector before_where(mask m, mask n, vector x) {
    return _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(x), _mm256_castps_si256(both(m, n))));
  }
  ULP_LANE_FUNCTION vector add(vector x, vector y) { return _mm256_add_ps(x, y); }
  ULP_LANE_FUNCTION vector sub(vector x, vector y) { return _mm256_sub_ps(x, y); }
  ULP_LANE_FUNCTION vector mul(vector x, vector y) { return _mm256_mul_ps(x, y); }
  ULP_LANE_FUNCTION vector div(vector x, vector y) { return _mm256_div_ps(x, y); }
  ULP_LANE_FUNCTION vector sqrt(vector x) { return _mm256_sqrt_ps(x); }
  // x y + z, x y - z and z - x y.
  ULP_LANE_FUNCTION vector fma(vector x, vector y, vector z) { return _mm256_fmadd_ps(x, y, z); }
  ULP_LANE_FUNCTION vector fms(vector x, vector y, vector z) { return _mm256_fmsub_ps(x, y, z); }
  ULP_LANE_FUNCTION vector fnma(vector x, vector y, vector z) { return _mm256_fnmadd_ps(x, y, z); }
};

struct double_lanes {
  using number = double;
  using vector = __m256d;
  using mask = __m256d;
  static constexpr std::size_t size = 4;
  ULP_LANE_FUNCTION vector load(const double* from) { return _mm256_loadu_pd(from); }
  ULP_LANE_FUNCTION void store(double* to, vector x) { _mm256_storeu_pd(to, x); }
  ULP_LANE_FUNCTION vector zero() { return _mm256_setzero_pd(); }
  ULP_LANE_FUNCTION vector sign() { return _mm256_set1_pd(-0.0); }
  ULP_LANE_FUNCTION vector last_bit() { return _mm256_castsi256_pd(all_of64(1)); }
  ULP_LANE_FUNCTION vector all_bits() { return _mm256_castsi256_pd(all_of(~0u)); }
  ULP_LANE_FUNCTION vector both(vector x, vector y) { return _mm256_and_pd(x, y); }
  ULP_LANE_FUNCTION vector either(vector x, vector y) { return _mm256_or_pd(x, y); }
  ULP_LANE_FUNCTION vector without(vector x, vector bits) { return _mm256_andnot_pd(bits, x); }
  ULP_LANE_FUNCTION vector flipped(vector x, vector bits) { return _mm256_xor_pd(x, bits); }
  ULP_LANE_FUNCTION mask is_equal(vector x, vector y) { return _mm256_cmp_pd(x, y, _CMP_EQ_OQ); }
  ULP_LANE_FUNCTION mask is_other(vector x, vector y) { return _mm256_cmp_pd(x, y, _CMP_NEQ_UQ); }
  ULP_LANE_FUNCTION mask is_nan(vector x) { return _mm256_cmp_pd(x, x, _CMP_UNORD_Q); }
  ULP_LANE_FUNCTION mask is_negative(vector x) {
    return _mm256_castsi256_pd(_mm256_cmpgt_epi64(_mm256_setzero_si256(), _mm256_castpd_si256(x)));
  }
  ULP_LANE_FUNCTION bool any(mask m) { return _mm256_movemask_pd(m) != 0; }
  ULP_LANE_FUNCTION vector either_where(mask m, vector x, vector bits) { return either(x, both(m, bits)); }
  ULP_LANE_FUNCTION vector without_where(mask m, vector x, vector bits) { return without(x, both(m, bits)); }
  ULP_LANE_FUNCTION vector before_where(mask m, mask n, vector x) {
    return _mm256_castsi256_pd(_mm256_add_epi64(_mm256_castpd_si256(x), _mm256_castpd_si256(both(m, n))));
  }
  ULP_LANE_FUNCTION vector add(vector x, vector y) { return _mm256_add_pd(x, y); }
  ULP_LANE_FUNCTION vector sub(vector x, vector y) { return _mm256_sub_pd(x, y); }
  ULP_LANE_FUNCTION vector mul(vector x, vector y) { return _mm256_mul_pd(x, y); }
  ULP_LANE_FUNCTION vector div(vector x, vector y) { return _mm256_div_pd(x, y); }
  ULP_LANE_FUNCTION vector sqrt(vector x) { return _mm256_sqrt_pd(x); }
  ULP_LANE_FUNCTION vector fma(vector x, vector y, vector z) { return _mm256_fmadd_pd(x, y, z); }
  ULP_LANE_FUNCTION vector fms(vector x, vector y, vector z) { return _mm256_fmsub_pd(x, y, z); }
  ULP_LANE_FUNCTION vector fnma(vector x, vector y, vector z) { return _mm256_fnmadd_pd(x, y, z); }
};

#undef ULP_LANE_FUNCTION

}  // namespace ulp::detail::avx2

#endif
#endif
