// How an array falls into blocks, and what its file says of that beside it.
#ifndef ULP_IO_ARRAYS_BLOCK_LAYOUT_HPP
#define ULP_IO_ARRAYS_BLOCK_LAYOUT_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ulp/formats/block_formats.hpp>

#include "arrays.hpp"

namespace ulp::io {

using array_shape = std::vector<std::uint64_t>;

[[nodiscard]] std::uint64_t product(const array_shape& shape, std::size_t first, std::size_t end);

// Rows of one tensor. Its scales begin at first_scale; of rows that keep a scale once for each row of elements, so do they.
struct block_part {
  std::size_t first_row = 0;
  matrix_extent of;
  block_grid grid;
  std::size_t first_scale = 0;
};

struct quantized_array {
  array_shape shape;  // of codes and numbers in the file
  array_shape scale_shape;
  std::size_t axis = 0;
  axis_extent extent;
  // In the order of blocks, which run along rows of as many columns.
  std::size_t columns = 0;
  std::vector<block_part> parts;
  std::vector<float> x;  // as it was quantized
  std::vector<std::uint8_t> codes;
  std::vector<std::uint8_t> scale_codes;  // or
  std::vector<float> scale_numbers;
  std::vector<float> numbers;
  std::vector<float> amax;  // of the second level
  conversion_counts counts;

  [[nodiscard]] std::size_t scales() const noexcept { return scale_codes.size() + scale_numbers.size(); }
};

// From the order of blocks to that of the array, and back.
template <class Element>
void to_array_order(const quantized_array& q, std::vector<Element>& elements) {
  if (q.extent.inner == 1 || elements.empty()) return;
  std::vector<Element> ordered(elements.size());
  from_rows_along<Element>({q.extent.outer, elements.size() / (q.extent.outer * q.extent.inner), q.extent.inner},
                           elements, ordered);
  elements = std::move(ordered);
}
template <class Element>
void to_block_order(const quantized_array& q, std::vector<Element>& elements) {
  if (q.extent.inner == 1 || elements.empty()) return;
  std::vector<Element> ordered(elements.size());
  rows_along<Element>({q.extent.outer, elements.size() / (q.extent.outer * q.extent.inner), q.extent.inner}, elements,
                      ordered);
  elements = std::move(ordered);
}

// "(3, 4)", as numpy writes it.
[[nodiscard]] std::string text_of(const array_shape& shape);
// Extents of 1 make no difference, and in one dimension all is in the order of the array.
[[nodiscard]] bool same_shape(const array_shape& a, const array_shape& b);

// nullptr where there is none of that name.
[[nodiscard]] const stored_array* array_named(const array_input& input, std::string_view name);
// The bytes of all elements, which are float32 numbers (4 bytes) or codes (1). Throws input_error for others.
[[nodiscard]] std::vector<std::uint8_t> bytes_of(const std::string& path, const array_input& input,
                                                 const stored_array& array, std::size_t element,
                                                 const block_format& row);

// What lies beside an array: of each row the tensor that it belongs to, the amax of each, extents of a block.
struct stated_blocks {
  std::vector<std::int32_t> tensor;
  std::vector<float> amax;
  std::optional<block_extent> block;  // of rows that leave them open
};
// The members PREFIX + tensor, global_amax and block. Throws input_error where one is of another type.
[[nodiscard]] stated_blocks stated_beside(const std::string& path, const array_input& input, const std::string& prefix,
                                          const stored_array& array, const block_format& row);

// Rows of one tensor.
struct tensor_rows {
  std::size_t first = 0;
  std::size_t count = 0;
  std::vector<float> amax{};  // where the file says it
};
// Of so many rows. All are one tensor where nothing else is said.
[[nodiscard]] std::vector<tensor_rows> tensors_of(const std::string& path, const stored_array& array,
                                                  const block_format& row, std::size_t rows,
                                                  const stated_blocks& stated);

// The axis along which blocks run, of the array's shape, a scalar's being one element. Throws input_error where the array has
// none such, or the row cannot.
[[nodiscard]] std::size_t axis_of(const std::string& path, const stored_array& array, const block_format& row,
                                  std::optional<int> axis);
// How many matrices an array of blocks of several rows is, each quantized on its own: its last two dimensions. One for all else.
[[nodiscard]] std::uint64_t matrices_in(const array_shape& shape, const block_format& row);
// The array's shape, with the blocks in place of what they divide.
[[nodiscard]] array_shape scale_shape(const quantized_array& q, const block_format& row, const stated_blocks& stated);

}  // namespace ulp::io

#endif
