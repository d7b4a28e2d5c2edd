#include <ulp/io/source/share.hpp>

#include <iterator>
#include <utility>

#include <ulp/io/bytes/error.hpp>

#include "encoding/numbers.hpp"
#include "encoding/payload.hpp"
#include "encoding/tables.hpp"

namespace ulp {

bool divides(source& from) {
  const auto* const parts = dynamic_cast<const divisible*>(&from);
  return parts != nullptr && parts->divides();
}

bool next_part(source& from, step& into, std::size_t index, std::size_t count) {
  return dynamic_cast<divisible&>(from).next_part(into, index, count);
}

std::string rows_to_bytes(std::span<const tensor_row> rows) {
  io::table_blobs tables;
  for (const tensor_row& row : rows) tables.append(row, row.tensor);
  std::string bytes;
  io::append_u64(bytes, tables.summary.size());
  return bytes + tables.summary + io::compress(tables.payload);
}

void append_rows(std::string_view bytes, std::size_t tensors, std::vector<tensor_row>& to) {
  try {
    const std::uint64_t summary = bytes.size() < 8 ? bytes.size() : io::u64_at(bytes, 0);
    if (bytes.size() < 8 || summary > bytes.size() - 8) throw io::payload_error("is cut short");
    std::vector<tensor_row> rows;
    io::table_reader{}.read(bytes.substr(8, summary), bytes.substr(8 + summary), {.tensors = tensors}, rows);
    to.insert(to.end(), std::move_iterator(rows.begin()), std::move_iterator(rows.end()));
  } catch (const io::payload_error& problem) {
    throw input_error("message of another process", "", problem.what());
  }
}

}  // namespace ulp
