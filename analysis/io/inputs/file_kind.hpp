// What a file is, read from its first bytes: the table of all forms that are read.
#ifndef ULP_IO_INPUTS_FILE_KIND_HPP
#define ULP_IO_INPUTS_FILE_KIND_HPP

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <ulp/io/bytes/limits.hpp>
#include <ulp/io/source/source.hpp>

#include "dumps/dump_reader.hpp"
#include "source/scalar_table.hpp"

namespace ulp::io {

struct file_kind {
  std::string_view name;
  std::string_view globs;  // of the names that such files usually have, separated by blanks
  // `start`: the first 512 bytes of the file.
  bool (*begins)(const std::string& path, std::string_view start, const read_limits& limits);
  // One file; or several as one run, where `joins`.
  std::unique_ptr<source> (*open)(const std::vector<std::string>& paths, const source_options& options,
                                  const scalar_table& scalars);
  bool joins = false;
  std::unique_ptr<dump_reader> (*open_dump)(const std::string& path, const read_limits& limits) = nullptr;

  [[nodiscard]] bool is_dump() const { return open_dump != nullptr; }
  [[nodiscard]] bool is_recording() const;
};

// The first that a file begins like counts; the last, text, is what is none of the others.
[[nodiscard]] const std::vector<file_kind>& file_kinds();

// Whether the name ends as one of the globs says.
[[nodiscard]] bool is_named_as(std::string_view path, const file_kind& row);

// Throws input_error for a file that is none of these, and says what it is where that is known. The name decides only
// where the bytes do not, so that a damaged dump gets the error of its own reader.
[[nodiscard]] const file_kind& file_kind_of(const std::string& path, const read_limits& limits = {});

}  // namespace ulp::io

#endif
