// The scale of a block by the rule of its row.
#ifndef ULP_FORMATS_BLOCKS_BLOCK_SCALE_HPP
#define ULP_FORMATS_BLOCKS_BLOCK_SCALE_HPP

#include <cstdint>
#include <span>

#include <ulp/formats/block_formats.hpp>

namespace ulp::detail {

// What all blocks of a tensor share.
struct tensor_level {
  float amax = 0;    // of the tensor
  float encode = 1;  // te_nvfp4: the factor; nvfp4_two_level: the reciprocal of the scale
  float decode = 1;  // nvfp4_two_level: the scale
};
[[nodiscard]] bool has_tensor_level(const block_format& row) noexcept;
[[nodiscard]] tensor_level level_of(const block_format& row, float amax) noexcept;

// Of NaN where one element is, but for rules that say otherwise: they take the greatest number.
[[nodiscard]] bool skips_nan(amax_rule rule) noexcept;
// Of blocks of a tensor that follow each other: from the amax of each its code, or its number, and the factor of its elements
// before they are rounded. Spans of one size; of codes and numbers that which the row has none of is empty. Preconditions: the
// rule is not te_four_over_six; the processor's state is the default one.
void scales_of(const block_format& row, std::span<const float> amax, const tensor_level& tensor,
               std::span<std::uint8_t> codes, std::span<float> numbers, std::span<float> factors);
// Whether elements are divided by the factor.
[[nodiscard]] bool divides(amax_rule rule) noexcept;
// The number of a scale's code in E4M3.
[[nodiscard]] float e4m3_number(std::uint8_t code) noexcept;
// The factor where E4M3 stores this scale, of the rules te_nvfp4 and te_four_over_six.
[[nodiscard]] float te_nvfp4_factor(float scale, const tensor_level& tensor) noexcept;

// What numbers of elements are multiplied by, or divided by, of what was stored.
struct element_unit {
  float factor = 1;
  bool divides = false;
};
[[nodiscard]] element_unit unit_of(const block_format& row, std::uint8_t code, float number,
                                   const tensor_level& tensor) noexcept;

// floor and ceil of a log2 that was rounded to float32. Precondition: finite and above zero.
[[nodiscard]] int floor_of_log2f(float x) noexcept;
[[nodiscard]] int ceil_of_log2f(float x) noexcept;

}  // namespace ulp::detail

#endif
