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
#include "block_layout.hpp"

namespace ulp::io {

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
  // How their numbers are read, where a user should know.
  [[nodiscard]] std::vector<std::string> notes() const;
  // Its other arrays, with their types, but for those of `x`.
  [[nodiscard]] std::string left_out() const;
  // Throws input_error where the row does not fit the array.
  void check(std::size_t n, const block_format& row) const;
  [[nodiscard]] quantized_array quantize(std::size_t n, const block_format& row) const;

 private:
  [[noreturn]] void fail(const stored_array& array, const std::string& reason) const;
  [[nodiscard]] std::vector<float> floats_of(std::size_t index) const;
  // What the file says of x.
  [[nodiscard]] stated_blocks beside(const stored_array& array, const block_format& row) const;
  void add_matrix(quantized_array& to, const stored_array& array, const block_format& row, std::vector<float> x,
                  std::size_t rows) const;
  void add_transposed_shape(quantized_array& to, const stored_array& array, const block_format& row,
                            bool of_one_matrix) const;

  std::string path_;
  block_conversion_options options_;
  std::unique_ptr<array_input> input_;
  std::vector<std::size_t> chosen_;
  bool is_x_ = false;  // the array of that name, and what the file says of it
};

}  // namespace ulp::io

#endif
