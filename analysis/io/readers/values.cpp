#include "values.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include <ulp/formats/catalog.hpp>
#include <ulp/formats/codec.hpp>

namespace ulp::io {
namespace {

constexpr std::size_t chunk_bytes = std::size_t{1} << 18;

const std::vector<float>& float16_values() {
  static const std::vector<float> table = [] {
    std::vector<float> values(std::size_t{1} << 16);
    for (std::size_t code = 0; code < values.size(); ++code) values[code] = to_float(float16, code);
    return values;
  }();
  return table;
}

template <typename T>
std::vector<T> as(byte_span bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

template <typename ToFloat>
std::vector<float> widened(byte_span bytes, ToFloat to) {
  std::vector<float> values;
  values.reserve(bytes.size() / 2);
  for (const std::uint16_t code : as<std::uint16_t>(bytes)) values.push_back(to(code));
  return values;
}

void add(byte_span native, dtype type, cell_counter& counter) {
  switch (type) {
    case dtype::unknown: break;
    case dtype::float64: counter.add(as<double>(native)); break;
    case dtype::float32: counter.add(as<float>(native)); break;
    case dtype::float16: {
      const std::vector<float>& table = float16_values();
      counter.add(widened(native, [&](std::uint16_t code) { return table[code]; }));
      break;
    }
    case dtype::bfloat16:
      counter.add(widened(
          native, [](std::uint16_t code) { return std::bit_cast<float>(static_cast<std::uint32_t>(code) << 16); }));
      break;
  }
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
  }
  return 0;
}

cell_table count_values(byte_stream& in, element how, std::uint64_t numel, cell_counter& counter) {
  static_cast<void>(counter.take());
  const std::uint64_t size = size_of(how.type);
  const std::uint64_t values_per_chunk = chunk_bytes / size;
  std::vector<std::uint8_t> buffer(std::min(numel, values_per_chunk) * size);
  while (numel > 0) {
    const std::uint64_t values = std::min(numel, values_per_chunk);
    const auto chunk = std::span(buffer).first(values * size);
    in.read(chunk);
    if (how.order != std::endian::native) reverse_each(chunk, size);
    add(chunk, how.type, counter);
    numel -= values;
  }
  return counter.take();
}

}  // namespace ulp::io
