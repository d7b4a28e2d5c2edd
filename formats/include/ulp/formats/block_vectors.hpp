// Test vectors for block formats: blocks that tell the dialects of a row from each other, in a matrix.
#ifndef ULP_FORMATS_BLOCK_VECTORS_HPP
#define ULP_FORMATS_BLOCK_VECTORS_HPP

#include <cstdint>
#include <vector>

#include <ulp/formats/block_formats.hpp>

namespace ulp {

struct block_vectors {
  matrix_extent of;
  std::vector<float> x;
  // Of each row the tensor that it belongs to, rows of one together.
  std::vector<std::int32_t> tensor;
  // Of each tensor; of each row where the row scales rows; empty where there is no second level.
  std::vector<float> amax;
};

// Blocks whose amax is at the edges of scale rules - powers of two and their neighbours, the largest element times them, where
// EVEN's rounding carries, both ends of the range, none, infinity, NaN - and others, with elements halfway between two, near zero
// and of both signs. A tensor is a row of blocks, or a block of several rows. `seed` draws what is drawn. Allocates.
[[nodiscard]] block_vectors block_vectors_of(const block_format& row, std::uint64_t seed);

}  // namespace ulp

#endif
