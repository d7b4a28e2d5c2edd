#include "block_values.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <ulp/formats/codec.hpp>
#include <ulp/formats/random_bits.hpp>
#include <ulp/model/cells/element_types.hpp>

#include "bytes/cursor.hpp"

namespace ulp::io {
namespace {

constexpr std::size_t at_once = 1 << 18;  // values

}  // namespace

matrix_extent matrix_of(const dump_reader::tensor& of) {
  if (of.shape.empty() || of.numel == 0) return {1, of.numel};
  return {of.numel / of.shape.back(), of.shape.back()};
}

std::string why_no_blocks(const dump_reader::tensor& of) {
  if (of.type == dtype::float64) return "is float64, and blocks are of float32 numbers";
  if (of.times != 1 || !of.row_by_row) return "is not stored row by row";
  return {};
}

std::string why_not_quantized(const dump_reader::tensor& of, std::span<const block_quantization> by) {
  std::string why = why_no_blocks(of);
  for (const block_quantization& asked : by)
    if (why.empty()) why = ulp::why_not_quantized(asked, matrix_of(of));
  return why;
}

std::vector<float> float_values(dump_reader& from, std::size_t index) {
  const dump_reader::tensor& of = from.tensors()[index];
  const auto size = static_cast<std::size_t>(size_of(of.type));
  std::vector<float> decoded;  // of 16- and 8-bit types, by code
  if (const format* const codes = format_of_codes(of.type))
    for (std::uint64_t c = 0; c <= codes->code_mask(); ++c) decoded.push_back(to_float(*codes, c));
  std::vector<float> values(of.numel);
  const std::unique_ptr<byte_stream> in = from.open(index);
  std::vector<std::uint8_t> bytes;
  for (std::size_t at = 0; at < values.size();) {
    const std::size_t n = std::min(at_once, values.size() - at);
    bytes.resize(n * size);
    in->read(bytes);
    if (size == 4 && of.order == std::endian::native)
      std::memcpy(values.data() + at, bytes.data(), bytes.size());
    else
      for (std::size_t i = 0; i < n; ++i) {
        const std::uint64_t bits = bits_at(bytes.data() + i * size, size, of.order);
        values[at + i] = size == 4 ? std::bit_cast<float>(static_cast<std::uint32_t>(bits)) : decoded[bits];
      }
    at += n;
  }
  return values;
}

std::shared_ptr<const std::vector<block_table>> blocks_of(dump_reader& from, std::size_t index,
                                                          std::span<const block_extent> blocks) {
  const dump_reader::tensor& of = from.tensors()[index];
  const std::vector<float> values = float_values(from, index);
  std::vector<block_table> tables;
  for (const block_extent& block : blocks)
    if (block.columns != 1 || of.shape.size() > 1) tables.push_back(count_blocks(values, matrix_of(of), block, 0));
  if (tables.empty()) return nullptr;
  return std::make_shared<const std::vector<block_table>>(std::move(tables));
}

std::shared_ptr<const std::vector<quantized_outcomes>> quantized_of(dump_reader& from, std::size_t index,
                                                                    std::span<const block_quantization> by,
                                                                    std::int64_t step) {
  const dump_reader::tensor& of = from.tensors()[index];
  if (of.shape.size() < 2 && std::ranges::any_of(by, &block_quantization::along_other)) return nullptr;
  const std::vector<float> values = float_values(from, index);
  std::vector<quantized_outcomes> all;
  for (const block_quantization& asked : by)
    all.push_back(quantize_values(asked, values, matrix_of(of), stream_of(of.name, step)));
  return std::make_shared<const std::vector<quantized_outcomes>>(std::move(all));
}

}  // namespace ulp::io
