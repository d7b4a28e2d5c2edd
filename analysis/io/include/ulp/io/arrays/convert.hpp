// The numbers of a file to a format, in memory that does not grow with the file: .npy, .npz, .safetensors, and raw files,
// which are elements and nothing else.
//
// What is converted: arrays of floating-point numbers, and under `from` arrays of codes: unsigned integers (or bytes of a
// type that numpy does not know, "|V2") of the smallest of 1, 2 and 4 bytes that holds such a code. Other arrays are
// copied as they are. Names, shapes, order of elements and metadata stay.
//
// Element i of an array, counted as they lie in the file, takes the random bits of element i of the stream
// stream_of(name, 0) (random_bits.hpp); the name of the one array of a .npy or raw file is the file's, without folder and
// extension. So results depend neither on threads nor on how much is read at a time.
#ifndef ULP_IO_ARRAYS_CONVERT_HPP
#define ULP_IO_ARRAYS_CONVERT_HPP

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ulp/formats/block_formats.hpp>
#include <ulp/formats/convert.hpp>
#include <ulp/formats/format.hpp>
#include <ulp/io/bytes/limits.hpp>
#include <ulp/io/output/atomic_file.hpp>
#include <ulp/model/recipe/tensor_rules.hpp>

namespace ulp {

enum class array_file_kind : std::uint8_t { npy, npz, safetensors, raw };
// By the name's extension; raw where it is none of the others'.
[[nodiscard]] array_file_kind kind_of_array_file(std::string_view path) noexcept;
[[nodiscard]] std::string_view to_string(array_file_kind kind) noexcept;  // ".npy", "raw"

// The elements of a raw file, little-endian; of unsigned integers they are codes.
enum class raw_type : std::uint8_t { f32, f64, u8, u16, u32 };

// Codes and scales of a block row, in the arrays that a conversion to it writes (convert_blocks.hpp): `codes` and `scale`, or of
// several NAME.codes and NAME.scale, with `global_amax`, `block` and `tensor` beside them where the row needs them. The numbers
// are the float32 array NAME, or `dequantized`; nothing else of the file is converted or copied.
struct block_source {
  const block_format* row = nullptr;
  std::optional<int> axis;  // along which blocks run, from the end where it is below 0; the last
  bool packed = false;      // two codes in a byte, the first in the low half
  bool swizzled = false;    // scale codes in tiles of 128 x 4
  unsigned threads = 0;
};

struct file_conversion_options {
  format to;                           // of at most 32 bits
  conversion how;                      // of its random stream only the seed is used
  std::optional<format> from;          // of codes
  std::optional<block_source> blocks;  // in place of `from`: what the input's codes are
  std::optional<raw_type> raw;         // where the input is a raw file, which nothing else says
  // float32 numbers instead of codes; for formats whose numbers float32 holds.
  bool values = false;
  // Two codes in a byte, the first in the low half: the last dimension of an array (the first, where it is stored by
  // columns) becomes half as long, and must be even unless the array is one row. For formats of at most 4 bits.
  bool packed = false;
  name_predicate selects;  // which arrays are converted; empty: all that can be
  read_limits limits;
};

// What stochastic rounding with few random bits errs by on average over all draws, exactly: (mean result - value) in units in
// the last place, positive away from zero. Of fewer than 24 bits, without flushing; with more it is below 2^-24.
struct rounding_bias {
  double sum = 0;
  std::uint64_t values = 0;  // that do not overflow, zeros too

  rounding_bias& operator+=(const rounding_bias& other) noexcept {
    sum += other.sum;
    values += other.values;
    return *this;
  }
  // NaN where there are no values.
  [[nodiscard]] double mean() const noexcept { return sum / static_cast<double>(values); }
};

struct array_conversion {
  std::string name;
  std::string from;  // the type of its elements as its file calls it: "<f4", "BF16"
  std::string to;
  std::vector<std::uint64_t> shape;  // in the input
  std::uint64_t numel = 0;
  bool converted = false;    // else copied as it is, or left out
  bool left_out = false;     // where the output holds converted arrays alone
  conversion_counts counts;  // after write()
  rounding_bias bias;        // after write()
};

class file_conversion {
 public:
  // Reads and checks all headers. `output` says its kind by its extension ("-": that of the input), and is not touched.
  // An output of another kind than the input holds only what is converted; .npy and raw files hold one array.
  // Throws input_error where the input is damaged, not one of these files or beyond the limits, where the output cannot
  // hold it, and where there is nothing to convert.
  file_conversion(const std::string& input, const std::string& output, file_conversion_options options);
  ~file_conversion();
  file_conversion(const file_conversion&) = delete;
  file_conversion& operator=(const file_conversion&) = delete;

  [[nodiscard]] array_file_kind input_kind() const noexcept;
  [[nodiscard]] array_file_kind output_kind() const noexcept;
  // In the order of the input.
  [[nodiscard]] const std::vector<array_conversion>& arrays() const noexcept;
  // What a user should know before.
  [[nodiscard]] const std::vector<std::string>& notes() const noexcept;
  // Bytes of the input that write() reads.
  [[nodiscard]] std::uint64_t bytes() const noexcept;

  // Once. Writes all to a new file, which its owner finishes; `advance` is told of bytes that were read, and may throw.
  // Throws input_error where the input is damaged or changed meanwhile, a code has bits above those of its format, or the
  // output cannot be written.
  void write(atomic_file& to, const std::function<void(std::uint64_t bytes)>& advance);

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace ulp

#endif
