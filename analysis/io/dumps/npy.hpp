// The header of a .npy array, alone or as a member of a .npz.
#ifndef ULP_IO_DUMPS_NPY_HPP
#define ULP_IO_DUMPS_NPY_HPP

#include <bit>
#include <optional>
#include <string>
#include <vector>

#include <ulp/model/cells/step.hpp>

#include "bytes/cursor.hpp"
#include "bytes/zip.hpp"

namespace ulp::io {

// How one value lies in the file; `type` is not dtype::unknown.
struct element {
  dtype type = dtype::float32;
  std::endian order = std::endian::little;
};

// Bytes that may be codes: unsigned integers, or what is left of a type that numpy does not know ("|V1"). "|V2" is bfloat16,
// the one such type of two bytes.
struct code_bytes {
  int size = 1;  // 1, 2 or 4
  std::endian order = std::endian::little;
};

struct npy_header {
  std::string descr;              // the array's type as numpy writes it; empty for one that is made of others
  std::optional<element> values;  // nullopt where the array holds no floating-point numbers that are read
  std::optional<code_bytes> codes;
  bool object = false;      // pickled Python objects
  bool by_columns = false;  // 'fortran_order', said of an array for which it makes no difference too
  std::vector<std::uint64_t> shape;
  std::uint64_t numel = 0;
};

// Reads versions 1 to 3 from the start of an array; afterwards `in` stands at the values, and holds exactly those unless
// they are objects. A type that numpy does not know is an error. Errors name `file` and `place`.
[[nodiscard]] npy_header read_npy_header(byte_stream& in, const std::string& file, const std::string& place);

// The name under which numpy.load has a member of a .npz that is an array: one that ends with .npy, which is taken away, or
// begins as an array does. nullopt for other members.
[[nodiscard]] std::optional<std::string> name_of_array(const zip_archive& archive, const zip_member& member);

// The header of version 1 that numpy writes.
[[nodiscard]] std::string npy_header_bytes(const std::string& descr, bool by_columns,
                                           const std::vector<std::uint64_t>& shape);

// What people should know of how its values are read; empty where there is nothing to say.
[[nodiscard]] std::string how_read(const npy_header& header);

// Why an array is not read, for people.
[[nodiscard]] std::string why_ignored(const npy_header& header);

}  // namespace ulp::io

#endif
