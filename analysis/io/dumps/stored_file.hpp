// A file of tensors as they lie in it, before anything is made of codes and scales.
#ifndef ULP_IO_DUMPS_STORED_FILE_HPP
#define ULP_IO_DUMPS_STORED_FILE_HPP

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <ulp/model/cells/step.hpp>

#include "bytes/cursor.hpp"

namespace ulp::io {

enum class stored_as : std::uint8_t {
  numbers,   // of the type `number`
  e8m0,      // powers of two
  bytes,     // unsigned integers
  pairs,     // bytes of two float4_e2m1 codes
  nameless,  // 8 bits of a type that the file does not name
  other,
};

struct stored_tensor {
  std::string name;
  std::string type;  // as the file calls it
  stored_as as = stored_as::other;
  dtype number = dtype::unknown;  // of numbers alone
  std::endian order = std::endian::little;
  std::vector<std::uint64_t> shape;
  std::uint64_t bytes = 0;
  // Dimensions in the order in which its values lie, the one that varies slowest first; empty: that of the shape.
  std::vector<std::size_t> lies_by = {};
};

class stored_file {
 public:
  stored_file() = default;
  stored_file(const stored_file&) = delete;
  stored_file& operator=(const stored_file&) = delete;
  virtual ~stored_file() = default;

  [[nodiscard]] virtual const std::string& path() const = 0;
  [[nodiscard]] virtual const std::vector<stored_tensor>& stored() const = 0;
  // All values of stored()[index], in the order in which they lie. The file must outlive the stream. Throws input_error.
  [[nodiscard]] virtual std::unique_ptr<byte_stream> open_stored(std::size_t index) const = 0;
};

}  // namespace ulp::io

#endif
