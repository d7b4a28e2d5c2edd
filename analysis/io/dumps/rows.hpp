// The dumps that are read, in the order in which a file's first bytes are compared with them: here and nowhere else. The row
// of NAME is made by NAME_kind() in NAME.cpp.
#ifndef ULP_IO_DUMPS_ROWS_HPP
#define ULP_IO_DUMPS_ROWS_HPP

#include <memory>
#include <string>
#include <string_view>

#include <ulp/io/bytes/limits.hpp>

#include "dump_reader.hpp"

// clang-format off
#define ULP_DUMPS(ROW) \
  ROW(npy) \
  ROW(pt) \
  ROW(npz) \
  ROW(safetensors)
// clang-format on

namespace ulp::io {

struct dump_kind {
  std::string_view name;   // as users call it
  std::string_view globs;  // of the names that such files usually have, separated by blanks
  bool (*begins)(const std::string& path, std::string_view start,
                 const read_limits& limits);  // `start`: 512 bytes at most
  // Checks the whole header and throws input_error when the file is not what it should be, or beyond the limits.
  std::unique_ptr<dump_reader> (*open)(const std::string& path, const read_limits& limits);
};

#define ULP_DECLARE_KIND(NAME) [[nodiscard]] dump_kind NAME##_kind();
ULP_DUMPS(ULP_DECLARE_KIND)
#undef ULP_DECLARE_KIND

}  // namespace ulp::io

#endif
