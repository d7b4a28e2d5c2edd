// What a file is, read from its first bytes: the table of all forms that are read.
#ifndef ULP_IO_INPUTS_FILE_KIND_HPP
#define ULP_IO_INPUTS_FILE_KIND_HPP

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <ulp/io/bytes/limits.hpp>
#include <ulp/io/source/source.hpp>

#include "source/reader.hpp"

namespace ulp::io {

// One row for each reader; those of text look at its first line themselves. `start` is the file's first 512 bytes.
struct file_kind {
  enum class form : std::uint8_t { recording, dump, event_file, text };
  form how;
  input_format shown;
  bool (*begins)(const std::string& path, std::string_view start, const read_limits& limits);
  // Of a dump. Checks the whole header and throws input_error when the file is not what it should be, or beyond the limits.
  std::unique_ptr<dump_reader> (*open)(const std::string& path, const read_limits& limits) = nullptr;
};

// Throws input_error for a file that is none of these, and says what it is where that is known. The name decides only
// where the bytes do not, so that a damaged dump gets the error of its own reader.
[[nodiscard]] const file_kind& file_kind_of(const std::string& path, const read_limits& limits = {});

}  // namespace ulp::io

#endif
