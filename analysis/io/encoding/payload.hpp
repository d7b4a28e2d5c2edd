// Cell tables as bytes: the fixed summary record and the variable payload of docs/recording-format.md.
#ifndef ULP_IO_ENCODING_PAYLOAD_HPP
#define ULP_IO_ENCODING_PAYLOAD_HPP

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <ulp/io/bytes/table_bytes.hpp>
#include <ulp/model/cells/step.hpp>

#include "numbers.hpp"

namespace ulp::io {

enum class encoding : std::uint8_t { cells = 1, codes = 2, binades = 3, buckets = 4, joint = 5 };

inline constexpr std::size_t summary_size = 104;

inline void append_summary(std::string& to, const tensor_row& row) { append_summary(to, row, row.tensor); }
// Zeroes the sums in the record at `begin` that are not the source's own: a reader that has the payload can tell them.
void without_derived_sums(std::string& records, std::size_t begin);
// The row of one record, its table without cells. `record` has summary_size bytes.
[[nodiscard]] tensor_row parse_summary(std::string_view record);
// Refuses sums in the record that are none of the row, whose payload was taken.
void check_summary_sums(std::string_view record, const tensor_row& row);

// How long the payload is that `from` begins with, its head included. Throws payload_error above single_payload_limit.
[[nodiscard]] std::size_t payload_size(std::string_view from);
// Takes one payload off the front of `from` into the row, whose summary is already there, and checks one against the
// other. An encoding that this program does not know is skipped: the table keeps its summary only. Tables of more than
// `most` elements are refused.
void take_payload(std::string_view& from, tensor_row& row, std::uint64_t most = max_numel);
// What take_payload leaves of an encoding that it does not know: the summary.
void without_payload(tensor_row& row);

// The payloads of one step together, and each of them, are not longer.
inline constexpr std::size_t payload_limit = std::size_t{1} << 28;
inline constexpr std::size_t single_payload_limit = std::size_t{1} << 23;

}  // namespace ulp::io

#endif
