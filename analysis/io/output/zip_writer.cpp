#include "zip_writer.hpp"

#include <zlib.h>

#include <algorithm>
#include <stdexcept>

// PKWARE APPNOTE.TXT 6.3: 4.3.7 local header, 4.3.12 central directory header, 4.3.14 to 4.3.16 end of central directory.

namespace ulp::io {
namespace {

constexpr std::uint32_t in_zip64 = 0xFFFFFFFF;
constexpr std::uint64_t crc_at = 14;  // in a local header
constexpr unsigned version_needed = 20;
constexpr unsigned version_of_zip64 = 45;

void append(std::string& to, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) to += static_cast<char>(value >> (8 * i) & 0xFF);
}

// From the version that is needed up to the date: UTF-8 names are said to be so, and the date is the first that there is,
// so that equal arrays give equal files.
std::string first_fields(std::string_view name, bool zip64) {
  std::string fields;
  append(fields, zip64 ? version_of_zip64 : version_needed, 2);
  const bool ascii = std::ranges::all_of(name, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  append(fields, ascii ? 0 : 1U << 11, 2);
  append(fields, 0, 2);
  append(fields, 0, 2);
  append(fields, 1 << 5 | 1, 2);
  return fields;
}

}  // namespace

void zip_writer::put(const std::string& bytes) {
  to_.write(bytes);
  written_ += bytes.size();
}

void zip_writer::begin(const std::string& name, std::uint64_t size) {
  if (left_ != 0) throw std::logic_error("zip_writer: a member is not complete");
  if (name.size() > 0xFFFF) throw std::length_error("zip_writer: a name is longer than 65535 bytes");
  members_.push_back({.name = name, .size = size, .offset = written_});
  left_ = size;
  const bool zip64 = size >= zip64_from_;
  std::string header;
  append(header, 0x04034B50, 4);
  header += first_fields(name, zip64);
  append(header, 0, 4);
  append(header, zip64 ? in_zip64 : size, 4);
  append(header, zip64 ? in_zip64 : size, 4);
  append(header, name.size(), 2);
  append(header, zip64 ? 20 : 0, 2);
  header += name;
  if (zip64) {
    append(header, 1, 2);
    append(header, 16, 2);
    append(header, size, 8);
    append(header, size, 8);
  }
  put(header);
}

void zip_writer::write(std::string_view bytes) {
  if (bytes.size() > left_) throw std::logic_error("zip_writer: a member is longer than it was said to be");
  if (bytes.empty()) return;  // zlib begins anew where a null pointer is given
  left_ -= bytes.size();
  members_.back().crc = static_cast<std::uint32_t>(
      crc32_z(members_.back().crc, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
  to_.write(bytes);
  written_ += bytes.size();
}

void zip_writer::end() {
  if (left_ != 0) throw std::logic_error("zip_writer: a member is shorter than it was said to be");
  std::string crc;
  append(crc, members_.back().crc, 4);
  to_.write_at(members_.back().offset + crc_at, crc);
}

void zip_writer::finish() {
  const std::uint64_t directory = written_;
  for (const member& m : members_) {
    const bool large = m.size >= zip64_from_;
    const bool far = m.offset >= zip64_from_;
    std::string extra;
    if (large || far) {
      append(extra, 1, 2);
      append(extra, (large ? 16 : 0) + (far ? 8 : 0), 2);
      if (large) append(extra, m.size, 8);
      if (large) append(extra, m.size, 8);
      if (far) append(extra, m.offset, 8);
    }
    std::string header;
    append(header, 0x02014B50, 4);
    append(header, large || far ? version_of_zip64 : version_needed, 2);
    header += first_fields(m.name, large || far);
    append(header, m.crc, 4);
    append(header, large ? in_zip64 : m.size, 4);
    append(header, large ? in_zip64 : m.size, 4);
    append(header, m.name.size(), 2);
    append(header, extra.size(), 2);
    header.append(2 + 2 + 2 + 4, '\0');  // comment, disk, attributes
    append(header, far ? in_zip64 : m.offset, 4);
    put(header + m.name + extra);
  }
  const std::uint64_t size = written_ - directory;
  const std::uint64_t end = written_;
  std::string record;
  if (members_.size() >= most_members_ || size >= zip64_from_ || directory >= zip64_from_) {
    append(record, 0x06064B50, 4);
    append(record, 44, 8);
    append(record, version_of_zip64, 2);
    append(record, version_of_zip64, 2);
    record.append(4 + 4, '\0');
    append(record, members_.size(), 8);
    append(record, members_.size(), 8);
    append(record, size, 8);
    append(record, directory, 8);
    append(record, 0x07064B50, 4);
    append(record, 0, 4);
    append(record, end, 8);
    append(record, 1, 4);
  }
  append(record, 0x06054B50, 4);
  record.append(2 + 2, '\0');
  append(record, std::min(members_.size(), std::size_t{0xFFFF}), 2);
  append(record, std::min(members_.size(), std::size_t{0xFFFF}), 2);
  append(record, std::min<std::uint64_t>(size, in_zip64), 4);
  append(record, std::min<std::uint64_t>(directory, in_zip64), 4);
  append(record, 0, 2);
  put(record);
}

}  // namespace ulp::io
