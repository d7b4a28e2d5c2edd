// An array of a file under a block row, in memory: what is written of it, and what somebody's results are compared with.
#ifndef ULP_IO_ARRAYS_BLOCK_QUANTIZER_HPP
#define ULP_IO_ARRAYS_BLOCK_QUANTIZER_HPP

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ulp/formats/block_formats.hpp>
#include <ulp/io/arrays/convert_blocks.hpp>

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

// Bit by bit, NaN being one.
[[nodiscard]] bool same_number(float a, float b);
// Whether block i of the one has the elements of block i of the other.
[[nodiscard]] bool have_same_blocks(const quantized_array& a, const quantized_array& b);
// What became of each number.
[[nodiscard]] block_counts errors_of(const std::vector<float>& x, const std::vector<float>& numbers);

// Of a file's arrays of floating-point numbers those that are asked for; a member `x` alone where it is there.
class block_quantizer {
 public:
  // `options.row` is not read. Throws input_error where nothing is there to quantize.
  block_quantizer(const std::string& file, const block_conversion_options& options);

  [[nodiscard]] std::size_t size() const noexcept { return chosen_.size(); }
  [[nodiscard]] const stored_array& array(std::size_t n) const { return input_->arrays()[chosen_[n]]; }
  [[nodiscard]] bool has_x() const noexcept { return is_x_; }
  // Throws input_error where the row does not fit the array.
  void check(std::size_t n, const block_format& row) const;
  [[nodiscard]] quantized_array quantize(std::size_t n, const block_format& row) const;

 private:
  struct tensor_rows {
    std::size_t first = 0;
    std::size_t count = 0;
    std::vector<float> amax{};  // where the file says it
  };

  [[noreturn]] void fail(const stored_array& array, const std::string& reason) const;
  [[nodiscard]] std::size_t axis_of(const stored_array& array, const block_format& row) const;
  [[nodiscard]] std::vector<float> floats_of(std::size_t index) const;
  template <class Element>
  [[nodiscard]] std::vector<Element> beside(std::string_view name, std::string_view type) const;
  [[nodiscard]] std::optional<block_extent> block_beside(const stored_array& array, const block_format& row) const;
  [[nodiscard]] std::vector<tensor_rows> tensors_of(const stored_array& array, const block_format& row,
                                                    std::size_t rows) const;
  void add_matrix(quantized_array& to, const stored_array& array, const block_format& row, std::vector<float> x,
                  std::size_t rows) const;
  void add_transposed_shape(quantized_array& to, const stored_array& array, const block_format& row,
                            bool of_one_matrix) const;
  [[nodiscard]] array_shape scale_shape(const quantized_array& q, const stored_array& array,
                                        const block_format& row) const;

  std::string path_;
  block_conversion_options options_;
  std::unique_ptr<array_input> input_;
  std::vector<std::size_t> chosen_;
  bool is_x_ = false;  // the array of that name, and what the file says of it
};

}  // namespace ulp::io

#endif
