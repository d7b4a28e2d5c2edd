// CRC-32C (Castagnoli) as TFRecord, iSCSI and ext4 have it. Source: RFC 3720, appendix B.4; of "123456789" 0xE3069283.
#ifndef ULP_IO_TENSORBOARD_CRC32C_HPP
#define ULP_IO_TENSORBOARD_CRC32C_HPP

#include <cstdint>

#include "bytes/cursor.hpp"

namespace ulp::io {

// `before`: the checksum of the bytes in front of these.
[[nodiscard]] std::uint32_t crc32c(byte_span bytes, std::uint32_t before = 0) noexcept;

}  // namespace ulp::io

#endif
