// Tensors that a file has as codes and scales: which they are, and their numbers.
#ifndef ULP_IO_DUMPS_BLOCK_SCALES_HPP
#define ULP_IO_DUMPS_BLOCK_SCALES_HPP

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ulp/formats/format.hpp>
#include <ulp/io/bytes/limits.hpp>

#include "dump_reader.hpp"
#include "model_index.hpp"
#include "scale_conventions.hpp"
#include "stored_file.hpp"

namespace ulp::io {

struct scaled_tensor {
  const scale_convention* by = nullptr;
  std::string name;  // of the numbers
  std::vector<std::uint64_t> shape;
  std::vector<std::uint64_t> block;  // its extents in the numbers, one for each dimension
  placed_tensor scales;
  std::optional<placed_tensor> second;
  std::vector<std::size_t> used_up;  // tensors of the file that are these scales
  std::optional<format> bytes_are;   // codes that are bytes
};

// Of each tensor how it is decoded, where it is codes with scales, in this file or in another of the model, which `open` opens
// (nullptr: models have no such files). Throws input_error where scales lie beside codes and it cannot be said how they belong
// together, and where codes lack the scales that others of the file have: codes are not decoded without their scales.
// `limits.raw_codes`: they are, and nothing is scaled. `bytes_are`: what codes in bytes are; else these may be two codes each.
[[nodiscard]] std::vector<std::optional<scaled_tensor>> scaled_tensors_of(const stored_file& file,
                                                                          const read_limits& limits,
                                                                          open_stored_file open,
                                                                          const std::optional<format>& bytes_are = {});

// Of each tensor of the file whether it is scales of these, and so no tensor of its own.
[[nodiscard]] std::vector<bool> used_up_by(const std::vector<std::optional<scaled_tensor>>& scaled);

// "values are codes times their _scale_inv, one for each block of 128x128, as in DeepSeek".
[[nodiscard]] std::string text_of(const scaled_tensor& of);

// The numbers, as dumps have them.
[[nodiscard]] dump_reader::tensor tensor_of(const scaled_tensor& of, const stored_tensor& codes);

// The numbers, float32, little-endian, as the codes lie. The file must outlive the stream.
[[nodiscard]] std::unique_ptr<byte_stream> open_scaled(const stored_file& file, std::size_t index,
                                                       const scaled_tensor& by);

}  // namespace ulp::io

#endif
