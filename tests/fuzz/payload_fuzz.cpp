// The blobs of a recording's step, which SQLite and zlib would hide: one byte of how many records, the records, the
// payloads. What is read is written again, and must be read as the same.
#include <algorithm>

#include "encoding/payload.hpp"
#include "encoding/tables.hpp"
#include "support.hpp"

namespace {

using namespace ulp;

constexpr std::size_t most_rows = 4;

std::vector<tensor_row> read(const std::string& summary, const std::string& payload, bool merged) {
  std::vector<tensor_row> rows;
  io::table_reader reader;
  reader.read(summary, io::compress(payload), {.tensors = most_rows, .merged = merged}, rows);
  return rows;
}

io::table_blobs written(const std::vector<tensor_row>& rows) {
  io::table_blobs blobs;
  for (const tensor_row& row : rows) blobs.append(row, row.tensor);
  return blobs;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string text(data + 1, data + size);
  const std::size_t records = std::min<std::size_t>(data[0] % (most_rows + 1) * io::summary_size, text.size());
  const bool merged = data[0] >= 128;
  try {
    const io::table_blobs once = written(read(text.substr(0, records), text.substr(records), merged));
    const io::table_blobs again = written(read(once.summary, once.payload, merged));
    if (once.summary != again.summary || once.payload != again.payload) fuzz::wrong("reads otherwise what it wrote");
  } catch (const io::payload_error&) {
    return 0;
  }
  return 0;
}
