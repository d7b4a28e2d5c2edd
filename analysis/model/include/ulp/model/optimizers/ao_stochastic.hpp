// torchao's stochastic rounding of weights.
// Source: pytorch/ao 36027d82 quant_utils.py.
#ifndef ULP_MODEL_OPTIMIZERS_AO_STOCHASTIC_HPP
#define ULP_MODEL_OPTIMIZERS_AO_STOCHASTIC_HPP

#include <cstdint>

namespace ulp {

// torchao's float32 to bfloat16, stochastically: away from zero where the random bits are below the low 16 of the number.
// The sum is one of integers, so the largest number becomes infinity and NaN what its bits give: 0x7FFFFFFF -0,
// 0x7F800001 infinity. Takes the bits of the number and gives the code.
[[nodiscard]] constexpr std::uint16_t ao_stochastic_bfloat16(std::uint32_t bits, std::uint16_t random) noexcept {
  const std::uint32_t toward_zero = bits & 0xFFFF0000U;
  const std::uint32_t rounded = random < (bits & 0xFFFFU) ? toward_zero + 0x10000U : toward_zero;
  return static_cast<std::uint16_t>((rounded & 0x7FFFFFFFU) > 0x7F800000U ? 0x7FC0U : rounded >> 16U);
}

}  // namespace ulp

#endif
