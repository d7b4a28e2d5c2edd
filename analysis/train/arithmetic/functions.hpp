// exp, log and tanh from additions, multiplications and divisions of doubles alone: those of C libraries differ in their
// last bits from one machine to the next. Within a few units in the last place.
#ifndef ULP_TRAIN_FUNCTIONS_HPP
#define ULP_TRAIN_FUNCTIONS_HPP

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace ulp::train {

// 0 below -708, where results become subnormal; NaN of NaN.
[[nodiscard]] inline double exponential(double x) {
  if (x != x) return x;
  if (x > 709) return std::numeric_limits<double>::infinity();
  if (x < -708) return 0;
  // x = n ln 2 + r with |r| <= (ln 2) / 2; ln 2 in two parts, so that n times the first is exact.
  constexpr double ln2_high = 0x1.62e42fefa38p-1;
  constexpr double ln2_low = 0x1.ef35793c7673p-45;
  const auto n = static_cast<std::int64_t>(x * 0x1.71547652b82fep0 + (x < 0 ? -0.5 : 0.5));
  const double r = (x - static_cast<double>(n) * ln2_high) - static_cast<double>(n) * ln2_low;
  double sum = 1;  // Taylor's series up to r^13, from its end
  for (int i = 13; i > 0; --i) sum = 1 + r / i * sum;
  return sum * std::bit_cast<double>(static_cast<std::uint64_t>(n + 1023) << 52);
}

// Of x > 0 and normal.
[[nodiscard]] inline double logarithm(double x) {
  int exponent = 0;
  double m = std::frexp(x, &exponent);  // exact
  if (m < 0x1.6a09e667f3bcdp-1) {
    m *= 2;
    --exponent;
  }
  const double s = (m - 1) / (m + 1);  // log m = 2 artanh s, |s| < 0.172
  double sum = 0;
  for (int i = 23; i > 0; i -= 2) sum = sum * (s * s) + 1.0 / i;
  return exponent * 0x1.62e42fefa39efp-1 + 2 * s * sum;
}

// Absolute error of a few units of 2^-53.
[[nodiscard]] inline double hyperbolic_tangent(double x) {
  const double t = exponential(-2 * std::fabs(x));
  return std::copysign((1 - t) / (1 + t), x);
}

}  // namespace ulp::train

#endif
