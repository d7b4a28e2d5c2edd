// Inputs held against read_limits: each throws input_error that names the limit and how to raise it.
#ifndef ULP_IO_BYTES_WITHIN_HPP
#define ULP_IO_BYTES_WITHIN_HPP

#include <cstdint>
#include <string>

#include <ulp/io/bytes/limits.hpp>

#include "cursor.hpp"

namespace ulp::io {

// Text is kept by some of its readers, arrays are counted as they come.
constexpr std::uint64_t inflated_arrays = std::uint64_t{256} << 20;
constexpr std::uint64_t inflated_text = std::uint64_t{32} << 20;

// `what` is in the plural: "tensors", "members".
void check_count(std::uint64_t count, const read_limits& limits, const std::string& file, const std::string& place,
                 const std::string& what);
// A header, directory or pickle of that many bytes.
void check_header(std::uint64_t bytes, const read_limits& limits, const file_reader& file, const std::string& place);
// `packed` bytes that became, or are said to become, so many.
void check_inflated(std::uint64_t inflated, std::uint64_t packed, std::uint64_t always, const read_limits& limits,
                    const std::string& file, const std::string& place);

}  // namespace ulp::io

#endif
