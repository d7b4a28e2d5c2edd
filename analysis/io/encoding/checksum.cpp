#include "checksum.hpp"

#include <zlib.h>

#include <cmath>

namespace ulp::io {
namespace {

constexpr std::size_t size_of_one = 4;
enum storage : char { null = 0, integer = 1, real = 2, text = 3, blob = 4 };

}  // namespace

void row_checksum::add(std::int64_t value) {
  waiting_ += integer;
  append_u64(waiting_, static_cast<std::uint64_t>(value));
}

void row_checksum::add(double value) {
  waiting_ += std::isnan(value) ? null : real;
  // SQLite keeps no zero's sign.
  if (!std::isnan(value)) append_f64(waiting_, value == 0 ? 0.0 : value);
}

void row_checksum::add(std::optional<double> value) {
  if (!value)
    waiting_ += null;
  else if (std::isnan(*value))
    add(std::string_view{"nan"});
  else
    add(*value);
}

void row_checksum::add(std::optional<bool> value) {
  if (value)
    add(std::int64_t{*value ? 1 : 0});
  else
    waiting_ += null;
}

void row_checksum::add(std::string_view text) { add_bytes(storage::text, text); }

void row_checksum::add(statement::blob bytes) { add_bytes(blob, bytes.bytes); }

void row_checksum::add(const statement& row, int column) {
  sqlite3_value* const at = row.value(column);
  switch (sqlite3_value_type(at)) {
    case SQLITE_INTEGER: return add(std::int64_t{sqlite3_value_int64(at)});
    case SQLITE_FLOAT: return add(sqlite3_value_double(at));
    case SQLITE_TEXT: return add(row.bytes(column));
    case SQLITE_BLOB: return add(statement::blob{row.bytes(column)});
    default: waiting_ += null;
  }
}

void row_checksum::add_bytes(char type, std::string_view bytes) {
  waiting_ += type;
  append_u64(waiting_, bytes.size());
  constexpr std::size_t few = 256;
  if (bytes.size() <= few) {
    waiting_ += bytes;
    return;
  }
  flush();
  crc_ = static_cast<std::uint32_t>(crc32_z(crc_, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()));
}

void row_checksum::flush() {
  crc_ = static_cast<std::uint32_t>(
      crc32_z(crc_, reinterpret_cast<const unsigned char*>(waiting_.data()), waiting_.size()));
  waiting_.clear();
}

std::string row_checksum::value() {
  flush();
  std::string bytes;
  for (int shift = 0; shift < 32; shift += 8) bytes += static_cast<char>(crc_ >> shift & 0xFF);
  return bytes;
}

std::string checksums_of(const statement& row, const row_parts& parts, std::size_t read, int first) {
  row_checksum sum(parts.table);
  std::string all;
  for (int i = 0; i < parts.ends[read - 1]; ++i) {
    sum.add(row, first + i);
    if (std::ranges::find(parts.ends, i + 1) != parts.ends.end()) all += sum.value();
  }
  return all;
}

void check_row(const database& of, const statement& row, const row_parts& parts, std::size_t read, int first) {
  if (!of.has_checksums()) return;
  const std::string_view stored = row.blob_at(first + parts.ends[read - 1]);
  if (stored.size() != size_of_one * parts.count() || !stored.starts_with(checksums_of(row, parts, read, first)))
    throw payload_error("its checksum does not match: the file was damaged after it was written");
}

}  // namespace ulp::io
