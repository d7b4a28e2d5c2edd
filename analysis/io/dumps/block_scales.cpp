#include "block_scales.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <span>
#include <string_view>
#include <unordered_map>

#include <ulp/formats/convert.hpp>
#include <ulp/model/cells/element_types.hpp>

namespace ulp::io {
namespace {

constexpr std::string_view suffix = "_scale_inv";
constexpr std::uint64_t usual_extent = 128;     // of DeepSeek-V3's blocks, the last of a row or column being cut off
constexpr std::uint64_t most_scales = 1 << 24;  // they are held in memory

bool has_narrow_codes(const safetensors_entry& e) { return e.type->bits == 8 && e.type->type != dtype::unknown; }

// Products with them are exact in float64.
bool can_scale(const safetensors_entry& e) {
  return e.type->type == dtype::float32 || e.type->type == dtype::bfloat16 || e.type->type == dtype::float16;
}

// The extents of the blocks that `of` has one of `scales` for; nullopt where there are none.
std::optional<std::vector<std::uint64_t>> block_of(const std::vector<std::uint64_t>& of,
                                                   const std::vector<std::uint64_t>& scales) {
  const auto count = checked_product(scales);
  if (!count || *count == 0 || *count > most_scales) return std::nullopt;
  if (*count == 1) return of;
  if (of.size() != scales.size()) return std::nullopt;
  std::vector<std::uint64_t> block;
  for (std::size_t i = 0; i < of.size(); ++i) {
    const bool is_usual = of[i] / usual_extent + (of[i] % usual_extent != 0 ? 1 : 0) == scales[i];
    if (!is_usual && (scales[i] == 0 || of[i] % scales[i] != 0)) return std::nullopt;
    block.push_back(is_usual ? std::min(usual_extent, of[i]) : of[i] / scales[i]);
  }
  return block;
}

void decode(dtype type, std::span<const std::uint8_t> bytes, std::span<double> to) {
  const format& of = *properties_of(type).of;
  if (size_of(type) == 1) return decode_array(of, const_code_span{bytes}, to, 1);
  for (std::size_t i = 0; i < to.size(); ++i)
    to[i] = to_double(of, bits_at(bytes.data() + i * size_of(type), size_of(type), std::endian::little));
}

class scaled_stream final : public byte_stream {
 public:
  scaled_stream(const file_reader& file, const safetensors_header& header, std::size_t index, const block_scales& by)
      : entry_(header.entries[index]),
        block_(by.block),
        in_(file, header.data + entry_.offsets[0], entry_.bytes()),
        at_(entry_.shape.size()) {
    const safetensors_entry& s = header.entries[by.scales];
    scales_.resize(s.bytes() / size_of(s.type->type));
    decode(s.type->type, file.read(header.data + s.offsets[0], s.bytes()), scales_);
    strides_.resize(block_.size(), 0);
    if (scales_.size() == 1) return;
    std::uint64_t stride = 1;
    for (std::size_t i = strides_.size(); i-- > 0; stride *= s.shape[i]) strides_[i] = stride;
  }

  [[nodiscard]] std::uint64_t left() const noexcept override { return in_.left() * sizeof(double); }

  void read(std::span<std::uint8_t> into) override {
    static_assert(std::endian::native == std::endian::little);
    codes_.resize(into.size() / sizeof(double));
    values_.resize(codes_.size());
    in_.read(codes_);
    decode(entry_.type->type, codes_, values_);
    for (double& value : values_) {
      value *= scales_[scale_];
      advance();
    }
    std::memcpy(into.data(), values_.data(), into.size());
  }

 private:
  // To the next element; its scale changes where a block ends.
  void advance() {
    for (std::size_t i = at_.size(); i-- > 0;) {
      if (++at_[i] == entry_.shape[i]) {
        scale_ -= strides_[i] * ((at_[i] - 1) / block_[i]);
        at_[i] = 0;
        continue;
      }
      if (at_[i] % block_[i] == 0) scale_ += strides_[i];
      return;
    }
  }

  const safetensors_entry& entry_;
  std::vector<std::uint64_t> block_;
  file_stream in_;
  std::vector<double> scales_;
  std::vector<std::uint64_t> strides_;  // in scales_, of the next block of each dimension
  std::vector<std::uint64_t> at_;       // the element
  std::uint64_t scale_ = 0;             // in scales_
  std::vector<std::uint8_t> codes_;
  std::vector<double> values_;
};

}  // namespace

std::vector<std::optional<block_scales>> block_scales_of(const std::vector<safetensors_entry>& entries) {
  std::unordered_map<std::string_view, std::size_t> by_name;
  for (std::size_t i = 0; i < entries.size(); ++i)
    if (can_scale(entries[i]) && entries[i].name.ends_with(suffix)) by_name.emplace(entries[i].name, i);
  std::vector<std::optional<block_scales>> all(entries.size());
  if (by_name.empty()) return all;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (!has_narrow_codes(entries[i])) continue;
    const auto found = by_name.find(entries[i].name + std::string{suffix});
    if (found == by_name.end()) continue;
    if (const auto block = block_of(entries[i].shape, entries[found->second].shape))
      all[i] = block_scales{.scales = found->second, .block = *block};
  }
  return all;
}

std::string text_of(const block_scales& of, const std::vector<safetensors_entry>& entries) {
  const safetensors_entry& scales = entries[of.scales];
  std::string text = "values are codes times their " + std::string{suffix};
  if (checked_product(scales.shape).value_or(0) == 1) return text;
  for (std::size_t i = 0; i < of.block.size(); ++i)
    text += (i == 0 ? ", one for each block of " : "x") + std::to_string(of.block[i]);
  return text;
}

std::unique_ptr<byte_stream> open_scaled(const file_reader& file, const safetensors_header& header, std::size_t index,
                                         const block_scales& by) {
  return std::make_unique<scaled_stream>(file, header, index, by);
}

}  // namespace ulp::io
