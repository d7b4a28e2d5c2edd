#include <ulp/model/cells/element_types.hpp>

#include "arrays.hpp"

namespace ulp::io {

std::optional<stored_elements> elements_of(dtype type, std::endian order) noexcept {
  const element_type& t = properties_of(type);
  if (t.of == nullptr) return std::nullopt;
  return stored_elements{.of = *t.of, .bytes = static_cast<int>(t.bytes), .order = order};
}

int bytes_of_code(const format& f) noexcept { return f.width() <= 8 ? 1 : f.width() <= 16 ? 2 : 4; }

std::optional<stored_elements> codes_of(const std::optional<format>& from, int bytes, std::endian order) noexcept {
  if (!from || bytes != bytes_of_code(*from)) return std::nullopt;
  return stored_elements{.of = *from, .bytes = bytes, .order = order};
}

std::string type_in(array_file_kind kind, const stored_elements& elements) {
  switch (kind) {
    case array_file_kind::npy:
    case array_file_kind::npz: return npy_type_of(elements);
    case array_file_kind::safetensors: return safetensors_type_of(elements);
    case array_file_kind::raw: break;
  }
  return raw_type_of(elements);
}

}  // namespace ulp::io
