#include "crc32c.hpp"

#include <array>
#include <cstddef>

namespace ulp::io {
namespace {

constexpr std::uint32_t polynomial = 0x82F63B78;  // reflected

// tables[n][byte]: the remainder of the byte with n zero bytes behind it, so that eight bytes are taken at once.
using crc_tables = std::array<std::array<std::uint32_t, 256>, 8>;
constexpr crc_tables make_tables() noexcept {
  crc_tables tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? polynomial : 0);
    tables[0][byte] = crc;
  }
  for (std::size_t n = 1; n < tables.size(); ++n)
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t one_less = tables[n - 1][byte];
      tables[n][byte] = (one_less >> 8) ^ tables[0][one_less & 0xFF];
    }
  return tables;
}
constexpr crc_tables tables = make_tables();

}  // namespace

std::uint32_t crc32c(byte_span bytes, std::uint32_t before) noexcept {
  std::uint32_t crc = ~before;
  for (; bytes.size() >= 8; bytes = bytes.subspan(8)) {
    std::uint32_t next = 0;
    for (std::size_t i = 0; i < 8; ++i) {
      const std::uint32_t byte = bytes[i] ^ (i < 4 ? (crc >> (8 * i)) & 0xFF : 0);
      next ^= tables[7 - i][byte];
    }
    crc = next;
  }
  for (const std::uint8_t byte : bytes) crc = (crc >> 8) ^ tables[0][(crc ^ byte) & 0xFF];
  return ~crc;
}

}  // namespace ulp::io
