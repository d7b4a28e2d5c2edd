// What formats whose blocks share a scale make of a run, which is read for it.
#ifndef ULP_ASK_RUNS_COMPARED_BLOCKS_HPP
#define ULP_ASK_RUNS_COMPARED_BLOCKS_HPP

#include <vector>

#include <ulp/ask/columns/block_comparison.hpp>
#include <ulp/ask/columns/run_picture.hpp>
#include <ulp/ask/progress/listener.hpp>
#include <ulp/ask/questions/run_text.hpp>
#include <ulp/ask/runs/pictured_run.hpp>

namespace ulp {

// Of the steps within the bounds and the tensors shown. Throws input_error.
[[nodiscard]] std::vector<compared_blocks> compare_blocks(const pictured_run& run, const step_bounds& within,
                                                          const tensor_mask& shown,
                                                          const std::vector<named_block_format>& rows, listener& to);

// Of all that is selected of a run: of gradients, unless kinds are chosen. Throws input_error, std::invalid_argument.
[[nodiscard]] std::vector<compared_blocks> blocks_over(const run_text& run, const std::vector<named_block_format>& rows,
                                                       listener& to);
// Whether it is one recording that keeps block tables. Throws input_error.
[[nodiscard]] bool keeps_block_tables(const run_text& run);

}  // namespace ulp

#endif
