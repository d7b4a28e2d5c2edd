#include <ulp/io/source/share.hpp>

#include <iterator>
#include <memory>
#include <utility>

#include <ulp/io/bytes/error.hpp>
#include <ulp/io/encoding/block_content.hpp>

#include "encoding/numbers.hpp"
#include "encoding/payload.hpp"
#include "encoding/tables.hpp"

namespace ulp {

namespace {

std::uint64_t take_size(std::string_view& from) {
  if (from.size() < 8) throw io::payload_error("is cut short");
  const std::uint64_t size = io::u64_at(from, 0);
  from.remove_prefix(8);
  return size;
}

}  // namespace

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
  std::string blocks;
  for (const tensor_row& row : rows) {
    const std::string content = row.blocks == nullptr ? std::string{} : block_content(*row.blocks);
    io::append_u64(blocks, content.size());
    blocks += content;
  }
  std::string bytes;
  io::append_u64(bytes, tables.summary.size());
  io::append_u64(bytes, blocks.size());
  return bytes + tables.summary + blocks + io::compress(tables.payload);
}

void append_rows(std::string_view bytes, std::size_t tensors, std::vector<tensor_row>& to) {
  try {
    const std::uint64_t summary = take_size(bytes);
    const std::uint64_t of_blocks = take_size(bytes);
    if (summary > bytes.size() || of_blocks > bytes.size() - summary) throw io::payload_error("is cut short");
    std::vector<tensor_row> rows;
    io::table_reader{}.read(bytes.substr(0, summary), bytes.substr(summary + of_blocks), {.tensors = tensors}, rows);
    std::string_view blocks = bytes.substr(summary, of_blocks);
    for (tensor_row& row : rows) {
      const std::uint64_t size = take_size(blocks);
      if (size > blocks.size()) throw io::payload_error("is cut short");
      if (size > 0)
        row.blocks = std::make_shared<const std::vector<block_table>>(
            parse_block_content(blocks.substr(0, size), "message of another process", "block tables"));
      blocks.remove_prefix(size);
    }
    to.insert(to.end(), std::move_iterator(rows.begin()), std::move_iterator(rows.end()));
  } catch (const io::payload_error& problem) {
    throw input_error("message of another process", "", problem.what());
  }
}

}  // namespace ulp
