// Folders of dumps that a framework writes by itself: which step, rank and tensor a file is, its place says.
#ifndef ULP_IO_DUMPS_LAYOUTS_HPP
#define ULP_IO_DUMPS_LAYOUTS_HPP

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ulp/io/bytes/limits.hpp>

#include "dump_reader.hpp"

namespace ulp::io {

struct place_in_layout {
  std::string_view program;  // "TransformerEngine"
  std::int64_t step = 0;
  std::optional<std::uint32_t> rank;  // that has tensors of the same names as others
  // Names the tensors by the path, and passes over objects that are none.
  std::unique_ptr<dump_reader> (*open)(const std::string& path, const read_limits& limits) = nullptr;
};

// nullopt for a path that is in no such folder. Throws input_error where its numbers are too large.
[[nodiscard]] std::optional<place_in_layout> place_in_layout_of(const std::string& path);

// The files in a folder that are in such folders, ascending: in it, or it in them. Empty where there are none.
[[nodiscard]] std::vector<std::string> files_in_layout(const std::string& folder);

}  // namespace ulp::io

#endif
