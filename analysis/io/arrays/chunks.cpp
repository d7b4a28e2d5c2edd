#include "chunks.hpp"

#include <algorithm>
#include <bit>

#include <ulp/formats/arithmetic.hpp>
#include <ulp/formats/codec.hpp>
#include <ulp/model/cells/byte_order.hpp>
#include <ulp/model/precision/random_bit_need.hpp>

namespace ulp::io {
namespace {

template <class T>
std::span<T> elements(std::vector<std::uint8_t>& bytes, std::size_t size) {
  return {reinterpret_cast<T*>(bytes.data()), size};
}
template <class T>
std::span<const T> elements(const std::vector<std::uint8_t>& bytes, std::size_t size) {
  return {reinterpret_cast<const T*>(bytes.data()), size};
}

template <class T>
std::optional<std::size_t> first_above(std::span<const T> codes, std::uint64_t mask) {
  T bits = 0;
  for (const T code : codes) bits |= code;
  if ((bits & ~mask) == 0) return std::nullopt;
  return std::ranges::find_if(codes, [&](T code) { return (code & ~mask) != 0; }) - codes.begin();
}

}  // namespace

void chunk_converter::start(const stored_elements& input, const conversion& how) {
  input_ = input;
  how_ = how;
  counts_ = {};
  bias_ = {};
  size_ = 0;
}

std::span<std::uint8_t> chunk_converter::input(std::size_t elements) {
  how_.random.first += size_;
  size_ = elements;
  in_.resize(elements * static_cast<std::size_t>(input_.bytes));
  return in_;
}

const_code_span chunk_converter::codes_in() const {
  if (input_.bytes == 1) return elements<std::uint8_t>(in_, size_);
  if (input_.bytes == 2) return elements<std::uint16_t>(in_, size_);
  return elements<std::uint32_t>(in_, size_);
}

std::optional<std::uint64_t> chunk_converter::first_beyond_code() const {
  std::optional<std::size_t> found;
  const std::uint64_t mask = input_.of.code_mask();
  if (input_.of.width() == 8 * input_.bytes) return std::nullopt;
  if (input_.bytes == 1) found = first_above(elements<std::uint8_t>(in_, size_), mask);
  if (input_.bytes == 2) found = first_above(elements<std::uint16_t>(in_, size_), mask);
  if (input_.bytes == 4) found = first_above(elements<std::uint32_t>(in_, size_), mask);
  return found ? std::optional(how_.random.first + *found) : std::nullopt;
}

void chunk_converter::encode(code_span codes) {
  if (input_.of == binary32)
    encode_array(to_, elements<float>(in_, size_), codes, how_, &counts_);
  else if (input_.of == binary64)
    encode_array(to_, elements<double>(in_, size_), codes, how_, &counts_);
  else
    recode_array(to_, codes, input_.of, codes_in(), how_, &counts_);
}

unpacked chunk_converter::element(std::size_t i) const {
  const auto bits = bits_at(in_.data() + i * static_cast<std::size_t>(input_.bytes),
                            static_cast<std::size_t>(input_.bytes), std::endian::native);
  return decode(input_.of, bits);
}

void chunk_converter::add_bias() {
  constexpr int few = 24;
  const rounding& mode = how_.rounding;
  if (mode.direction != direction::stochastic || mode.random_bits == exact_probability || mode.random_bits >= few ||
      mode.flush != flush::never || mode.daz || !to_.has_subnormals())
    return;
  const unpacked scale = decode(binary64, std::bit_cast<std::uint64_t>(how_.scale));
  for (std::size_t i = 0; i < size_; ++i) {
    unpacked x = element(i);
    if (x.kind == number_class::zero) ++bias_.values;
    if (x.kind != number_class::finite) continue;
    if (how_.scale != 1) x = detail::exact_product(x, scale);
    const auto error = mean_stochastic_error(to_, x, mode.definition, mode.random_bits);
    if (!error) continue;
    bias_.sum += *error;
    ++bias_.values;
  }
}

void chunk_converter::round() {
  out_.resize(size_ * sizeof(float));
  const std::span<float> numbers = elements<float>(out_, size_);
  if (input_.of == binary32) return round_array(to_, elements<float>(in_, size_), numbers, how_, &counts_);
  codes_.resize(size_);
  encode(code_span{std::span{codes_}});
  decode_array(to_, const_code_span{std::span<const std::uint32_t>{codes_}}, numbers, how_.threads);
}

void chunk_converter::encode() {
  out_.resize(output_.bytes == 0 ? (size_ + 1) / 2 : size_ * static_cast<std::size_t>(output_.bytes));
  switch (output_.bytes) {
    case 0: encode(code_span::packed(out_, size_)); break;
    case 1: encode(elements<std::uint8_t>(out_, size_)); break;
    case 2: encode(elements<std::uint16_t>(out_, size_)); break;
    default: encode(elements<std::uint32_t>(out_, size_)); break;
  }
}

std::span<const std::uint8_t> chunk_converter::convert() {
  reverse_unless_native(in_, static_cast<std::size_t>(input_.bytes), input_.order);
  add_bias();
  const bool are_numbers = output_.of != to_;
  are_numbers ? round() : encode();
  reverse_unless_native(out_, are_numbers ? sizeof(float) : static_cast<std::size_t>(output_.bytes),
                        std::endian::little);
  return out_;
}

}  // namespace ulp::io
