#include "safetensors_file.hpp"

namespace ulp::io {
namespace {

stored_as kind_of(const safetensors_type& type) {
  if (type.type != dtype::unknown) return stored_as::numbers;
  if (type.name == "F8_E8M0") return stored_as::e8m0;
  return type.name == "U8" ? stored_as::bytes : stored_as::other;
}

}  // namespace

safetensors_file::safetensors_file(const std::string& path, const read_limits& limits)
    : file_(path), header_(read_safetensors_header(file_, limits)) {
  for (const safetensors_entry& e : header_.entries)
    stored_.push_back({.name = e.name,
                       .type = std::string{e.type->name},
                       .as = kind_of(*e.type),
                       .number = e.type->type,
                       .shape = e.shape,
                       .bytes = e.bytes()});
}

std::unique_ptr<byte_stream> safetensors_file::open_stored(std::size_t index) const {
  const safetensors_entry& e = header_.entries.at(index);
  return std::make_unique<file_stream>(file_, header_.data + e.offsets[0], e.bytes());
}

std::unique_ptr<stored_file> open_safetensors_file(const std::string& path, const read_limits& limits) {
  return std::make_unique<safetensors_file>(path, limits);
}

}  // namespace ulp::io
