#include <ulp/io/database/libraries.hpp>

#include <sqlite3.h>
#include <zlib.h>

namespace ulp {

sqlite_facts sqlite_found() { return {sqlite3_libversion(), SQLITE_VERSION, sqlite3_threadsafe() != 0}; }

zlib_facts zlib_found() { return {zlibVersion(), ZLIB_VERSION}; }

std::vector<std::uint8_t> through_zlib(std::span<const std::uint8_t> bytes) {
  std::vector<std::uint8_t> packed(compressBound(bytes.size()));
  uLongf packed_size = packed.size();
  if (compress(packed.data(), &packed_size, bytes.data(), bytes.size()) != Z_OK) return {};
  std::vector<std::uint8_t> unpacked(bytes.size());
  uLongf size = unpacked.size();
  if (uncompress(unpacked.data(), &size, packed.data(), packed_size) != Z_OK) return {};
  unpacked.resize(size);
  return unpacked;
}

}  // namespace ulp
