// Powers of two that a log2 in float32 takes a number for: log2(2^k (1 + d)) is k + log2(1 + d), which rounds to k up to
// half a unit in the last place of k on that side. |log2(1 + d)| is |d| / ln 2 to a relative 2^-18, and no multiple of 2^-24 is
// so near.
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>

#include "block_scale.hpp"

namespace ulp::detail {
namespace {

// The distance from k to the middle between k and the next float32 number, which is nearer to zero or not. Infinite for 0,
// beside which numbers are as dense as can be: then nothing rounds to it.
double half_step(int k, bool toward_zero) {
  const auto magnitude = static_cast<unsigned>(std::abs(k));
  const int exponent = static_cast<int>(std::bit_width(toward_zero ? magnitude - 1 : magnitude)) - 1;
  return std::ldexp(1.0, (magnitude == 1 && toward_zero ? -1 : exponent) - 24);
}

bool counts_as_power(double relative_distance, int k, bool above) {
  if (k == 0) return false;
  return relative_distance <= half_step(k, above == (k < 0)) * 0.69314718055994531;
}

}  // namespace

int floor_of_log2f(float x) noexcept {
  // Powers up to 2^128 take no more than the 89 numbers below them.
  const auto bits = std::bit_cast<std::uint32_t>(x);
  if (bits >= 0x00800000 && (bits & 0x7FFFFF) < 0x7FFF00) return static_cast<int>(bits >> 23U) - 127;
  const int below = std::ilogb(x);
  const double next = std::ldexp(1.0, below + 1);
  return counts_as_power((next - static_cast<double>(x)) / next, below + 1, false) ? below + 1 : below;
}

int ceil_of_log2f(float x) noexcept {
  const int below = std::ilogb(x);
  const double power = std::ldexp(1.0, below);
  const double distance = (static_cast<double>(x) - power) / power;
  if (distance == 0 || counts_as_power(distance, below, true)) return below;
  return below + 1;
}

}  // namespace ulp::detail
