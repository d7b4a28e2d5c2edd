// A tensor as if all of it shared one scale, from its cell table alone: what a row with a scale for the whole tensor makes of it,
// and a bound for rows with smaller blocks. The scale of a block is never above that of the tensor, so what stays nonzero
// under that of the tensor does so in every block.
#ifndef ULP_MODEL_OUTCOMES_ONE_BLOCK_HPP
#define ULP_MODEL_OUTCOMES_ONE_BLOCK_HPP

#include <string>

#include <ulp/formats/block_formats.hpp>
#include <ulp/model/cells/cell_table.hpp>
#include <ulp/model/cells/step.hpp>
#include <ulp/model/outcomes/block_exponents.hpp>
#include <ulp/model/outcomes/block_outcomes.hpp>

namespace ulp {

// Why nothing is known of this row without the values; empty where the functions below tell.
[[nodiscard]] std::string why_one_block_does_not_tell(const block_format& row);

// By the row's own code at both ends of each cell. A count is a range where these differ; all are of tensors with
// an infinity or a NaN, and of buckets. Precondition: why_one_block_does_not_tell is empty.
[[nodiscard]] block_outcomes outcomes_as_one_block(const block_format& row, const cell_table& table,
                                                   dtype recorded = dtype::float32);

// How far its elements lie from that scale. Same precondition.
[[nodiscard]] block_exponents exponents_as_one_block(const block_format& row, const cell_table& table);

}  // namespace ulp

#endif
