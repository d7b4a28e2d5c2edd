#include "block_table_rows.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <ulp/io/encoding/block_content.hpp>
#include <ulp/io/recording/block_tables.hpp>

#include "bytes/text.hpp"
#include "checksum.hpp"
#include "encoding/numbers.hpp"
#include "opening.hpp"
#include "schema.hpp"

namespace ulp {

io::block_table_rows::block_table_rows(const database& db) : db_(db) {
  if (!has_extra(db, "blocks")) return;
  rows_.emplace(db, ("SELECT step, attempt, microbatch, tensor, name, content, " + crc_column(db) +
                     " FROM extra WHERE name='blocks' AND step=? AND attempt=? AND microbatch=? ORDER BY tensor")
                        .c_str());
}

void io::block_table_rows::read(step& into, const std::vector<tensor_info>& tensors) {
  for (tensor_row& row : into.tensors) row.blocks.reset();
  if (!rows_) return;
  rows_->bind(into.key.step, std::int64_t{into.key.attempt}, std::int64_t{into.key.microbatch});
  while (rows_->row()) {
    check_row(db_, *rows_, extra_row, 1);
    const std::int64_t tensor = rows_->integer(3);
    const auto at = std::ranges::find_if(into.tensors, [&](const tensor_row& row) { return row.tensor == tensor; });
    if (at == into.tensors.end()) throw payload_error("block tables of a tensor that the step has not");
    at->blocks = std::make_shared<const std::vector<block_table>>(parse_block_content(
        rows_->blob_at(5), db_.path(), describe(into.key) + ": tensor " + in_quotes(tensors[at->tensor].name)));
  }
}

bool has_block_tables(const std::string& path) { return io::has_extra(io::open_for_reading(path), "blocks"); }

}  // namespace ulp
