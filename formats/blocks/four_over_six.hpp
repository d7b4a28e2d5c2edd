// TransformerEngine's choice between two scales of an NVFP4 block: one that makes amax 6, and one that makes it 4.
#ifndef ULP_FORMATS_BLOCKS_FOUR_OVER_SIX_HPP
#define ULP_FORMATS_BLOCKS_FOUR_OVER_SIX_HPP

#include <cstddef>
#include <cstdint>
#include <span>

#include "block_scale.hpp"
#include "bulk/kernels.hpp"

namespace ulp::detail {

// One row of blocks of `width` elements that follow each other, of which the last may be shorter.
struct row_of_blocks {
  std::span<const float> x;
  std::size_t width;
};
// Of blocks that are beside each other the codes of scales, in E4M3, and their te_nvfp4_factor. `rows`: those of the blocks,
// whose errors are added a power of two apart, the greatest first. Spans of one size. Precondition: row.choice. Without loops
// one element at a time.
void four_over_six_scales(const block_format& row, std::span<const row_of_blocks> rows, std::span<const float> amax,
                          const tensor_level& tensor, const kernels* loops, std::span<std::uint8_t> codes,
                          std::span<float> factors);

}  // namespace ulp::detail

#endif
