// The numbers of codes and scales, one after the other.
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include <ulp/formats/catalog.hpp>
#include <ulp/formats/codec.hpp>
#include <ulp/formats/processor_state.hpp>
#include <ulp/io/bytes/error.hpp>
#include <ulp/model/cells/byte_order.hpp>
#include <ulp/model/cells/element_types.hpp>

#include "block_scales.hpp"
#include "bytes/text.hpp"

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
  scale_numbers(const stored_tensor& of, unsigned taken)
      : size_(of.as == stored_as::numbers ? static_cast<std::size_t>(size_of(of.number)) : 1),
        type_(of.number),
        order_(of.order) {
    if (of.as == stored_as::bytes || of.as == stored_as::e8m0 ||
        (of.as == stored_as::nameless && (taken & e4m3_scales) == 0))
      table_ = numbers_of_bytes();
    else if (of.as == stored_as::nameless)
      table_ = numbers_of(float8_e4m3fn);
    else if (size_ == 1)
      table_ = numbers_of(*properties_of(type_).of);
  }
  [[nodiscard]] float at(const std::vector<std::uint8_t>& bytes, std::uint64_t i) const {
    if (size_ == 1) return table_[bytes[i]];
    const std::uint64_t bits = bits_at(bytes.data() + i * size_, size_, order_);
    if (size_ == 4) return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    return to_float(*properties_of(type_).of, bits);
  }

 private:
  std::size_t size_;
  dtype type_;
  std::endian order_;
  table table_{};
};

// In the order of their shape.
std::vector<std::uint8_t> bytes_of_scales(const placed_tensor& t, const stored_file& at_hand) {
  std::vector<std::uint8_t> lying(t.entry.bytes);
  (t.file ? *t.file : at_hand).open_stored(t.index)->read(lying);
  const std::vector<std::size_t>& order = t.entry.lies_by;
  if (order.empty() || lying.empty()) return lying;
  const std::vector<std::uint64_t>& shape = t.entry.shape;
  std::vector<std::uint64_t> strides(shape.size(), 1);
  for (std::size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  const std::size_t size = lying.size() / (strides[0] * shape[0]);
  std::vector<std::uint8_t> ordered(lying.size());
  std::vector<std::uint64_t> at(shape.size());
  std::uint64_t place = 0;
  for (std::size_t n = 0; n < lying.size(); n += size) {
    std::memcpy(ordered.data() + place * size, lying.data() + n, size);
    for (std::size_t k = order.size(); k-- > 0;) {
      const std::size_t i = order[k];
      place += strides[i];
      if (++at[i] < shape[i]) break;
      place -= strides[i] * shape[i];
      at[i] = 0;
    }
  }
  return ordered;
}

std::vector<std::uint64_t> reordered(const std::vector<std::uint64_t>& of, const std::vector<std::size_t>& order) {
  if (order.empty()) return of;
  std::vector<std::uint64_t> made;
  for (const std::size_t i : order) made.push_back(of[i]);
  return made;
}

const format& format_of(const scaled_tensor& by, const stored_tensor& codes) {
  if (by.by->codes == code_kind::float4_pairs) return float4_e2m1;
  return by.bytes_are ? *by.bytes_are : *properties_of(codes.number).of;
}

// Goes through the elements as their codes lie.
class scaled_stream final : public byte_stream {
 public:
  scaled_stream(const stored_file& file, std::size_t index, const scaled_tensor& by)
      : shape_(reordered(by.shape, file.stored()[index].lies_by)),
        block_(reordered(by.block, file.stored()[index].lies_by)),
        is_pairs_(by.by->codes == code_kind::float4_pairs),
        numbers_(numbers_of(format_of(by, file.stored()[index]))),
        mask_(static_cast<std::uint8_t>(format_of(by, file.stored()[index]).code_mask())),
        place_(file.path(), file.stored()[index].name),
        in_(file.open_stored(index)),
        left_(in_->left() * (is_pairs_ ? 2 : 1) * sizeof(float)),
        scale_of_(by.scales.entry, by.by->scales),
        scales_(bytes_of_scales(by.scales, file)),
        at_(shape_.size()) {
    std::vector<std::uint64_t> strides(by.shape.size(), 0);
    std::uint64_t stride = 1;
    for (std::size_t i = by.shape.size(); i-- > 0;) {
      strides[i] = stride;
      stride *= by.shape[i] / by.block[i] + (by.shape[i] % by.block[i] != 0 ? 1 : 0);
    }
    strides_ = reordered(strides, file.stored()[index].lies_by);
    if (by.second) {
      const float tensor = scale_numbers(by.second->entry, float_scales).at(bytes_of_scales(*by.second, file), 0);
      (by.by->second == second_level::divides ? divisor_ : factor_) = tensor;
    }
    set_unit();
  }

  [[nodiscard]] std::uint64_t left() const noexcept override { return left_; }

  void read(std::span<std::uint8_t> into) override {
    const default_processor_state processor;
    const std::size_t size = into.size() / sizeof(float);
    take_codes(size);
    values_.resize(size);
    for (const std::uint8_t code : codes_)
      if (code > mask_)
        throw input_error(place_.first, "tensor " + in_quotes(place_.second),
                          "has bits above those of a code: is --from right?");
    for (std::size_t i = 0; i < size; ++i) {
      values_[i] = numbers_[codes_[i]] * unit_;
      advance();
    }
    store_little(into.data(), std::span<const float>{values_});
    left_ -= into.size();
  }

 private:
  void take_codes(std::size_t size) {
    if (!is_pairs_) {
      codes_.resize(size);
      return in_->read(codes_);
    }
    codes_.clear();
    if (half_ && size > 0) codes_.push_back(*half_);
    if (!codes_.empty()) half_.reset();
    bytes_.resize((size - codes_.size() + 1) / 2);
    in_->read(bytes_);
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
  std::uint8_t mask_;  // of a code
  std::pair<std::string, std::string> place_;
  std::unique_ptr<byte_stream> in_;
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

std::unique_ptr<byte_stream> open_scaled(const stored_file& file, std::size_t index, const scaled_tensor& by) {
  return std::make_unique<scaled_stream>(file, index, by);
}

}  // namespace ulp::io
