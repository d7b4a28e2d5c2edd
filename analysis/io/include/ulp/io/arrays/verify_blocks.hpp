// Somebody's blocks against those of a row: which differ, how, and which rows give just these.
//
// What is quantized is `x` in float32, with `tensor`, `global_amax` and `block` as convert_blocks.hpp has them. The results,
// in the same file or another, are `scale` (codes in bytes, or float32) and `codes` (a byte each, or two in a byte), and
// `dequantized` where it is there. Every NaN equals every NaN. Elements of a block whose numbers are NaN may have any code,
// but one that can be NaN must be.
#ifndef ULP_IO_ARRAYS_VERIFY_BLOCKS_HPP
#define ULP_IO_ARRAYS_VERIFY_BLOCKS_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <ulp/formats/block_formats.hpp>
#include <ulp/formats/block_vectors.hpp>
#include <ulp/io/arrays/convert_blocks.hpp>

namespace ulp {

// What is wrong with a block: the first of these that holds.
enum class block_difference : std::uint8_t {
  scale_is_nan,   // and should not be, or the other way round
  scale_higher,   // codes of scales, or numbers
  scale_lower,    //
  sign_of_zero,   // of elements under the right scale, as all that follow
  nan_element,    // an element is NaN that should not be, or the other way round
  saturation,     // an element is the largest that should not be, or the other way round
  tie,            // an element halfway between two went to the other one
  one_apart,      // an element is the next one
  other_element,  //
  dequantized,    // the codes are right, and not the numbers
};
inline constexpr std::size_t block_difference_count = 10;
[[nodiscard]] std::string_view to_string(block_difference what) noexcept;

struct differing_block {
  block_difference what = block_difference::other_element;
  std::size_t index = 0;  // of its scale, blocks along rows being counted row by row
  std::size_t row = 0;    // of its first element, in a matrix whose rows blocks run along
  std::size_t column = 0;
  std::size_t rows = 0;
  std::size_t columns = 0;
  float amax = 0;                            // NaN where an element is
  std::array<double, 2> scale{};             // theirs, and the row's: codes, or numbers
  std::uint64_t elements = 0;                // of its elements, that differ
  std::size_t element_row = 0;               // the first of these, if any
  std::size_t element_column = 0;            //
  float element = 0;                         //
  std::array<unsigned, 2> codes{};           // theirs, and the row's
  std::vector<const block_format*> follows;  // rows that give this block
};

struct verified_blocks {
  std::uint64_t blocks = 0;
  std::uint64_t elements = 0;
  std::uint64_t differing = 0;           // blocks
  std::uint64_t differing_elements = 0;  //
  std::array<std::uint64_t, block_difference_count> by_difference{};
  std::vector<const block_format*> gives_all;  // rows, of all that fit, that give every block
  // Where no row does: that which gives the most, and how many.
  const block_format* nearest = nullptr;
  std::uint64_t nearest_blocks = 0;
  std::vector<differing_block> first;  // one of each difference before the second of any
};

// `x` of the one file, results of the other, which may be the same. At most `keep` in `first`. `how.row` is the row. Throws
// input_error where a file is damaged, lacks an array, or one has not the row's shape. In memory are 20 bytes an element.
[[nodiscard]] verified_blocks verify_blocks(const std::string& path, const std::string& results,
                                            const block_conversion_options& how, std::size_t keep = 10);

// A .npz of `x`, `tensor` and, under a second level, `global_amax`. Throws input_error.
void write_block_vectors(const std::string& path, const block_vectors& vectors);

}  // namespace ulp

#endif
