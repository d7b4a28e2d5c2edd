// TFRecord, the frames of TensorBoard's event files: length (u64), its checksum, data, its checksum; all little-endian.
// A checksum is CRC-32C turned right by 15 bits plus 0xA282EAD8. Source: tensorflow/core/lib/io/record_writer.h.
#ifndef ULP_IO_TENSORBOARD_TFRECORD_HPP
#define ULP_IO_TENSORBOARD_TFRECORD_HPP

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bytes/cursor.hpp"

namespace ulp::io {

// Whether the first bytes of a file are the head of a record: a length with its checksum.
[[nodiscard]] bool starts_tfrecord(std::string_view start) noexcept;

// A file read record by record. Nothing is allocated for a length that the file does not have.
class tfrecord_file {
 public:
  explicit tfrecord_file(const std::string& path) : file_(path) {}

  // Longer records, graphs for example, are checked but not kept.
  static constexpr std::uint64_t longest_kept = std::uint64_t{1} << 24;

  struct record {
    std::uint64_t data_offset = 0;
    std::uint64_t next = 0;  // the offset of the next record
    bool kept = true;
    std::vector<std::uint8_t> data;
  };
  // The record that begins at `offset`; nullopt where the file ends before it does, as that of a running job may. Throws
  // input_error, with the byte, where a checksum is wrong.
  [[nodiscard]] std::optional<record> at(std::uint64_t offset) const;

  [[nodiscard]] std::uint64_t size() const noexcept { return file_.size(); }
  [[nodiscard]] const std::string& path() const noexcept { return file_.path(); }

 private:
  file_reader file_;
};

}  // namespace ulp::io

#endif
