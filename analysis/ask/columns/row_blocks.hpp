// The block table of a row of a step, in the extents asked for.
#ifndef ULP_ASK_COLUMNS_ROW_BLOCKS_HPP
#define ULP_ASK_COLUMNS_ROW_BLOCKS_HPP

#include <algorithm>

#include <ulp/formats/block_formats.hpp>
#include <ulp/model/cells/block_table.hpp>
#include <ulp/model/cells/step.hpp>

namespace ulp {

// nullptr where it has none.
[[nodiscard]] inline const block_table* block_table_of(const tensor_row& row, const block_extent& block) {
  if (row.blocks == nullptr) return nullptr;
  const auto at = std::ranges::find(*row.blocks, block, &block_table::block);
  return at == row.blocks->end() ? nullptr : &*at;
}

}  // namespace ulp

#endif
