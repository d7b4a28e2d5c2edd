// What every reader of dumps gives.
#ifndef ULP_IO_DUMPS_DUMP_READER_HPP
#define ULP_IO_DUMPS_DUMP_READER_HPP

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <ulp/model/cells/step.hpp>

#include "bytes/cursor.hpp"

namespace ulp::io {

// The tensors of one file of raw values, one step.
class dump_reader {
 public:
  dump_reader() = default;
  dump_reader(const dump_reader&) = delete;
  dump_reader& operator=(const dump_reader&) = delete;
  virtual ~dump_reader() = default;

  struct tensor {
    std::string name;
    dtype type = dtype::unknown;
    std::endian order = std::endian::little;
    std::vector<std::uint64_t> shape;
    std::uint64_t numel = 0;
    std::uint64_t times = 1;                  // that each value of its stream occurs
    bool row_by_row = true;                   // its stream has all values, the last index of the shape varying fastest
    tensor_kind kind = tensor_kind::unknown;  // that the file says; unknown: its name may
  };
  // Known from the headers, before any value is read. Tensors of types that are not read (integers, booleans) are
  // left out here and named, with the reason, in `ignored`.
  [[nodiscard]] virtual const std::vector<tensor>& tensors() const = 0;
  [[nodiscard]] virtual const std::vector<std::string>& ignored() const = 0;

  // The values of tensors()[index], in any order, to be read whole ones at a time. The reader must outlive the stream.
  // Both throw input_error.
  [[nodiscard]] virtual std::unique_ptr<byte_stream> open(std::size_t index) = 0;

  // What a user should know of how the values are read.
  [[nodiscard]] virtual std::vector<std::string> notes() const { return {}; }

  // The loss scale that the file says its values have, NaN where it says none: a hint, which nothing checks.
  [[nodiscard]] virtual double said_loss_scale() const { return not_known; }

  // Reads what no stream gives, where the format has checksums: what is left out for its type must be of that type.
  virtual void check_ignored() {}
};

}  // namespace ulp::io

#endif
