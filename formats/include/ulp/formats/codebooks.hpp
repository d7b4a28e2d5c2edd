// Codebooks: the numbers that codes of 8 and 4 bits stand for, where these are no format's.
// Source: bitsandbytes 95f9af30 functional.py, pytorch/ao 36027d82 quant_utils.py; the evidence: docs/optimizers.md.
#ifndef ULP_FORMATS_CODEBOOKS_HPP
#define ULP_FORMATS_CODEBOOKS_HPP

#include <cstdint>
#include <string_view>
#include <vector>

namespace ulp {

// How the entries of a map are computed. torch.linspace depends on the build: of the 256 entries of the dynamic map 42
// (signed) and 31 (unsigned) differ between the first two, by at most one unit in the last place.
enum class map_arithmetic : std::uint8_t {
  torch26_nofma,     // PyTorch 2.6, ATEN_CPU_CAPABILITY=default: every operation rounded
  torch26_fma,       // with AVX2 or AVX-512: the boundaries of linspace are fused multiply-adds
  correctly_rounded  // the real number, rounded once; dynamic_map with 7 exponent bits of 8 only
};
[[nodiscard]] std::string_view to_string(map_arithmetic how) noexcept;

// bitsandbytes' create_dynamic_map, which torchao has too: 2^total_bits entries, ascending, among them 0 and 1. In decade i
// the entries are 10^(i + 1 - max_exponent_bits) times the middles of equal parts of [0.1, 1], whose number doubles from
// decade to decade. Throws std::invalid_argument for a number of bits that gives no such map (an unsigned map has
// total_bits - 1 exponent bits), and where the arithmetic is not defined for it.
[[nodiscard]] std::vector<float> dynamic_map(bool is_signed, map_arithmetic how = map_arithmetic::torch26_nofma,
                                             int max_exponent_bits = 7, int total_bits = 8);
// bitsandbytes' create_linear_map in 8 bits: 256 equal steps from 0 to 1, or 255 from -1 to 1 with zero twice.
[[nodiscard]] std::vector<float> linear_map(bool is_signed, map_arithmetic how = map_arithmetic::torch26_nofma);
// torchao's maps of 16 entries: dynamic with 3 exponent bits, or 1/16 .. 1, which has no zero.
[[nodiscard]] std::vector<float> map_4bit(bool is_signed, map_arithmetic how = map_arithmetic::torch26_nofma);

}  // namespace ulp

#endif
