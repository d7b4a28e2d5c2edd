// A rule of code_rules.hpp as thresholds: the code of x is the number of them that are not above x. The upper 16 bits of x
// tell how many are not above all numbers that begin so; what is left is, for the dynamic maps, one comparison of the lower
// 16 bits.
#ifndef ULP_FORMATS_BLOCKS_CODE_TABLE_HPP
#define ULP_FORMATS_BLOCKS_CODE_TABLE_HPP

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "code_rules.hpp"

namespace ulp::detail {

class code_table {
 public:
  // Precondition: the rule rises with the number; codes are below `codes`, at most 256.
  code_table(const code_rule& rule, int codes);

  [[nodiscard]] std::uint8_t code_of(float x) const noexcept {
    const std::uint32_t at = place_of(x);
    std::uint32_t code = code_in(cells_.data(), at);
    if (!single_)
      while (at >= thresholds_[code]) ++code;
    return x != x ? nan_code_ : static_cast<std::uint8_t>(code);
  }
  // The same for many. Precondition: spans of one size.
  void codes_of(std::span<const float> x, std::span<std::uint8_t> codes) const noexcept;

  // Rises with the number; of NaN it is beyond the infinities.
  static std::uint32_t place_of(float x) noexcept {
    const auto bits = std::bit_cast<std::uint32_t>(x);
    return bits ^ (static_cast<std::uint32_t>(static_cast<std::int32_t>(bits) >> 31) | 0x80000000U);
  }
  // With the first threshold of the cell, or none, passed over.
  static std::uint32_t code_in(const std::uint32_t* cells, std::uint32_t place) noexcept {
    const std::uint32_t cell = cells[static_cast<std::int32_t>(place >> 16U)];
    return (cell & 255U) + ((place & 0xFFFFU) >= cell >> 8U ? 1U : 0U);
  }

 private:
  std::array<std::uint32_t, 257> thresholds_;  // the place of the first number of a code, from code 1 on
  // Of the numbers that begin alike the code of the first, and above it, in bits 8 to 24, the lower 16 bits of the first
  // threshold after it that begins so, or 2^16 where there is none.
  std::array<std::uint32_t, 65536> cells_;
  std::uint8_t nan_code_ = 0;
  bool single_ = true;  // no two thresholds are in one cell
};

// out[i] = map[codes[i]] * scale. Precondition: the map has 256 entries, spans of one size.
void dequantize_codes(std::span<const std::uint8_t> codes, const float* map, float scale,
                      std::span<float> out) noexcept;

}  // namespace ulp::detail

#endif
