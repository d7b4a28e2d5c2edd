#include <algorithm>
#include <utility>

#include <ulp/formats/blocks.hpp>

#include "code_table.hpp"

namespace ulp {

block_array::block_array(block_codec codec, std::size_t block_size, std::size_t size)
    : codec_(std::move(codec)),
      block_size_(block_size),
      codes_(codec_.map().size() == 16 ? (size + 1) / 2 : size),
      absmax_(block_count(size, block_size)) {}

void block_array::load(std::size_t first, std::span<float> out) const {
  const std::size_t n = out.size();
  const std::span<const float> map = codec_.map();
  const bool packed = map.size() == 16;
  for (std::size_t at = 0; at < n; at += block_size_) {
    const float absmax = absmax_[(first + at) / block_size_];
    const std::size_t end = std::min(at + block_size_, n);
    if (packed)
      for (std::size_t i = at; i < end; ++i) {
        const std::uint8_t pair = codes_[(first + i) / 2];
        out[i] = map[(first + i) % 2 == 0 ? pair >> 4U : pair & 15U] * absmax;
      }
    else
      detail::dequantize_codes(std::span{codes_}.subspan(first + at, end - at), map.data(), absmax,
                               out.subspan(at, end - at));
  }
}

void block_array::store(std::size_t first, std::span<const float> x) {
  const std::size_t n = x.size();
  const bool packed = codec_.map().size() == 16;
  for (std::size_t at = 0; at < n; at += block_size_) {
    const std::size_t count = std::min(block_size_, n - at);
    float& absmax = absmax_[(first + at) / block_size_];
    const bool is_short = count < block_size_;
    if (!packed) {
      absmax = codec_.quantize_block(x.subspan(at, count), is_short, std::span{codes_}.subspan(first + at, count));
      continue;
    }
    std::vector<std::uint8_t> codes(count);
    absmax = codec_.quantize_block(x.subspan(at, count), is_short, codes);
    for (std::size_t i = 0; i < count; ++i) {
      std::uint8_t& pair = codes_[(first + at + i) / 2];
      pair = static_cast<std::uint8_t>((first + at + i) % 2 == 0 ? (pair & 15U) | codes[i] << 4U
                                                                 : (pair & 0xF0U) | codes[i]);
    }
  }
}

}  // namespace ulp
