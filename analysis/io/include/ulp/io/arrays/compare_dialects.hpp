// What several block rows make of the same arrays: how many blocks part, and by how much.
#ifndef ULP_IO_ARRAYS_COMPARE_DIALECTS_HPP
#define ULP_IO_ARRAYS_COMPARE_DIALECTS_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <ulp/formats/block_formats.hpp>
#include <ulp/io/arrays/convert_blocks.hpp>

namespace ulp {

// A block that two rows make different things of, of which all that is not needed for it is zero.
struct smallest_block {
  std::string array;
  std::size_t row = 0;  // of its first element, in the matrix whose rows blocks run along
  std::size_t column = 0;
  std::size_t elements = 0;
  std::vector<std::size_t> places;  // of what is not zero, in the block row by row
  std::vector<float> x;
  std::array<double, 2> scale{};  // codes, or numbers
  std::array<std::vector<float>, 2> numbers;
};

struct dialect_pair {
  std::array<const block_format*, 2> rows{};
  std::uint64_t blocks = 0;
  std::uint64_t other_scale = 0;  // blocks
  std::uint64_t other_codes = 0;  // blocks with an element of another code
  double largest_difference = 0;  // of two numbers of one element, over the block's amax; infinity where one is NaN
  std::array<double, 2> sqnr{};   // in dB, over all arrays
  std::optional<smallest_block> smallest;
};

// All pairs of `rows` in their order, over all arrays that `how` selects; `how.row` is not read. `note` is told of how numbers are
// read, `advance` of elements that are done, and may throw. Throws input_error, where rows do not have the same blocks too.
[[nodiscard]] std::vector<dialect_pair> compare_dialects(const std::string& path,
                                                         std::span<const block_format* const> rows,
                                                         const block_conversion_options& how,
                                                         const std::function<void(const std::string& line)>& note,
                                                         const std::function<void(std::uint64_t elements)>& advance);

}  // namespace ulp

#endif
