// Blocks of numbers that share a scale, and what an implementation makes of them: one row each, a dialect is a row of its
// own. An element is the number of its code times the scale of its block, one float32 product.
//
// Rows differ in what the elements are, in how the scale follows from the greatest magnitude of the block, its absmax, in
// how an element is divided, which number is nearest, and what becomes of zero blocks, NaN and infinity. All arithmetic is
// IEEE float32 in the stated order, without contraction; results depend on the arguments alone, but for those of single
// blocks, which take the processor's rounding and flushing as it is.
// The rules with their evidence: docs/optimizers.md.
#ifndef ULP_FORMATS_BLOCKS_HPP
#define ULP_FORMATS_BLOCKS_HPP

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include <ulp/formats/catalog.hpp>
#include <ulp/formats/format.hpp>

namespace ulp {

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

// Which entry of a codebook is nearest, in the implementations' own steps (blocks/code_rules.cpp).
enum class code_search : std::uint8_t {
  midpoints_below,
  first_least_distance,
  halved_bracket,
  uniform_steps,
  right_if_nearer,
  halvings_and_midpoint,
  last_not_above,
};

// Elements that are entries of a codebook, which comes with the numbers.
struct codebook_rule {
  code_search search;
  bool may_have_16 = false;          // entries; else 256
  bool begins_at_minus_one = false;  // whatever the codebook's first entry is
};

struct scale_rule {
  float least = 0;                 // the absmax is raised to it before anything is divided
  float of_largest = 1;            // and divided by this: the largest element
  bool keeps_divisor = false;      // of elements; else the absmax as it was found
  bool by_reciprocal = false;      // else by quotient
  bool short_by_quotient = false;  // a short block is divided by quotient, and its divisor kept
  bool skips_nan = false;          // NaN does not count for the absmax
  float start = 0;                 // of the search for the absmax in a whole block
  float instead_of_zero = 0;
};

struct block_row {
  block_quantizer quantizer;
  std::string_view name;
  std::string_view summary;                             // whose it is
  std::variant<codebook_rule, const format*> elements;  // numbers of a format are rounded to nearest, ties to even
  scale_rule scale;
  bool whole_blocks_only = false;  // the number of elements must be a multiple of the block
  // In words: how an element is divided; which entry is taken, and of two equally near ones; zero blocks, NaN, infinity.
  std::string_view normalize;
  std::string_view nearest;
  std::string_view specials;
  std::string_view source;
};

// In the order in which they are listed to people.
[[nodiscard]] std::span<const block_row> block_rows() noexcept;
// nullptr where there is none.
[[nodiscard]] const block_row* find_block_row(std::string_view name) noexcept;

// One row with one codebook. Copies share their tables.
class block_codec {
 public:
  // A codebook of 16 or 256 ascending numbers, of rows whose elements are numbers of a format none. Throws
  // std::invalid_argument.
  block_codec(block_quantizer how, std::span<const float> map);

  [[nodiscard]] block_quantizer quantizer() const noexcept;
  // The number that each code stands for in a block of scale 1: 16 or 256.
  [[nodiscard]] std::span<const float> map() const noexcept;

  // The code of an element that was divided already, NaN and infinities too.
  [[nodiscard]] std::uint8_t code_of(float normalized) const noexcept;
  // The same by the rule as it is stated, several times slower: what code_of is proved against. Of numbers of a format the same
  // function.
  [[nodiscard]] std::uint8_t code_by_rule(float normalized) const;

  // code_of(x / divisor) of each. Precondition: spans of one size.
  void codes_of_quotients(std::span<const float> x, float divisor, std::span<std::uint8_t> codes) const;

  // x to one code an element and one scale a block; nothing is allocated. The last block may be short, but where
  // block_row::whole_blocks_only. Throws std::invalid_argument where sizes do not fit.
  void quantize(std::span<const float> x, std::size_t block_size, std::span<std::uint8_t> codes,
                std::span<float> absmax) const;
  // One block, short where `is_short`; gives its scale.
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

// An array as its codes and the scales of its blocks, as implementations keep it: two codes a byte where there are 16, the
// first in the upper half.
class block_array {
 public:
  // All zero: codes 0, scales 0.
  block_array(block_codec codec, std::size_t block_size, std::size_t size);

  // Elements first .. first + out.size(); `first` and the end are ends of blocks. The processor's state is taken as it is.
  void load(std::size_t first, std::span<float> out) const;
  void store(std::size_t first, std::span<const float> x);

  [[nodiscard]] const block_codec& codec() const noexcept { return codec_; }
  [[nodiscard]] std::size_t block_size() const noexcept { return block_size_; }
  [[nodiscard]] std::span<std::uint8_t> codes() noexcept { return codes_; }
  [[nodiscard]] std::span<const std::uint8_t> codes() const noexcept { return codes_; }
  [[nodiscard]] std::span<float> absmax() noexcept { return absmax_; }
  [[nodiscard]] std::span<const float> absmax() const noexcept { return absmax_; }

 private:
  block_codec codec_;
  std::size_t block_size_;
  std::vector<std::uint8_t> codes_;
  std::vector<float> absmax_;
};

// The greatest |x| as torch.max of torch.abs finds it: NaN where there is one. 0 of nothing.
[[nodiscard]] float greatest_magnitude(std::span<const float> x) noexcept;
// As fmaxf from `start` on: NaN does not count.
[[nodiscard]] float greatest_number(std::span<const float> x, float start) noexcept;

}  // namespace ulp

#endif
