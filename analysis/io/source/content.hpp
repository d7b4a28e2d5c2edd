// What a file is, read from its first bytes.
#ifndef ULP_IO_SOURCE_CONTENT_HPP
#define ULP_IO_SOURCE_CONTENT_HPP

#include <string>

#include <ulp/io/limits.hpp>

namespace ulp::io {

// text: CSV or a training log.
enum class content { safetensors, npz, npy, pt, tfevents, recording, text };

// Throws input_error for a file that is none of these, and says what it is where that is known. The name's extension
// decides only where the bytes do not, so that a damaged file gets the error of its own reader.
[[nodiscard]] content content_of(const std::string& path, const read_limits& limits = {});

}  // namespace ulp::io

#endif
