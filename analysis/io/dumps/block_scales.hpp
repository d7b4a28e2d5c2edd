// Tensors that a .safetensors has as codes and scales: which they are, and their numbers.
#ifndef ULP_IO_DUMPS_BLOCK_SCALES_HPP
#define ULP_IO_DUMPS_BLOCK_SCALES_HPP

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model_index.hpp"
#include "safetensors_header.hpp"
#include "scale_conventions.hpp"

namespace ulp::io {

struct scaled_tensor {
  const scale_convention* by = nullptr;
  std::string name;  // of the numbers
  std::vector<std::uint64_t> shape;
  std::vector<std::uint64_t> block;  // its extents in the numbers, one for each dimension
  placed_tensor scales;
  std::optional<placed_tensor> second;
  std::vector<std::size_t> used_up;  // entries of the file that are these scales
};

// Of each entry how it is decoded, where it is codes with scales, in this file or in another of the model. Throws input_error
// where scales lie beside codes and it cannot be said how they belong together, and where codes lack the scales that others of
// the file have: codes are not decoded without their scales. `limits.raw_codes`: they are, and nothing is scaled.
// `pairs`: bytes may be two codes each.
[[nodiscard]] std::vector<std::optional<scaled_tensor>> scaled_tensors_of(const file_reader& file,
                                                                          const safetensors_header& header,
                                                                          const read_limits& limits, bool pairs = true);

// "values are codes times their _scale_inv, one for each block of 128x128, as in DeepSeek".
[[nodiscard]] std::string text_of(const scaled_tensor& of);

// The numbers, float32, little-endian. Header and file must outlive the stream.
[[nodiscard]] std::unique_ptr<byte_stream> open_scaled(const file_reader& file, const safetensors_header& header,
                                                       std::size_t index, const scaled_tensor& by);

}  // namespace ulp::io

#endif
