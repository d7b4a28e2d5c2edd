// log(x) and 2^y in float32 as numpy 1.24 computes them on a processor with AVX-512: the traces of scalers that were
// run on numpy follow its last bits, which the C library does not give. Both are exact to a few units in the last
// place; with fused multiply-add the same on every processor.
#ifndef ULP_MODEL_MACHINES_LOSS_SCALE_NUMPY_MATH_HPP
#define ULP_MODEL_MACHINES_LOSS_SCALE_NUMPY_MATH_HPP

#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>

namespace ulp::scalers {

// numpy/core/src/umath/loops_exponent_log.dispatch.c.src (simd_log_FLOAT), coefficients in npy_simd_data.h: a quotient
// of two polynomials in m - 1, sqrt(1/2) < m <= sqrt(2), plus exponent * log(2).
inline float numpy_log(float x) {
  if (std::isnan(x) || x < 0) return std::numeric_limits<float>::quiet_NaN();
  if (x == 0) return -std::numeric_limits<float>::infinity();
  if (std::isinf(x)) return x;
  constexpr std::array<float, 5> p{2.589979117907922693523e-02F, 3.808837741388407920751e-01F, 1.480000633576506585156F,
                                   2.112677543073053063722F, 1.0F};
  constexpr std::array<float, 6> q{5.875095403124574342950e-03F, 1.546476374983906719538e-01F,
                                   9.864942958519418960339e-01F, 2.453006071784736363091F,
                                   2.612677543073109236779F,     1.0F};
  int exponent = 0;
  float m = std::frexp(x, &exponent);
  if (m <= std::numbers::sqrt2_v<float> / 2) {
    m += m;
    --exponent;
  }
  m -= 1;
  float numerator = p[0];
  for (std::size_t i = 1; i < p.size(); ++i) numerator = std::fma(numerator, m, p[i]);
  numerator *= m;
  float denominator = q[0];
  for (std::size_t i = 1; i < q.size(); ++i) denominator = std::fma(denominator, m, q[i]);
  return std::fma(static_cast<float>(exponent), std::numbers::ln2_v<float>, numerator / denominator);
}

// numpy.power(2, y): powf of Intel's SVML as numpy carries it (numpy/SVML linux/avx512/svml_z0_pow_s_la.s). For base 2
// the logarithm is exact; what remains is 2^(j/16), rounded, times a polynomial of degree 3 in the rest.
inline float numpy_exp2(float y) {
  if (!(std::abs(y) < 124)) return static_cast<float>(std::exp2(static_cast<double>(y)));
  static const std::array<float, 16> table = [] {
    std::array<float, 16> powers{};
    for (std::size_t j = 0; j < 16; ++j) powers[j] = static_cast<float>(std::exp2(static_cast<double>(j) / 16));
    return powers;
  }();
  const float sixteenths = std::floor(y * 16);
  const double exact_rest = static_cast<double>(y) - static_cast<double>(sixteenths) / 16;
  auto rest = static_cast<float>(exact_rest);
  if (static_cast<double>(rest) > exact_rest) rest = std::nextafter(rest, 0.0F);
  const auto n = static_cast<int>(sixteenths);
  const float high = table[static_cast<std::size_t>(n & 15)];
  const float p = std::fma(std::fma(0x1.d0a996p-5F, rest, 0x1.ebe2d8p-3F), rest, 0x1.62e444p-1F);
  return std::ldexp(std::fma(p, high * rest, high), n >> 4);
}

}  // namespace ulp::scalers

#endif
