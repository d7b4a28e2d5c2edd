// Zip archives by their central directory: stored and deflated members, zip64.
#ifndef ULP_IO_BYTES_ZIP_HPP
#define ULP_IO_BYTES_ZIP_HPP

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <ulp/io/bytes/limits.hpp>

#include "cursor.hpp"

namespace ulp::io {

struct zip_member {
  std::string name;  // a label only, never a path
  bool deflated = false;
  std::uint32_t crc = 0;
  std::uint64_t stored_size = 0;    // bytes in the file, from data_offset
  std::uint64_t size = 0;           // bytes after inflating
  std::uint64_t header_offset = 0;  // of the local header
  std::uint64_t data_offset = 0;
};

// Whether a file that begins so is an archive.
[[nodiscard]] inline bool starts_zip(std::string_view start) noexcept {
  return start.starts_with("PK\x03\x04") || start.starts_with("PK\x05\x06");
}

class zip_archive {
 public:
  // Checks the whole directory and every local header: they agree, names are distinct, members do not overlap, none is
  // encrypted or compressed by anything but deflate, and they are within the limits.
  explicit zip_archive(const std::string& path, const read_limits& limits = {});
  // Of an archive within another file, whose errors have that file's name.
  zip_archive(const std::string& path, byte_span contents, const read_limits& limits = {});

  [[nodiscard]] const file_reader& file() const noexcept { return file_; }
  [[nodiscard]] const std::string& path() const noexcept { return file_.path(); }
  // In the order of the central directory, folders left out.
  [[nodiscard]] const std::vector<zip_member>& members() const noexcept { return members_; }

  // The member's contents; its CRC is checked with the last byte. The archive must outlive the stream.
  [[nodiscard]] std::unique_ptr<byte_stream> open(const zip_member& member) const;
  // Reads the member for its CRC alone.
  void check(const zip_member& member) const;

 private:
  void read_directory(const read_limits& limits);

  file_reader file_;
  std::vector<zip_member> members_;
};

}  // namespace ulp::io

#endif
