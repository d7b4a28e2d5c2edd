#include "blocks_of_both.hpp"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include <ulp/model/cells/block_table.hpp>
#include <ulp/model/outcomes/quantized_outcomes.hpp>

namespace ulp::io {
namespace {

const block_table* find(const tensor_row& row, const block_extent& block) {
  if (row.blocks == nullptr) return nullptr;
  const auto at = std::ranges::find(*row.blocks, block, &block_table::block);
  return at == row.blocks->end() ? nullptr : &*at;
}

std::size_t count(const tensor_row& row) { return row.blocks == nullptr ? 0 : row.blocks->size(); }

}  // namespace

bool merge_blocks(tensor_row& to, const tensor_row& more) {
  if (count(to) == 0 && count(more) == 0) return true;
  std::vector<block_table> both;
  for (std::size_t i = 0; i < count(to); ++i)
    if (const block_table* const other = find(more, (*to.blocks)[i].block)) {
      both.push_back((*to.blocks)[i]);
      both.back().merge(*other);
    }
  const bool all = both.size() == count(to) && both.size() == count(more);
  to.blocks = both.empty() ? nullptr : std::make_shared<const std::vector<block_table>>(std::move(both));
  return all;
}

void merge_quantized(tensor_row& to, const tensor_row& more) {
  if (to.quantized == nullptr || more.quantized == nullptr) return to.quantized.reset();
  std::vector<quantized_outcomes> both = *to.quantized;
  for (std::size_t i = 0; i < both.size(); ++i) both[i] += more.quantized->at(i);
  to.quantized = std::make_shared<const std::vector<quantized_outcomes>>(std::move(both));
}

bool same_blocks(const tensor_row& a, const tensor_row& b) {
  for (std::size_t i = 0; i < count(a); ++i)
    if (const block_table* const other = find(b, (*a.blocks)[i].block); other != nullptr && !(*other == (*a.blocks)[i]))
      return false;
  return true;
}

}  // namespace ulp::io
