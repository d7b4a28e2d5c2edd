// The arrays of a file to a block format: .npy, .npz and .safetensors to a .npz of scales, codes and the numbers that they
// stand for.
//
// What is converted: arrays of floating-point numbers, as float32 (float64 rounded once, to nearest). Members of the output
// are `scale`, `codes`, `dequantized`, and `global_amax` under a second level, each behind the array's name and a point where
// the input has several. Codes are one to a byte and have the array's shape. A scale array has the array's shape too, with the
// number of blocks in place of what a block divides, which is left out where it is 1; float32, or codes in bytes. Of rows that
// quantize a transform of the transpose, all of it is the transpose's, and `transformed` is beside it.
//
// A .npz with a member `x` is that array alone; beside it are read, where they are there: `block` (int32: extents of a
// block, for rows that leave them open), and `tensor` (int32: of each row the tensor that it belongs to, rows of one together)
// with `global_amax` (float32, of each tensor).
#ifndef ULP_IO_ARRAYS_CONVERT_BLOCKS_HPP
#define ULP_IO_ARRAYS_CONVERT_BLOCKS_HPP

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ulp/formats/block_formats.hpp>
#include <ulp/io/bytes/limits.hpp>
#include <ulp/model/recipe/tensor_rules.hpp>

namespace ulp {

// What became of an array's elements.
struct block_counts {
  std::uint64_t zeros = 0;       // elements that are zero
  std::uint64_t newly_zero = 0;  // nonzero numbers whose result is zero
  std::uint64_t clipped = 0;     // finite numbers beyond the largest element under their scale
  std::uint64_t infinite = 0;    // finite numbers whose result is infinite, and
  std::uint64_t lost = 0;        // those whose result is NaN
  std::uint64_t nan = 0;         // results that are NaN
  std::uint64_t blocks = 0;
  double energy = 0;  // sums of squares, of elements whose result is finite
  double error_energy = 0;

  block_counts& operator+=(const block_counts& other) noexcept;
  // Of signal to quantization noise, in dB: infinite without an error, NaN without energy and where a finite number is finite no more.
  [[nodiscard]] double sqnr() const noexcept;
};

struct block_array_conversion {
  std::string name;
  std::string from;  // the type of its elements as its file calls it
  std::vector<std::uint64_t> shape;
  std::uint64_t numel = 0;
  block_counts counts;  // after write()
};

struct block_conversion_options {
  const block_format* row = nullptr;
  std::optional<ulp::rounding> rounding;  // in place of the row's
  std::uint64_t seed = 0;  // element i in the order of blocks takes the random bits of element i of stream_of(name, 0)
  unsigned threads = 0;
  std::optional<int> axis;  // along which blocks run, from the end where it is below 0; the last
  // Two codes in a byte, the first in the low half, of codes of 4 bits: the last dimension is halved.
  bool packed = false;
  bool swizzled = false;   // scale codes in tiles of 128 x 4, as cuBLAS reads them, padded with zeros
  name_predicate selects;  // which arrays; empty: all that can be
  read_limits limits;
};

class block_file_conversion {
 public:
  // Reads and checks all headers. Throws input_error where the input is damaged, holds nothing to convert, or shapes do not
  // fit the row.
  block_file_conversion(const std::string& input, block_conversion_options options);
  ~block_file_conversion();
  block_file_conversion(const block_file_conversion&) = delete;
  block_file_conversion& operator=(const block_file_conversion&) = delete;

  [[nodiscard]] const std::vector<block_array_conversion>& arrays() const noexcept;
  // How their numbers are read, where a user should know.
  [[nodiscard]] std::vector<std::string> notes() const;
  // Of all arrays.
  [[nodiscard]] std::uint64_t elements() const noexcept;

  // Once. Writes a .npz, whole or not at all; `advance` is told of elements that are done, and may throw. An array is in
  // memory at a time, 9 bytes an element. Throws input_error.
  void write(const std::string& output, const std::function<void(std::uint64_t elements)>& advance);

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace ulp

#endif
