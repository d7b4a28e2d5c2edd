// Sixteen floats or eight doubles, by the names of avx2_lanes.hpp.
#ifndef ULP_FORMATS_BULK_AVX512_LANES_HPP
#define ULP_FORMATS_BULK_AVX512_LANES_HPP

#include "avx512.hpp"

#if defined(__x86_64__)

namespace ulp::detail::avx512 {

#define ULP_LANE_FUNCTION ULP_VECTOR_INLINE static

struct float_lanes {
  using number = float;
  using vector = __m512;
  using mask = __mmask16;
  static constexpr std::size_t size = 16;
  ULP_LANE_FUNCTION vector load(const float* from) { return _mm512_loadu_ps(from); }
  ULP_LANE_FUNCTION void store(float* to, vector x) { _mm512_storeu_ps(to, x); }
  ULP_LANE_FUNCTION vector zero() { return _mm512_setzero_ps(); }
  ULP_LANE_FUNCTION vector sign() { return as_float(all_of(0x80000000)); }
  ULP_LANE_FUNCTION vector last_bit() { return as_float(all_of(1)); }
  ULP_LANE_FUNCTION vector all_bits() { return as_float(all_of(~0u)); }
  ULP_LANE_FUNCTION vector both(vector x, vector y) { return _mm512_and_ps(x, y); }
  ULP_LANE_FUNCTION vector either(vector x, vector y) { return _mm512_or_ps(x, y); }
  ULP_LANE_FUNCTION vector without(vector x, vector bits) { return _mm512_andnot_ps(bits, x); }
  ULP_LANE_FUNCTION vector flipped(vector x, vector bits) { return _mm512_xor_ps(x, bits); }
  ULP_LANE_FUNCTION mask is_equal(vector x, vector y) { return _mm512_cmp_ps_mask(x, y, _CMP_EQ_OQ); }
  ULP_LANE_FUNCTION mask is_other(vector x, vector y) { return _mm512_cmp_ps_mask(x, y, _CMP_NEQ_UQ); }
  ULP_LANE_FUNCTION mask is_nan(vector x) { return _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q); }
  ULP_LANE_FUNCTION mask is_negative(vector x) { return _mm512_movepi32_mask(_mm512_castps_si512(x)); }
  ULP_LANE_FUNCTION bool any(mask m) { return m != 0; }
  ULP_LANE_FUNCTION vector either_where(mask m, vector x, vector bits) { return _mm512_mask_or_ps(x, m, x, bits); }
  ULP_LANE_FUNCTION vector without_where(mask m, vector x, vector bits) { return _mm512_mask_andnot_ps(x, m, bits, x); }
  ULP_LANE_FUNCTION vector before_where(mask m, mask n, vector x) {
    const auto all = _mm512_castps_si512(x);
    return _mm512_castsi512_ps(_mm512_mask_sub_epi32(all, m & n, all, all_of(1)));
  }
  ULP_LANE_FUNCTION vector add(vector x, vector y) { return _mm512_add_ps(x, y); }
  ULP_LANE_FUNCTION vector sub(vector x, vector y) { return _mm512_sub_ps(x, y); }
  ULP_LANE_FUNCTION vector mul(vector x, vector y) { return _mm512_mul_ps(x, y); }
  ULP_LANE_FUNCTION vector div(vector x, vector y) { return _mm512_div_ps(x, y); }
  ULP_LANE_FUNCTION vector sqrt(vector x) { return _mm512_sqrt_ps(x); }
  // x y + z, x y - z and z - x y.
  ULP_LANE_FUNCTION vector fma(vector x, vector y, vector z) { return _mm512_fmadd_ps(x, y, z); }
  ULP_LANE_FUNCTION vector fms(vector x, vector y, vector z) { return _mm512_fmsub_ps(x, y, z); }
  ULP_LANE_FUNCTION vector fnma(vector x, vector y, vector z) { return _mm512_fnmadd_ps(x, y, z); }
};

struct double_lanes {
  using number = double;
  using vector = __m512d;
  using mask = __mmask8;
  static constexpr std::size_t size = 8;
  ULP_LANE_FUNCTION vector load(const double* from) { return _mm512_loadu_pd(from); }
  ULP_LANE_FUNCTION void store(double* to, vector x) { _mm512_storeu_pd(to, x); }
  ULP_LANE_FUNCTION vector zero() { return _mm512_setzero_pd(); }
  ULP_LANE_FUNCTION vector sign() { return _mm512_set1_pd(-0.0); }
  ULP_LANE_FUNCTION vector last_bit() { return _mm512_castsi512_pd(all_of64(1)); }
  ULP_LANE_FUNCTION vector all_bits() { return _mm512_castsi512_pd(all_of(~0u)); }
  ULP_LANE_FUNCTION vector both(vector x, vector y) { return _mm512_and_pd(x, y); }
  ULP_LANE_FUNCTION vector either(vector x, vector y) { return _mm512_or_pd(x, y); }
  ULP_LANE_FUNCTION vector without(vector x, vector bits) { return _mm512_andnot_pd(bits, x); }
  ULP_LANE_FUNCTION vector flipped(vector x, vector bits) { return _mm512_xor_pd(x, bits); }
  ULP_LANE_FUNCTION mask is_equal(vector x, vector y) { return _mm512_cmp_pd_mask(x, y, _CMP_EQ_OQ); }
  ULP_LANE_FUNCTION mask is_other(vector x, vector y) { return _mm512_cmp_pd_mask(x, y, _CMP_NEQ_UQ); }
  ULP_LANE_FUNCTION mask is_nan(vector x) { return _mm512_cmp_pd_mask(x, x, _CMP_UNORD_Q); }
  ULP_LANE_FUNCTION mask is_negative(vector x) { return _mm512_movepi64_mask(_mm512_castpd_si512(x)); }
  ULP_LANE_FUNCTION bool any(mask m) { return m != 0; }
  ULP_LANE_FUNCTION vector either_where(mask m, vector x, vector bits) { return _mm512_mask_or_pd(x, m, x, bits); }
  ULP_LANE_FUNCTION vector without_where(mask m, vector x, vector bits) { return _mm512_mask_andnot_pd(x, m, bits, x); }
  ULP_LANE_FUNCTION vector before_where(mask m, mask n, vector x) {
    const auto all = _mm512_castpd_si512(x);
    return _mm512_castsi512_pd(_mm512_mask_sub_epi64(all, m & n, all, all_of64(1)));
  }
  ULP_LANE_FUNCTION vector add(vector x, vector y) { return _mm512_add_pd(x, y); }
  ULP_LANE_FUNCTION vector sub(vector x, vector y) { return _mm512_sub_pd(x, y); }
  ULP_LANE_FUNCTION vector mul(vector x, vector y) { return _mm512_mul_pd(x, y); }
  ULP_LANE_FUNCTION vector div(vector x, vector y) { return _mm512_div_pd(x, y); }
  ULP_LANE_FUNCTION vector sqrt(vector x) { return _mm512_sqrt_pd(x); }
  ULP_LANE_FUNCTION vector fma(vector x, vector y, vector z) { return _mm512_fmadd_pd(x, y, z); }
  ULP_LANE_FUNCTION vector fms(vector x, vector y, vector z) { return _mm512_fmsub_pd(x, y, z); }
  ULP_LANE_FUNCTION vector fnma(vector x, vector y, vector z) { return _mm512_fnmadd_pd(x, y, z); }
};

#undef ULP_LANE_FUNCTION

}  // namespace ulp::detail::avx512

#endif
#endif
