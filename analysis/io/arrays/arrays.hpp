// Arrays in files, as conversions see them: what a file holds, and how one is written. One file of this folder for each
// kind; convert.cpp puts them together.
#ifndef ULP_IO_ARRAYS_ARRAYS_HPP
#define ULP_IO_ARRAYS_ARRAYS_HPP

#include <bit>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ulp/formats/format.hpp>
#include <ulp/io/arrays/convert.hpp>
#include <ulp/model/cells/step.hpp>

#include "bytes/cursor.hpp"

namespace ulp::io {

// Elements that are numbers: codes of a format; binary32 and binary64 are float and double.
struct stored_elements {
  format of;
  int bytes = 4;  // of an element, at least as wide as a code; 0: two codes in a byte
  std::endian order = std::endian::little;
};

// What elements of that type are; nullopt for dtype::unknown.
[[nodiscard]] std::optional<stored_elements> elements_of(dtype type, std::endian order = std::endian::little) noexcept;
// Elements of so many bytes, where these are the fewest that hold a code of `from`.
[[nodiscard]] std::optional<stored_elements> codes_of(const std::optional<format>& from, int bytes,
                                                      std::endian order = std::endian::little) noexcept;
[[nodiscard]] int bytes_of_code(const format& f) noexcept;  // 1, 2 or 4

struct stored_array {
  std::string name;
  std::string type;  // as the file calls it
  std::vector<std::uint64_t> shape;
  std::uint64_t numel = 0;
  bool by_columns = false;
  std::optional<stored_elements> numbers;  // nullopt: it is copied
  bool by_from = false;                    // it holds codes because `from` says so
  std::string how;                         // its numbers are read, where a user should know
  std::optional<std::size_t> goes_into;    // the array that it has the scales of
  std::string member;                      // of an archive: its own name there
  // Where it is copied: what it is called and its shape, which are those of codes where its numbers have others.
  std::optional<std::pair<std::string, std::vector<std::uint64_t>>> copied;
  std::uint64_t bytes_as_is = 0;  // of all that is copied: an archive's member has its header too
};

class array_input {
 public:
  array_input() = default;
  array_input(const array_input&) = delete;
  array_input& operator=(const array_input&) = delete;
  virtual ~array_input() = default;

  [[nodiscard]] virtual const std::vector<stored_array>& arrays() const = 0;
  // The elements of arrays()[index], or all of it to be copied. The input must outlive the stream.
  [[nodiscard]] virtual std::unique_ptr<byte_stream> open(std::size_t index) const = 0;
  [[nodiscard]] virtual std::unique_ptr<byte_stream> open_as_is(std::size_t index) const { return open(index); }
  [[nodiscard]] virtual std::vector<std::pair<std::string, std::string>> metadata() const { return {}; }
};

[[nodiscard]] std::unique_ptr<array_input> open_npy(const std::string& path, const std::optional<format>& from);
[[nodiscard]] std::unique_ptr<array_input> open_npz(const std::string& path, const std::optional<format>& from,
                                                    const read_limits& limits);
[[nodiscard]] std::unique_ptr<array_input> open_safetensors(const std::string& path, const std::optional<format>& from,
                                                            const read_limits& limits);
[[nodiscard]] std::unique_ptr<array_input> open_raw(const std::string& path, raw_type type,
                                                    const std::optional<format>& from);
// The numbers of blocks. An array at a time is in memory. Throws input_error where there are none, and at open() where codes
// and scales do not fit. Precondition: not raw.
[[nodiscard]] std::unique_ptr<array_input> open_blocks(const std::string& path, array_file_kind kind,
                                                       const block_source& how, const read_limits& limits);

// What its first bytes say; nullopt where they say none of these. Throws input_error for what is known and not converted.
[[nodiscard]] std::optional<array_file_kind> array_kind_by_content(const std::string& path, const read_limits& limits);
// Precondition: not raw.
[[nodiscard]] std::unique_ptr<array_input> open_array_file(const std::string& path, array_file_kind kind,
                                                           const std::optional<format>& from,
                                                           const read_limits& limits);
// Of numbers, of the kind that its content says. Throws input_error where it is none.
[[nodiscard]] std::unique_ptr<array_input> open_array_file(const std::string& path, const read_limits& limits);

struct written_array {
  std::string name;
  std::string type;  // as type_in gives it
  std::vector<std::uint64_t> shape;
  bool by_columns = false;
  std::uint64_t bytes = 0;  // of all elements; where it is copied bytes_as_is
  bool copied = false;
  std::string member;  // of an archive, where it is copied
};

class array_output {
 public:
  array_output() = default;
  array_output(const array_output&) = delete;
  array_output& operator=(const array_output&) = delete;
  virtual ~array_output() = default;

  // Each array in turn, in the order they were given in; all its bytes follow.
  virtual void begin(const written_array& array) = 0;
  virtual void write(byte_span bytes) = 0;
  virtual void end() {}
  // After all of them.
  virtual void finish() {}
};

// What a file of that kind calls such elements: "<f2", "BF16", "u16".
[[nodiscard]] std::string type_in(array_file_kind kind, const stored_elements& elements);

[[nodiscard]] std::unique_ptr<array_output> write_npy(atomic_file& to);
[[nodiscard]] std::unique_ptr<array_output> write_npz(atomic_file& to);
[[nodiscard]] std::unique_ptr<array_output> write_safetensors(
    atomic_file& to, const std::vector<written_array>& all,
    const std::vector<std::pair<std::string, std::string>>& metadata);
[[nodiscard]] std::unique_ptr<array_output> write_raw(atomic_file& to);

[[nodiscard]] std::string npy_type_of(const stored_elements& elements);
[[nodiscard]] std::string safetensors_type_of(const stored_elements& elements);
[[nodiscard]] std::string raw_type_of(const stored_elements& elements);

[[nodiscard]] inline std::string_view text_of(byte_span bytes) noexcept {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace ulp::io

#endif
