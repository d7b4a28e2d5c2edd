// Bytes of elements to those of a format, a chunk at a time.
#ifndef ULP_IO_ARRAYS_CHUNKS_HPP
#define ULP_IO_ARRAYS_CHUNKS_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <ulp/formats/convert.hpp>

#include "arrays.hpp"

namespace ulp::io {

// Elements of a chunk: few enough that one stays in the caches between reading, converting and writing, and enough for
// several threads; even, so that no byte is half of one chunk's.
inline constexpr std::size_t chunk_elements = std::size_t{1} << 20;

// Where the elements of the output are codes of `to`, or, where they are binary32 and `to` is not, its numbers.
class chunk_converter {
 public:
  chunk_converter(const format& to, const stored_elements& output) : to_(to), output_(output) {}

  // Of an array that is read from its first element on. Of `how` the random stream begins there.
  void start(const stored_elements& input, const conversion& how);

  // To be filled with that many elements, at most chunk_elements; then convert() gives their bytes in the output,
  // little-endian, valid until the next call.
  [[nodiscard]] std::span<std::uint8_t> input(std::size_t elements);
  [[nodiscard]] std::span<const std::uint8_t> convert();

  [[nodiscard]] const conversion_counts& counts() const noexcept { return counts_; }
  [[nodiscard]] const rounding_bias& bias() const noexcept { return bias_; }

  // Of the last chunk the index in its array of the first element with bits above its code.
  [[nodiscard]] std::optional<std::uint64_t> first_beyond_code() const;

 private:
  void round();
  void encode();
  void encode(code_span codes);
  void add_bias();
  [[nodiscard]] unpacked element(std::size_t i) const;
  [[nodiscard]] const_code_span codes_in() const;

  format to_;
  stored_elements output_;
  stored_elements input_;
  conversion how_;
  conversion_counts counts_;
  rounding_bias bias_;
  std::size_t size_ = 0;
  std::vector<std::uint8_t> in_;
  std::vector<std::uint8_t> out_;
  std::vector<std::uint32_t> codes_;  // of numbers on their way to float
};

}  // namespace ulp::io

#endif
