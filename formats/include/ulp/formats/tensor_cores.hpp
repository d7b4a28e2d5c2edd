// Matrix units of processors as parameters of dot.hpp: what was measured of them, one row for each format of operands.
//
//   const auto* const h100 = ulp::find_tensor_core("hopper", ulp::float16);
//   ulp::dot({ulp::float16, a}, {ulp::float16, b}, h100->how, ulp::float32, c);
//
// Vendors do not publish this arithmetic; a row is as good as its source. What all rows have in common:
//  - Products are exact. A unit adds a group of them and the accumulator at once: each term is cut (toward zero) at a
//    fixed number of bits below the largest exponent among them, the sum is exact, and it is cut to the accumulator's
//    format. AMD's CDNA 1 rounds the exact sum, CDNA 2 adds one by one.
//  - Groups go through a dot product one after the other, as one instruction does, and as a loop of instructions does that
//    passes the accumulator on. Kernels that split the dot product (split-K, several accumulators) are several of these.
//  - Results are float32, or float32 with fewer fraction bits; units that accumulate in float16 are not here.
//  - Not modelled: results beyond the largest finite number (here as rounding toward zero delivers them, the largest finite
//    number; units give infinity), the sign of zero, and the code of NaN (units give 0x7fffffff).
// Left out because no such parameters describe it: AMD's CDNA 3, which adds the accumulator after the products, rounded down.
#ifndef ULP_FORMATS_TENSOR_CORES_HPP
#define ULP_FORMATS_TENSOR_CORES_HPP

#include <span>
#include <string_view>

#include <ulp/formats/dot.hpp>
#include <ulp/formats/format.hpp>

namespace ulp {

struct tensor_core {
  std::string_view name;           // the architecture
  std::string_view operands_name;  // the format of both operands, its name in the catalogue
  format operands;
  accumulation how;
  std::string_view source;
  std::string_view note;  // empty where there is nothing to say
};

// All of them, those of one name together. Does not allocate or throw.
[[nodiscard]] std::span<const tensor_core> tensor_cores() noexcept;

// By the name of the architecture or of a processor that has it ("H100"), in upper or lower case; nullptr where there is none.
[[nodiscard]] const tensor_core* find_tensor_core(std::string_view name, const format& operands) noexcept;

}  // namespace ulp

#endif
