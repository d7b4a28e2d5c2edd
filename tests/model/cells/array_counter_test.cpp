// Pins that arrays are counted as cell_counter and tensor_counter count them, whatever the number of threads, and what a last
// block that is filled with zeros counts.
#include "support/catch.hpp"

#include <ulp/formats/codec.hpp>
#include <ulp/model/cells/array_counter.hpp>
#include <ulp/model/cells/element_types.hpp>

#include <algorithm>
#include <bit>
#include <random>
#include <span>
#include <vector>

using namespace ulp;

namespace {

std::vector<std::uint8_t> random_bytes(std::size_t size, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::uint8_t> bytes(size);
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random());
  return bytes;
}

// Each value alone, by the reference.
cell_table reference(std::span<const double> values) {
  REQUIRE(force_counting_kernel("reference"));
  cell_counter counter;
  for (const double x : values) counter.add(std::span(&x, 1));
  REQUIRE(force_counting_kernel(counting_kernels().back()));
  return counter.take();
}

}  // namespace

TEST_CASE("every number of values up to some blocks is counted as one after the other") {
  std::mt19937 random(1);
  std::vector<float> values(900);
  for (float& x : values) {
    const auto bits = static_cast<std::uint32_t>(random());
    x = std::bit_cast<float>(random() % 8 == 0 ? bits & 0x807FFFFF : random() % 8 == 0 ? bits & 0x80000000 : bits);
  }
  for (std::size_t size = 0; size <= values.size(); size += size < 600 ? 1 : 37) {
    INFO(size);
    const std::span<const float> some(values.data(), size);
    const std::vector<double> doubles(some.begin(), some.end());
    CHECK(count_cells(some) == reference(doubles));
  }
}

TEST_CASE("tables of codes are those of their values") {
  for (int type = 1; type <= static_cast<int>(last_dtype); ++type) {
    const format* const narrow = format_of_codes(static_cast<dtype>(type));
    if (narrow == nullptr) continue;
    std::vector<code_count> codes;
    std::vector<double> values;
    for (std::uint32_t code = 0; code <= narrow->code_mask(); code += code % 3 + 1) {
      codes.push_back({.code = code, .count = code % 5 + 1});
      for (std::uint32_t i = 0; i <= code % 5; ++i) values.push_back(to_double(*narrow, code));
    }
    CHECK(table_of_codes(static_cast<dtype>(type), codes, true) == reference(values));
    // One binade, one sign, no finite value, nothing at all.
    for (const std::size_t size : {0, 1, 2, 9}) {
      const auto some = std::span(codes).first(size);
      cell_counter counter;
      counter.add(*narrow, some);
      CHECK(table_of_codes(static_cast<dtype>(type), some, true) == counter.take());
    }
  }
}

TEST_CASE("arrays of all types are counted in any number of threads") {
  const auto bytes = random_bytes(std::size_t{9} << 20, 7);  // several pieces of bytes
  std::vector<value_array> arrays;
  for (int type = 1; type <= static_cast<int>(last_dtype); ++type)
    for (const std::size_t size :
         {std::size_t{0}, std::size_t{1}, std::size_t{1000}, std::size_t{200'000}, bytes.size()})
      if (size * size_of(static_cast<dtype>(type)) <= bytes.size())
        arrays.push_back({.values = bytes.data(), .size = size, .type = static_cast<dtype>(type)});
  const auto once = count_arrays(arrays, cell_counter::with::sums);
  const auto twice = count_arrays(arrays, cell_counter::with::sums, 2);
  std::size_t next = 0;
  tensor_counter chunks;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    INFO(to_string(arrays[i].type) << ' ' << arrays[i].size);
    CHECK(once[i].table == twice[i].table);
    CHECK(once[i].codes == twice[i].codes);
    const std::size_t value = size_of(arrays[i].type);
    next = 0;
    const auto in_chunks = chunks.count(1, {}, [&](value_chunk& chunk) {
      const std::size_t end = std::min(arrays[i].size * value, next + 65536);
      if (next == end) return false;
      chunk.type = arrays[i].type;
      chunk.order = std::endian::native;
      chunk.bytes.assign(bytes.begin() + static_cast<std::ptrdiff_t>(next),
                         bytes.begin() + static_cast<std::ptrdiff_t>(end));
      next = end;
      return true;
    });
    CHECK(in_chunks[0].table == once[i].table);
    CHECK(in_chunks[0].codes == once[i].codes);
  }
}
