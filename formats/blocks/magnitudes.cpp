// The absmax of a block, in integers so that the loops become vectors.
#include <algorithm>
#include <bit>
#include <cstdint>

#include <ulp/formats/blocks.hpp>

namespace ulp {

float greatest_magnitude(std::span<const float> x) noexcept {
  std::int32_t greatest = 0;
  for (const float f : x) greatest = std::max(greatest, std::bit_cast<std::int32_t>(f) & 0x7FFFFFFF);
  return std::bit_cast<float>(greatest);
}

float greatest_number(std::span<const float> x, float start) noexcept {
  std::int32_t greatest = -1;
  for (const float f : x) {
    const std::int32_t bits = std::bit_cast<std::int32_t>(f) & 0x7FFFFFFF;
    greatest = std::max(greatest, bits > 0x7F800000 ? -1 : bits);
  }
  return greatest < 0 ? start : std::max(std::bit_cast<float>(greatest), start);
}

}  // namespace ulp
