// TransformerEngine's choice between two scales of an NVFP4 block: one that makes amax 6, and one that makes it 4.
#ifndef ULP_FORMATS_BLOCKS_FOUR_OVER_SIX_HPP
#define ULP_FORMATS_BLOCKS_FOUR_OVER_SIX_HPP

#include <span>

#include "block_scale.hpp"

namespace ulp::detail {

// Precondition: row.choice. The rows of the block.
[[nodiscard]] block_scale four_over_six_scale(const block_format& row, std::span<const std::span<const float>> rows,
                                              float amax, const tensor_level& tensor);

}  // namespace ulp::detail

#endif
