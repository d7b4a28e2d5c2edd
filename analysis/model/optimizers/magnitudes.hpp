// The absmax of a block, in integers so that the loops become vectors.
#ifndef ULP_MODEL_OPTIMIZERS_MAGNITUDES_HPP
#define ULP_MODEL_OPTIMIZERS_MAGNITUDES_HPP

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>

namespace ulp::optimizers {

// As torch.max of torch.abs: NaN where there is one. 0 of nothing.
inline float greatest_magnitude(std::span<const float> x) noexcept {
  std::int32_t greatest = 0;
  for (const float f : x) greatest = std::max(greatest, std::bit_cast<std::int32_t>(f) & 0x7FFFFFFF);
  return std::bit_cast<float>(greatest);
}

// As fmaxf from `start` on: NaN does not count.
inline float greatest_number(std::span<const float> x, float start) noexcept {
  std::int32_t greatest = -1;
  for (const float f : x) {
    const std::int32_t bits = std::bit_cast<std::int32_t>(f) & 0x7FFFFFFF;
    greatest = std::max(greatest, bits > 0x7F800000 ? -1 : bits);
  }
  return greatest < 0 ? start : std::max(std::bit_cast<float>(greatest), start);
}

}  // namespace ulp::optimizers

#endif
