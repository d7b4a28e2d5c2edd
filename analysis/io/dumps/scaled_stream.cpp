// The numbers of codes and scales, one after the other.
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <span>

#include <ulp/formats/catalog.hpp>
#include <ulp/formats/codec.hpp>
#include <ulp/formats/processor_state.hpp>
#include <ulp/model/cells/element_types.hpp>

#include "block_scales.hpp"

namespace ulp::io {
namespace {

using table = std::array<float, 256>;

table numbers_of(const format& of) {
  table all{};
  for (std::uint32_t code = 0; code <= of.code_mask(); ++code) all[code] = to_float(of, code);
  return all;
}

table numbers_of_bytes() {
  table all{};
  for (int code = 0; code < 255; ++code) all[static_cast<std::size_t>(code)] = std::ldexp(1.0F, code - 127);
  all[255] = std::nanf("");
  return all;
}

// What scales are stored as.
class scale_numbers {
 public:
  explicit scale_numbers(const safetensors_type& type) : size_(type.bits / 8), type_(type.type) {
    if (type.type == dtype::unknown)
      table_ = numbers_of_bytes();
    else if (size_ == 1)
      table_ = numbers_of(*properties_of(type.type).of);
  }
  [[nodiscard]] float at(const std::vector<std::uint8_t>& bytes, std::uint64_t i) const {
    if (size_ == 1) return table_[bytes[i]];
    const std::uint64_t bits = bits_at(bytes.data() + i * size_, size_, std::endian::little);
    if (size_ == 4) return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    return to_float(*properties_of(type_).of, bits);
  }

 private:
  std::size_t size_;
  dtype type_;
  table table_{};
};

std::vector<std::uint8_t> bytes_of(const placed_tensor& t, const file_reader& at_hand) {
  return (t.file ? *t.file : at_hand).read(t.data + t.entry.offsets[0], t.entry.bytes());
}

class scaled_stream final : public byte_stream {
 public:
  scaled_stream(const file_reader& file, const safetensors_header& header, std::size_t index, const scaled_tensor& by)
      : shape_(by.shape),
        block_(by.block),
        is_pairs_(by.by->codes == code_kind::float4_pairs),
        numbers_(is_pairs_ ? numbers_of(float4_e2m1) : numbers_of(*properties_of(header.entries[index].type->type).of)),
        in_(file, header.data + header.entries[index].offsets[0], header.entries[index].bytes()),
        left_(in_.left() * (is_pairs_ ? 2 : 1) * sizeof(float)),
        scale_of_(*by.scales.entry.type),
        scales_(bytes_of(by.scales, file)),
        at_(shape_.size()) {
    strides_.resize(shape_.size(), 0);
    std::uint64_t stride = 1;
    for (std::size_t i = shape_.size(); i-- > 0;) {
      strides_[i] = stride;
      stride *= shape_[i] / block_[i] + (shape_[i] % block_[i] != 0 ? 1 : 0);
    }
    if (by.second) {
      const float tensor = scale_numbers(*by.second->entry.type).at(bytes_of(*by.second, file), 0);
      (by.by->second == second_level::divides ? divisor_ : factor_) = tensor;
    }
    set_unit();
  }

  [[nodiscard]] std::uint64_t left() const noexcept override { return left_; }

  void read(std::span<std::uint8_t> into) override {
    static_assert(std::endian::native == std::endian::little);
    const default_processor_state processor;
    const std::size_t size = into.size() / sizeof(float);
    take_codes(size);
    values_.resize(size);
    for (std::size_t i = 0; i < size; ++i) {
      values_[i] = numbers_[codes_[i]] * unit_;
      advance();
    }
    std::memcpy(into.data(), values_.data(), into.size());
    left_ -= into.size();
  }

 private:
  void take_codes(std::size_t size) {
    if (!is_pairs_) {
      codes_.resize(size);
      return in_.read(codes_);
    }
    codes_.clear();
    if (half_ && size > 0) codes_.push_back(*half_);
    if (!codes_.empty()) half_.reset();
    bytes_.resize((size - codes_.size() + 1) / 2);
    in_.read(bytes_);
    for (const std::uint8_t byte : bytes_) {
      codes_.push_back(byte & 15U);
      codes_.push_back(byte >> 4U);
    }
    if (codes_.size() <= size) return;
    half_ = codes_.back();
    codes_.pop_back();
  }

  // The order of operations is that of the originals, see scale_conventions.cpp.
  void set_unit() {
    if (scales_.empty()) return;
    const float scale = scale_of_.at(scales_, scale_);
    unit_ = divisor_ ? scale / *divisor_ : factor_ ? scale * *factor_ : scale;
  }

  // To the next element; its scale changes where a block ends.
  void advance() {
    for (std::size_t i = at_.size(); i-- > 0;) {
      if (++at_[i] == shape_[i]) {
        scale_ -= strides_[i] * ((at_[i] - 1) / block_[i]);
        at_[i] = 0;
        is_moved_ = true;
        continue;
      }
      if (at_[i] % block_[i] == 0) {
        scale_ += strides_[i];
        is_moved_ = true;
      }
      break;
    }
    if (is_moved_) set_unit();
    is_moved_ = false;
  }

  std::vector<std::uint64_t> shape_;
  std::vector<std::uint64_t> block_;
  bool is_pairs_;
  table numbers_;
  file_stream in_;
  std::uint64_t left_;
  scale_numbers scale_of_;
  std::vector<std::uint8_t> scales_;
  std::vector<std::uint64_t> strides_;  // in scales_, of the next block of each dimension
  std::vector<std::uint64_t> at_;       // the element
  std::optional<float> factor_;         // of the tensor
  std::optional<float> divisor_;
  std::uint64_t scale_ = 0;  // in scales_
  float unit_ = 1;
  bool is_moved_ = false;
  std::optional<std::uint8_t> half_;  // a code that was not asked for yet
  std::vector<std::uint8_t> bytes_;
  std::vector<std::uint8_t> codes_;
  std::vector<float> values_;
};

}  // namespace

std::unique_ptr<byte_stream> open_scaled(const file_reader& file, const safetensors_header& header, std::size_t index,
                                         const scaled_tensor& by) {
  return std::make_unique<scaled_stream>(file, header, index, by);
}

}  // namespace ulp::io
