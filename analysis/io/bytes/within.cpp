#include "within.hpp"

#include <ulp/io/bytes/error.hpp>

namespace ulp::io {
namespace {

constexpr std::uint64_t small_header = 4'000'000;

}  // namespace

void check_count(std::uint64_t count, const read_limits& limits, const std::string& file, const std::string& place,
                 const std::string& what) {
  if (count > limits.tensors)
    throw input_error(
        file, place,
        "holds " + std::to_string(count) + " " + what + " or more; " + limit_text(limits, &read_limits::tensors));
}

void check_header(std::uint64_t bytes, const read_limits& limits, const file_reader& file, const std::string& place) {
  if (bytes > limits.header)
    throw input_error(file.path(), place,
                      "takes " + std::to_string(bytes) + " bytes; " + limit_text(limits, &read_limits::header));
  const auto share = checked_mul(file.size(), limits.header_share);
  if (bytes > small_header && share && bytes > *share / 100)
    throw input_error(file.path(), place,
                      "takes " + std::to_string(bytes) + " of the " + std::to_string(file.size()) +
                          " bytes of the file; " + limit_text(limits, &read_limits::header_share));
}

void check_inflated(std::uint64_t inflated, std::uint64_t packed, std::uint64_t always, const read_limits& limits,
                    const std::string& file, const std::string& place) {
  const auto most = checked_mul(packed, limits.inflate_ratio);
  if (inflated > always && most && inflated > *most)
    throw input_error(file, place,
                      std::to_string(packed) + " compressed bytes become " + std::to_string(inflated) + " or more; " +
                          limit_text(limits, &read_limits::inflate_ratio));
}

}  // namespace ulp::io
