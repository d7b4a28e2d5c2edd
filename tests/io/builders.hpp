// Files of every format, byte by byte, and what reading them gives.
#ifndef ULP_TESTS_IO_BUILDERS_HPP
#define ULP_TESTS_IO_BUILDERS_HPP

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <ulp/io/source/source.hpp>

#include "support/files.hpp"
#include "support/little.hpp"

namespace ulp::test {

// The bytes of each value of `size` bytes in the opposite order.
[[nodiscard]] std::string swapped(std::string bytes, std::size_t size);

// A .npy with this dict literal, padded as numpy does.
[[nodiscard]] std::string npy(const std::string& dict, const std::string& values, int version = 1);
[[nodiscard]] std::string npy_dict(const std::string& descr, const std::string& shape);

[[nodiscard]] std::string safetensors(const std::string& header, const std::string& values);

// One member of a zip and how it is written; a field that is set replaces what would be right.
struct zip_entry {
  std::string name = "";
  std::string contents = "";
  bool deflated = false;
  bool zip64 = false;           // sizes and offset in the extra field of the directory
  bool local_zip64 = false;     // as numpy.savez: a zip64 extra field in the local header
  std::uint32_t crc_error = 0;  // xor-ed to the CRC
  std::uint16_t flags = 0;
  int method = -1;
  int local_method = -1;
  std::string local_name = "";
  std::uint32_t local_crc_error = 0;  // xor-ed to the CRC of the local header alone
  std::int64_t local_size = -1;       // both sizes there
  bool sizes_follow = false;          // written front to back: zeros in the local header, a record behind the data
  std::int64_t size = -1;
  std::int64_t packed_size = -1;
  std::int64_t offset = -1;
};
struct zip_options {
  bool zip64_end = false;
  std::string comment = "";
};
[[nodiscard]] std::string zip(const std::vector<zip_entry>& entries, const zip_options& options = {});

[[nodiscard]] std::string gzip(const std::string& text);

// All that a source gives.
struct contents {
  std::string description;
  std::string row_unit;
  std::vector<std::string> notes;
  std::vector<tensor_info> tensors;
  std::vector<step> steps;
  std::uint64_t unread = 0;

  // The table of a tensor at the only step that there is.
  [[nodiscard]] const cell_table& table(const std::string& name) const;
  [[nodiscard]] const tensor_info& tensor(const std::string& name) const;
};
[[nodiscard]] contents read_all(source& from);

// Options under which an input without tensors is an empty step.
[[nodiscard]] source_options empty_allowed();

// Writes files in a folder of its own and reads them.
class playground {
 public:
  std::string write(const std::string& name, const std::string& bytes) const;
  [[nodiscard]] std::string path(const std::string& name) const { return (dir_ / name).string(); }
  // Names are those given to write.
  [[nodiscard]] contents open(const std::vector<std::string>& names, source_options options = {}) const;
  [[nodiscard]] contents open(const std::string& name, const std::string& bytes, source_options options = {}) const;
  // The error of opening or reading, "" where there is none; the folder is cut from it.
  [[nodiscard]] std::string error(const std::vector<std::string>& names, source_options options = {}) const;
  [[nodiscard]] std::string error(const std::string& name, const std::string& bytes, source_options options = {}) const;

 private:
  temporary_dir dir_;
};

}  // namespace ulp::test

#endif
