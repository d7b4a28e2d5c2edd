// A file of arrays by what its first bytes say.
#include <algorithm>

#include <ulp/io/bytes/error.hpp>

#include "arrays.hpp"
#include "dumps/rows.hpp"

namespace ulp::io {

std::optional<array_file_kind> array_kind_by_content(const std::string& path, const read_limits& limits) {
  constexpr std::uint64_t looked_at = 512;
  const file_reader file(path);
  const auto bytes = file.read(0, std::min(file.size(), looked_at));
  const std::string_view start = text_of(bytes);
  if (npy_kind().begins(path, start, limits)) return array_file_kind::npy;
  if (pt_kind().begins(path, start, limits))
    throw input_error(path, "", "is a PyTorch file, which is not converted: save it with safetensors.torch.save_file");
  if (npz_kind().begins(path, start, limits)) return array_file_kind::npz;
  if (safetensors_kind().begins(path, start, limits)) return array_file_kind::safetensors;
  return std::nullopt;
}

std::unique_ptr<array_input> open_array_file(const std::string& path, array_file_kind kind,
                                             const std::optional<format>& from, const read_limits& limits) {
  switch (kind) {
    case array_file_kind::npy: return open_npy(path, from);
    case array_file_kind::npz: return open_npz(path, from, limits);
    default: return open_safetensors(path, from, limits);
  }
}

std::unique_ptr<array_input> open_array_file(const std::string& path, const read_limits& limits) {
  const auto kind = array_kind_by_content(path, limits);
  if (!kind) throw input_error(path, "", "is not a .npy, .npz or .safetensors file");
  return open_array_file(path, *kind, std::nullopt, limits);
}

}  // namespace ulp::io
