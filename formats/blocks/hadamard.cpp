#include <array>
#include <bit>
#include <stdexcept>
#include <string>

#include <ulp/formats/block_formats.hpp>
#include <ulp/formats/processor_state.hpp>

namespace ulp {

const std::array<float, 16> hadamard_signs{1, 1, 1, -1, 1, -1, -1, -1, -1, -1, -1, 1, -1, 1, -1, -1};

void random_hadamard(std::span<const float> x, std::span<float> transformed, std::span<const float, 16> signs) {
  const default_processor_state processor;
  for (std::size_t first = 0; first + 16 <= x.size(); first += 16) {
    std::array<float, 16> sums{};
    for (unsigned k = 0; k < 16; ++k) {
      const float signed_quarter = x[first + k] * signs[k] * 0.25F;
      for (unsigned j = 0; j < 16; ++j) sums[j] += (std::popcount(j & k) & 1) != 0 ? -signed_quarter : signed_quarter;
    }
    for (unsigned j = 0; j < 16; ++j) transformed[first + j] = sums[j];
  }
}

std::vector<float> hadamard_of_transpose(std::span<const float> x, matrix_extent of) {
  if (of.rows % 16 != 0)
    throw std::invalid_argument("the transform of the transpose takes 16 rows at a time: " + std::to_string(of.rows) +
                                " is no multiple of 16");
  std::vector<float> transposed(x.size());
  for (std::size_t r = 0; r < of.rows; ++r)
    for (std::size_t c = 0; c < of.columns; ++c) transposed[c * of.rows + r] = x[r * of.columns + c];
  random_hadamard(transposed, transposed);
  return transposed;
}

}  // namespace ulp
