#include "checksum.hpp"

#include <zlib.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include <ulp/model/cells/byte_order.hpp>

namespace ulp::io {
namespace {

constexpr std::size_t size_of_one = 4;
enum storage : char { integer = 1, real = 2, text = 3, blob = 4 };

}  // namespace

void row_checksum::append(std::string_view bytes) {
  if (bytes.size() > waiting_.size() - size_) flush();
  std::ranges::copy(bytes, waiting_.begin() + static_cast<std::ptrdiff_t>(size_));
  size_ += bytes.size();
}

void row_checksum::add_u64(char type, std::uint64_t value) {
  std::array<char, 9> bytes{type};
  store_little(bytes.data() + 1, value);
  if (bytes.size() > waiting_.size() - size_) flush();
  std::memcpy(waiting_.data() + size_, bytes.data(), bytes.size());
  size_ += bytes.size();
}

void row_checksum::add_null() { append({"\0", 1}); }

void row_checksum::add(std::int64_t value) { add_u64(integer, static_cast<std::uint64_t>(value)); }

void row_checksum::add(double value) {
  if (std::isnan(value)) return add_null();
  // SQLite keeps no zero's sign.
  add_u64(real, std::bit_cast<std::uint64_t>(value == 0 ? 0.0 : value));
}

void row_checksum::add(std::optional<double> value) {
  if (!value)
    add_null();
  else if (std::isnan(*value))
    add(std::string_view{"nan"});
  else
    add(*value);
}

void row_checksum::add(std::optional<bool> value) {
  if (value)
    add(std::int64_t{*value ? 1 : 0});
  else
    add_null();
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
    default: add_null();
  }
}

void row_checksum::add_bytes(char type, std::string_view bytes) {
  add_u64(type, bytes.size());
  if (bytes.size() <= waiting_.size() / 2) return append(bytes);
  flush();
  crc_ = static_cast<std::uint32_t>(crc32_z(crc_, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()));
}

void row_checksum::flush() {
  crc_ = static_cast<std::uint32_t>(crc32_z(crc_, reinterpret_cast<const unsigned char*>(waiting_.data()), size_));
  size_ = 0;
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
