// Optimizer states in 8 and 4 bits: the maps of their codes, and the blockwise quantizers as each implementation has them.
//
// A block of consecutive elements shares one float32, its absmax; an element is map[code] * absmax, one float32 product.
// What differs between implementations is how an element is divided by the absmax, which entry is nearest, and what
// becomes of zero blocks, NaN and infinity: the rows of quantizer_catalog(). All arithmetic is IEEE float32 in the stated
// order, without contraction; results depend on the arguments alone, but for those of single blocks, which take the
// processor's rounding and flushing as it is.
// Source: bitsandbytes 95f9af30 (and 0.49.2 f0e6ca31), pytorch/ao 36027d82; the rules with their evidence: docs/optimizers.md.
#ifndef ULP_MODEL_OPTIMIZERS_QUANTIZED_STATE_HPP
#define ULP_MODEL_OPTIMIZERS_QUANTIZED_STATE_HPP

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
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

enum class block_quantizer : std::uint8_t {
  bnb_default,
  bnb_triton_pytorch_ref,
  bnb_triton_kernel,
  bnb_cpu_native,
  bnb_cpu_0492,
  bnb_cuda_text,
  ao,
  ao_fp8,
};

struct quantizer_entry {
  block_quantizer quantizer;
  std::string_view name;
  std::string_view summary;    // whose it is
  std::string_view normalize;  // how an element is divided
  std::string_view nearest;    // which entry is taken, and of two equally near ones
  std::string_view specials;   // zero blocks, NaN and infinity
  bool whole_blocks_only;      // the number of elements must be a multiple of the block
};

// In the order in which they are listed to people.
[[nodiscard]] std::span<const quantizer_entry> quantizer_catalog() noexcept;
// nullptr where there is none.
[[nodiscard]] const quantizer_entry* find_quantizer(std::string_view name) noexcept;

// One quantizer with one map. Copies share their tables.
class block_codec {
 public:
  // A map of 16 or 256 ascending numbers, of ao_fp8 none: its codes are those of float8_e4m3fn, its absmax is the scale.
  // bnb_cpu_0492 puts -1 into the first entry of the map, as the original does. Throws std::invalid_argument.
  block_codec(block_quantizer how, std::span<const float> map);

  [[nodiscard]] block_quantizer quantizer() const noexcept;
  // The number that each code stands for in a block of absmax 1: 16 or 256.
  [[nodiscard]] std::span<const float> map() const noexcept;

  // The code of an element that was divided already, NaN and infinities too.
  [[nodiscard]] std::uint8_t code_of(float normalized) const noexcept;
  // The same by the rule as it is stated, several times slower: what code_of is proved against.
  [[nodiscard]] std::uint8_t code_by_rule(float normalized) const;

  // code_of(x / divisor) of each. Precondition: spans of one size.
  void codes_of_quotients(std::span<const float> x, float divisor, std::span<std::uint8_t> codes) const;

  // x to one code an element and one absmax a block; nothing is allocated. The last block may be short, but where
  // quantizer_entry::whole_blocks_only. Throws std::invalid_argument where sizes do not fit.
  void quantize(std::span<const float> x, std::size_t block_size, std::span<std::uint8_t> codes,
                std::span<float> absmax) const;
  // One block, short where `is_short`; gives its absmax.
  [[nodiscard]] float quantize_block(std::span<const float> x, bool is_short, std::span<std::uint8_t> codes) const;

  // Codes beyond the map are read in its low bits.
  void dequantize(std::span<const std::uint8_t> codes, std::span<const float> absmax, std::size_t block_size,
                  std::span<float> x) const;

 private:
  struct tables;
  std::shared_ptr<const tables> tables_;
};

// Blocks of `size` elements, a short last one included. Precondition: block_size > 0.
[[nodiscard]] constexpr std::size_t block_count(std::size_t size, std::size_t block_size) noexcept {
  return size / block_size + (size % block_size != 0 ? 1 : 0);
}

// torchao's float32 to bfloat16, stochastically: away from zero where the random bits are below the low 16 of the number.
// The sum is one of integers, so the largest number becomes infinity and NaN what its bits give: 0x7FFFFFFF -0,
// 0x7F800001 infinity. Takes the bits of the number and gives the code.
[[nodiscard]] std::uint16_t ao_stochastic_bfloat16(std::uint32_t bits, std::uint16_t random) noexcept;

}  // namespace ulp

#endif
