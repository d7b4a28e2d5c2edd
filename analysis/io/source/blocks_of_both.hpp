// Block tables of rows that are merged.
#ifndef ULP_IO_SOURCE_BLOCKS_OF_BOTH_HPP
#define ULP_IO_SOURCE_BLOCKS_OF_BOTH_HPP

#include <ulp/model/cells/step.hpp>

namespace ulp::io {

// Those of blocks that both have; no table of one alone would be of all values. Whether that is all of them, of both.
bool merge_blocks(tensor_row& to, const tensor_row& more);

// What values were quantized to: sums, where both have them.
void merge_quantized(tensor_row& to, const tensor_row& more);

// Whether rows of the same values have the same tables, of those that both have.
[[nodiscard]] bool same_blocks(const tensor_row& a, const tensor_row& b);

}  // namespace ulp::io

#endif
