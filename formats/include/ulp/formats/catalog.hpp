// The named formats, one constexpr row each with its source. Formats by name, others too: names.hpp.
#ifndef ULP_FORMATS_CATALOG_HPP
#define ULP_FORMATS_CATALOG_HPP

#include <span>
#include <string_view>

#include <ulp/formats/codec.hpp>
#include <ulp/formats/format.hpp>

namespace ulp {

// IEEE 754-2019, 3.6, table 3.5: binary16.
inline constexpr format float16{.exponent_bits = 5, .fraction_bits = 10, .bias = 15};

// binary32 and binary64 (codec.hpp) under their catalogue names.
inline constexpr format float32 = binary32;
inline constexpr format float64 = binary64;

// The upper half of binary32 (Intel, BFLOAT16 Hardware Numerics Definition, 338302-001).
inline constexpr format bfloat16{.exponent_bits = 8, .fraction_bits = 7, .bias = 127};

// Cerebras CB16. ASSUMPTION: IEEE-style, bias 31, top exponent reserved for infinity and NaN, gradual underflow.
// Stated by Cerebras: 6 exponent and 9 explicit fraction bits, "denormals are far less frequent" (so there are some):
//   https://docs.cerebras.net/en/1.6.1/general/cs-1-data-formats.html
// Not stated: bias and special codes. Evidence: the loss scaler's default and largest scale is 2^15 = 2^emax for float16
// and 2^31 for cbfloat16 (cerebras_pytorch 2.10.0, cerebras/pytorch/amp/grad_scaler.py), hence emax 31: bias 31 with the
// top exponent reserved. The scaler looks for infinity and NaN in cbfloat16 gradients, hence overflow does not saturate.
// Every value is representable in float32 ("without loss of precision or range", amp/_amp_state.py).
// Exponent bias may be programmable in hardware (patent US 11,062,202); no document gives another value.
// What follows from this assumption: docs/numerics.md.
inline constexpr format cbfloat16{.exponent_bits = 6, .fraction_bits = 9, .bias = 31};

// NVIDIA TF32 as a format of its own, in 19 bits: the exponent of binary32, the fraction of binary16
// (NVIDIA A100 Tensor Core GPU Architecture whitepaper, V1.0).
inline constexpr format tf32{.exponent_bits = 8, .fraction_bits = 10, .bias = 127};

// OCP 8-bit Floating Point Specification (OFP8) 1.0, 5.1: no infinity, one NaN code of each sign, largest value 448.
inline constexpr format float8_e4m3fn{.exponent_bits = 4, .fraction_bits = 3, .bias = 7, .top = specials::nan_all_ones};

// OFP8 1.0, 5.2: IEEE-style.
inline constexpr format float8_e5m2{.exponent_bits = 5, .fraction_bits = 2, .bias = 15};

// AMD, Graphcore and Qualcomm's 8-bit formats (Noune, Jones, Justus, Masters, Luschi, arXiv 2206.02915): one zero, one
// NaN, and so the bias is larger by one than IEEE's.
inline constexpr format float8_e4m3fnuz{
    .exponent_bits = 4, .fraction_bits = 3, .bias = 8, .top = specials::nan_negative_zero};
inline constexpr format float8_e5m2fnuz{
    .exponent_bits = 5, .fraction_bits = 2, .bias = 16, .top = specials::nan_negative_zero};

// OCP Microscaling Formats (MX) 1.0, 5.3.2, 5.3.3: every code is a number.
inline constexpr format float6_e3m2{.exponent_bits = 3, .fraction_bits = 2, .bias = 3, .top = specials::none};
inline constexpr format float6_e2m3{.exponent_bits = 2, .fraction_bits = 3, .bias = 1, .top = specials::none};
inline constexpr format float4_e2m1{.exponent_bits = 2, .fraction_bits = 1, .bias = 1, .top = specials::none};

// OCP Microscaling Formats (MX) 1.0, 5.4.1: the scale of a block, 2^-127..2^127 and NaN; no sign, no zero. For
// conversion only.
inline constexpr format float8_e8m0{.exponent_bits = 8,
                                    .fraction_bits = 0,
                                    .bias = 127,
                                    .top = specials::nan_all_ones,
                                    .bottom = lowest_binade::normals_without_zero,
                                    .has_sign = false};

// IBM's DLFloat (Agrawal et al., "DLFloat: a 16-b floating point format designed for deep learning training and
// inference", ARITH 2019; patent US 2019/0369960): no subnormals, the lowest binade holds zero and normal numbers, the
// all-ones code is the one special for NaN and infinity. Bias 31, and what is rounded where, as in onnx-mlir
// src/Accelerators/NNPA/Support/Stickify/DLF16Conversion.hpp.
inline constexpr format dlfloat16{.exponent_bits = 6,
                                  .fraction_bits = 9,
                                  .bias = 31,
                                  .top = specials::nan_all_ones,
                                  .bottom = lowest_binade::normals_and_zero};

// IEEE P3109 interim report 4.0: signed formats of K = 8 bits and precision P with infinities, the bias 2^(K - P - 1), and
// NaN in place of -0. Without infinities binary8p3sf and binary8p4sf are float8_e5m2fnuz and float8_e4m3fnuz.
[[nodiscard]] constexpr format p3109_extended(int bits, int precision) noexcept {
  return {.exponent_bits = bits - precision,
          .fraction_bits = precision - 1,
          .bias = 1 << (bits - precision - 1),
          .top = specials::nan_negative_zero_and_infinity};
}
inline constexpr format binary8p3se = p3109_extended(8, 3);
inline constexpr format binary8p4se = p3109_extended(8, 4);
inline constexpr format binary8p5se = p3109_extended(8, 5);

// The rounding that a format's own definition prescribes where nothing else is said: nearest-away ("nearest up") for
// DLFloat16, nearest-even for all others.
[[nodiscard]] constexpr direction default_direction(const format& f) noexcept {
  format whole = f;
  whole.withheld = 0;
  return whole == dlfloat16 ? direction::nearest_away : direction::nearest_even;
}

struct catalog_entry {
  std::string_view name;
  std::span<const std::string_view> aliases;
  ulp::format format;
  std::string_view source;  // the document that defines it
  std::string_view note;    // what a reader must know, empty where nothing
};

// The named formats, in the order in which they are listed to people.
[[nodiscard]] std::span<const catalog_entry> format_catalog() noexcept;

// The catalogue's row of a name or alias, in upper or lower case (names.hpp), nullptr where there is none.
[[nodiscard]] const catalog_entry* find_entry(std::string_view name);

}  // namespace ulp

#endif
