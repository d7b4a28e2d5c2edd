// How programs that publish models keep the scales of a tensor beside its codes.
#ifndef ULP_IO_DUMPS_SCALE_CONVENTIONS_HPP
#define ULP_IO_DUMPS_SCALE_CONVENTIONS_HPP

#include <cstdint>
#include <span>
#include <string_view>

namespace ulp::io {

// What a tensor of codes is.
enum class code_kind : std::uint8_t {
  float8,        // one of the 8-bit types
  float4_pairs,  // bytes of two float4_e2m1 codes, the first in the low half
};

// What a tensor of scales is; a convention takes several.
enum scale_kinds : unsigned {
  float_scales = 1,  // float32, bfloat16, float16
  e8m0_scales = 2,   // F8_E8M0
  byte_scales = 4,   // the same codes in U8: 2^(byte - 127)
  e4m3_scales = 8,   // F8_E4M3
};

// What has one scale.
enum class scale_extent : std::uint8_t {
  any,    // the tensor, each first index, blocks of 128 that may be cut off, or equal blocks
  of_16,  // as many elements of the last dimension
  of_32,
  of_bytes,  // the last dimension of the codes, which the numbers have not
};

// Of scales, by one of the tensor.
enum class second_level : std::uint8_t { none, multiplies, divides };

// Names: BASE + of_codes has the codes, BASE + of_scales their scales, BASE + of_second the tensor's; the numbers are
// BASE + of_numbers. Numbers are computed in float32: code times scale, the scale being first multiplied or divided by the
// tensor's.
struct scale_convention {
  std::string_view whose;
  code_kind codes;
  std::string_view of_codes;
  std::string_view of_numbers;
  std::string_view of_scales;
  unsigned scales;  // of scale_kinds
  scale_extent extent;
  second_level second = second_level::none;
  std::string_view of_second = "";
};

// Any two that fit the same names take other types.
[[nodiscard]] std::span<const scale_convention> scale_conventions() noexcept;

}  // namespace ulp::io

#endif
