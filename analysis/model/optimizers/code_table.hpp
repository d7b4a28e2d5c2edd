// A rule of code_rules.hpp as thresholds: the code of x is the number of them that are not above x. The upper 16 bits of x
// tell how many are below all numbers that begin so; what is left is, for the dynamic maps, one comparison.
#ifndef ULP_MODEL_OPTIMIZERS_CODE_TABLE_HPP
#define ULP_MODEL_OPTIMIZERS_CODE_TABLE_HPP

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "code_rules.hpp"

namespace ulp::optimizers {

class code_table {
 public:
  // Precondition: the rule rises with the number; codes are below `codes`, at most 256.
  code_table(const code_rule& rule, int codes);

  [[nodiscard]] std::uint8_t code_of(float x) const noexcept {
    const std::uint32_t at = place_of(x);
    std::uint32_t code = first_[at >> 16U];
    if (single_) {
      code += at >= thresholds_[code] ? 1U : 0U;
    } else {
      while (at >= thresholds_[code]) ++code;
    }
    return x != x ? nan_code_ : static_cast<std::uint8_t>(code);
  }
  // The same for many, on processors with AVX2 eight at a time. Precondition: spans of one size.
  void codes_of(std::span<const float> x, std::span<std::uint8_t> codes) const noexcept;

 private:
#ifdef __x86_64__
  // How many it did, a multiple of eight.
  std::size_t codes_of_avx2(std::span<const float> x, std::span<std::uint8_t> codes) const noexcept;
#endif
  // Rises with the number; of NaN it is beyond the infinities.
  static std::uint32_t place_of(float x) noexcept {
    const auto bits = std::bit_cast<std::uint32_t>(x);
    return bits ^ (static_cast<std::uint32_t>(static_cast<std::int32_t>(bits) >> 31) | 0x80000000U);
  }

  std::array<std::uint32_t, 257> thresholds_;  // the place of the first number of a code, from code 1 on
  std::array<std::uint8_t, 65536 + 3> first_;  // vectors read four bytes from each

  std::uint8_t nan_code_ = 0;
  bool single_ = true;  // no two thresholds are in one cell of first_
};

// out[i] = map[codes[i]] * scale. Precondition: the map has 256 entries.
void dequantize_codes(std::span<const std::uint8_t> codes, const float* map, float scale,
                      std::span<float> out) noexcept;

}  // namespace ulp::optimizers

#endif
