// A recorded row as the bytes of a recording, docs/recording-format.md, for writers other than recording_writer.
#ifndef ULP_IO_BYTES_TABLE_BYTES_HPP
#define ULP_IO_BYTES_TABLE_BYTES_HPP

#include <cstdint>
#include <string>
#include <string_view>

#include <ulp/model/cells/step.hpp>

namespace ulp::io {

// Appends the summary record of a row, under another index: everything of its table but cells, buckets, sums, errors and edges.
void append_summary(std::string& to, const tensor_row& row, std::uint32_t tensor);

// Appends encoding, length and bytes: of the row's codes where it has them, else of its cells, buckets, sums, errors and
// edges. Throws std::runtime_error where edges are more than a recording holds.
void append_payload(std::string& to, const tensor_row& row);

// Payloads, one after the other, as a recording keeps them; compressed at zlib's fastest level. Throws std::runtime_error where they
// are more than 2^28 bytes, which no recording holds in one step.
[[nodiscard]] std::string compressed_payloads(std::string_view payloads);

}  // namespace ulp::io

#endif
