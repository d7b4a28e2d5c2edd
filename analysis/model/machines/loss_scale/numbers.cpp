#include "numbers.hpp"

#include <bit>
#include <cmath>
#include <cstddef>
#include <vector>

namespace ulp::scalers {
namespace {

__extension__ using wide = unsigned __int128;

bool is_whole(double x) { return std::isfinite(x) && x == std::floor(x); }

// A whole double as significand * 2^exponent, the significand odd or zero.
struct split {
  std::uint64_t significand;
  std::int64_t exponent;
};
split split_of(double x) {
  int exponent = 0;
  auto significand = static_cast<std::uint64_t>(std::ldexp(std::frexp(x, &exponent), 53));
  if (significand == 0) return {0, 0};
  const int zeros = std::countr_zero(significand);
  return {significand >> zeros, exponent - 53 + zeros};
}

// base * factor^power, both positive and whole, rounded to nearest even.
double nearest_product(double base, double factor, std::int64_t power) {
  const split b = split_of(base);
  const split f = split_of(factor);
  std::vector<std::uint64_t> limbs{b.significand};  // least first
  for (std::int64_t i = 0; i < power; ++i) {
    std::uint64_t carry = 0;
    for (std::uint64_t& limb : limbs) {
      const wide product = wide{limb} * f.significand + carry;
      limb = static_cast<std::uint64_t>(product);
      carry = static_cast<std::uint64_t>(product >> 64U);
    }
    if (carry != 0) limbs.push_back(carry);
  }
  // The top 64 bits; the rest only decides ties, and bit 0 of 64 is far below the 53 that stay.
  const std::size_t top = limbs.size() - 1;
  const int zeros = std::countl_zero(limbs[top]);
  std::uint64_t head = limbs[top] << zeros;
  bool rest = false;
  if (top > 0) {
    const std::uint64_t below = limbs[top - 1];
    if (zeros > 0) head |= below >> (64 - zeros);
    rest = (below << zeros) != 0;
  }
  for (std::size_t i = 0; i + 1 < top; ++i) rest = rest || limbs[i] != 0;
  if (rest) head |= 1U;
  const std::int64_t exponent = b.exponent + f.exponent * power + static_cast<std::int64_t>(top) * 64 - zeros;
  return std::ldexp(static_cast<double>(head), static_cast<int>(exponent));
}

}  // namespace

python_number python_number::real(double x) noexcept {
  python_number number;
  number.nearest_ = x;
  number.power_ = not_whole;
  return number;
}

python_number python_number::times(double k) const {
  if (power_ == not_whole || !is_whole(k)) return real(nearest_ * k);
  if (const double product = nearest_ * k; power_ == 0 && std::fma(nearest_, k, -product) == 0)
    return python_number{product};
  python_number number = *this;
  ++number.power_;
  number.nearest_ = std::copysign(nearest_product(std::abs(base_), k, number.power_), base_);
  return number;
}

}  // namespace ulp::scalers
