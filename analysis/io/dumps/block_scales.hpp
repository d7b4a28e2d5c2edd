// 8-bit floats that are scaled in blocks: the values of NAME are its codes times those of NAME_scale_inv, one for each block,
// as DeepSeek-V3 and checkpoints of its kind have it (deepseek-ai/DeepSeek-V3, inference/kernel.py, weight_dequant).
#ifndef ULP_IO_DUMPS_BLOCK_SCALES_HPP
#define ULP_IO_DUMPS_BLOCK_SCALES_HPP

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "safetensors_header.hpp"

namespace ulp::io {

struct block_scales {
  std::size_t scales = 0;            // which entry they are
  std::vector<std::uint64_t> block;  // its extents
};

// Of each entry its scales, where they are there and their shape fits.
[[nodiscard]] std::vector<std::optional<block_scales>> block_scales_of(const std::vector<safetensors_entry>& entries);

// "values are codes times their _scale_inv, one for each block of 128x128".
[[nodiscard]] std::string text_of(const block_scales& of, const std::vector<safetensors_entry>& entries);

// The products as doubles, which hold them exactly, little-endian. The file must outlive the stream.
[[nodiscard]] std::unique_ptr<byte_stream> open_scaled(const file_reader& file, const safetensors_header& header,
                                                       std::size_t index, const block_scales& by);

}  // namespace ulp::io

#endif
