// Matrix units of processors as parameters of dot.hpp: what was measured of them, one row for each format of operands, of
// the accumulator and of scales.
//
//   const auto* const h100 = ulp::find_tensor_core("hopper", ulp::float16);
//   ulp::dot({ulp::float16, a}, {ulp::float16, b}, h100->how, ulp::float32, c);
//
// Vendors do not publish this arithmetic; a row is as good as its source. What all rows have in common:
//  - Products are exact. NVIDIA's units add a group of them and the accumulator at once: each term is cut (toward zero) at a
//    fixed number of bits below the largest exponent among them, the sum is exact, and it is cut to float32, or rounded to
//    nearest even to float16. AMD's CDNA 1 rounds the exact sum, CDNA 2 adds one by one, CDNA 3 aligns the products alone and
//    joins the accumulator afterwards, cut toward minus infinity.
//  - Groups go through a dot product one after the other, as one instruction does, and as a loop of instructions does that
//    passes the accumulator on. Kernels that split the dot product (split-K, several accumulators) are several of these.
//    Kernels that add what a few instructions gave to a float32 of their own (DeepGEMM) are in_two_levels.
//  - Results are float32, float32 with fewer fraction bits, or float16. c is a number of that format.
//  - NVIDIA's give infinity beyond the largest finite number and all ones (0x7fffffff, 0x7fff) for NaN. The code of AMD's
//    NaN is not published.
//  - Not measured: the sign of a zero.
#ifndef ULP_FORMATS_TENSOR_CORES_HPP
#define ULP_FORMATS_TENSOR_CORES_HPP

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include <ulp/formats/dot.hpp>
#include <ulp/formats/format.hpp>

namespace ulp {

// Scales of blocks: each is for so many operands in a row.
struct scale_blocks {
  std::string_view name;  // the format's, in the catalogue; UE4M3 is float8_e4m3fn, whose sign is not looked at
  ulp::format format;
  std::uint32_t size = 0;

  friend constexpr bool operator==(const scale_blocks&, const scale_blocks&) = default;
};

struct tensor_core {
  std::string_view name;           // the architecture
  std::string_view operands_name;  // the format of both operands, its name in the catalogue
  format operands;
  accumulation how;
  std::string_view source;
  std::string_view note;               // empty where there is nothing to say
  std::optional<scale_blocks> scales;  // how is of a dot with block_scales
};

// All of them, those of one name together. Does not allocate or throw.
[[nodiscard]] std::span<const tensor_core> tensor_cores() noexcept;

// By the name of the architecture or of a processor that has it ("H100"), in upper or lower case; nullptr where there is none.
// Without an accumulator the widest that there is for these operands: float32, or what a unit has in its place with fewer
// fraction bits, which is found as float32, too.
[[nodiscard]] const tensor_core* find_tensor_core(std::string_view name, const format& operands) noexcept;
[[nodiscard]] const tensor_core* find_tensor_core(std::string_view name, const format& operands,
                                                  const format& accumulator) noexcept;
// With scales of that format for so many operands.
[[nodiscard]] const tensor_core* find_scaled_tensor_core(std::string_view name, const format& operands,
                                                         const format& scale, std::uint32_t block) noexcept;

// Sums of so many groups of products, from +0, are added up in float32, rounded to nearest even; 0: the sum of all of them
// is added to c. On a Hopper 4 groups of FP8 products are 128, what DeepSeek-V3 and DeepGEMM take.
[[nodiscard]] accumulation in_two_levels(const tensor_core& unit, std::uint32_t groups) noexcept;

}  // namespace ulp

#endif
