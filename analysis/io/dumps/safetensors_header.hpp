// The header of a .safetensors: which tensors there are, where they lie, and the metadata.
#ifndef ULP_IO_DUMPS_SAFETENSORS_HEADER_HPP
#define ULP_IO_DUMPS_SAFETENSORS_HEADER_HPP

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ulp/io/bytes/limits.hpp>
#include <ulp/model/cells/step.hpp>

#include "bytes/cursor.hpp"

namespace ulp::io {

// A dtype by its name in the header.
struct safetensors_type {
  std::string_view name;
  unsigned bits = 0;
  dtype type = dtype::unknown;  // unknown: not read
};

struct safetensors_entry {
  std::string name;
  const safetensors_type* type = nullptr;
  std::vector<std::uint64_t> shape;
  std::vector<std::uint64_t> offsets;  // begin and end, from the start of the values

  [[nodiscard]] std::uint64_t bytes() const { return offsets[1] - offsets[0]; }
};

struct safetensors_header {
  std::vector<safetensors_entry> entries;                     // in the order of their values
  std::vector<std::pair<std::string, std::string>> metadata;  // in the file's order, each key once
  double loss_scale = not_known;                              // that the metadata says
  std::uint64_t data = 0;                                     // where the values begin in the file
};

// Checks all of it: the tensors tile the rest of the file.
[[nodiscard]] safetensors_header read_safetensors_header(const file_reader& file, const read_limits& limits);

}  // namespace ulp::io

#endif
