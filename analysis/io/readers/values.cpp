#include "values.hpp"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include <ulp/model/codes.hpp>

namespace ulp::io {
namespace {

constexpr std::size_t chunk_bytes = std::size_t{1} << 18;

template <typename T>
std::vector<T> as(byte_span bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

void count_codes(byte_span native, std::uint64_t size, std::vector<std::uint64_t>& counts) {
  if (size == 1)
    for (const std::uint8_t code : native) ++counts[code];
  else
    for (const std::uint16_t code : as<std::uint16_t>(native)) ++counts[code];
}

// What was counted; the counts are zero again.
std::vector<code_count> take_codes(std::vector<std::uint64_t>& counts) {
  std::vector<code_count> codes;
  for (std::size_t code = 0; code < counts.size(); ++code)
    if (counts[code] > 0)
      codes.push_back({.code = static_cast<std::uint32_t>(code), .count = std::exchange(counts[code], 0)});
  return codes;
}

void reverse_each(std::span<std::uint8_t> bytes, std::size_t size) {
  for (; !bytes.empty(); bytes = bytes.subspan(size)) std::ranges::reverse(bytes.first(size));
}

}  // namespace

std::uint64_t size_of(dtype type) noexcept {
  switch (type) {
    case dtype::unknown: break;
    case dtype::float64: return 8;
    case dtype::float32: return 4;
    case dtype::float16:
    case dtype::bfloat16: return 2;
    case dtype::float8_e4m3fn:
    case dtype::float8_e5m2:
    case dtype::float8_e4m3fnuz:
    case dtype::float8_e5m2fnuz: return 1;
  }
  return 0;
}

counted_values count_values(byte_stream& in, element how, std::uint64_t numel, cell_counter& counter,
                            std::span<const double> edges) {
  static_cast<void>(counter.take());
  counter.set_edges(edges);
  const std::uint64_t size = size_of(how.type);
  const std::uint64_t values_per_chunk = chunk_bytes / size;
  std::vector<std::uint8_t> buffer(std::min(numel, values_per_chunk) * size);
  thread_local std::vector<std::uint64_t> code_counts(std::size_t{1} << 16);
  static_cast<void>(take_codes(code_counts));
  while (numel > 0) {
    const std::uint64_t values = std::min(numel, values_per_chunk);
    const auto chunk = std::span(buffer).first(values * size);
    in.read(chunk);
    if (how.order != std::endian::native) reverse_each(chunk, size);
    if (how.type == dtype::float64)
      counter.add(as<double>(chunk));
    else if (how.type == dtype::float32)
      counter.add(as<float>(chunk));
    else
      count_codes(chunk, size, code_counts);
    numel -= values;
  }
  counted_values all{.codes = take_codes(code_counts)};
  if (!all.codes.empty()) counter.add(*format_of_codes(how.type), all.codes);
  all.table = counter.take();
  return all;
}

}  // namespace ulp::io
