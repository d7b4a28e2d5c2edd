// TransformerEngine's choice between two scales of an NVFP4 block: one that makes amax 6, and one that makes it 4.
#ifndef ULP_FORMATS_BLOCKS_FOUR_OVER_SIX_HPP
#define ULP_FORMATS_BLOCKS_FOUR_OVER_SIX_HPP

#include <cstdint>
#include <span>

#include "block_scale.hpp"

namespace ulp::detail {

// The code of the scale, in E4M3, and its te_nvfp4_factor.
struct four_or_six {
  std::uint8_t code = 0;
  float factor = 1;
};
// Precondition: row.choice. The rows of the block.
[[nodiscard]] four_or_six four_over_six_scale(const block_format& row, std::span<const std::span<const float>> rows,
                                              float amax, const tensor_level& tensor);

}  // namespace ulp::detail

#endif
