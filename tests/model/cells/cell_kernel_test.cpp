// Pins that every counting kernel gives the tables of the reference, and that tables do not depend on threads and chunks.
#include "support/catch.hpp"

#include <ulp/model/cells/cell_counter.hpp>
#include <ulp/model/cells/tensor_counter.hpp>

#include <bit>
#include <cstring>
#include <limits>
#include <random>
#include <stdexcept>
#include <string>

using namespace ulp;

namespace {

cell_table counted_by(std::string_view kernel, std::span<const float> values, bool with_sums = true) {
  REQUIRE(force_counting_kernel(kernel));
  cell_counter counter(with_sums ? cell_counter::with::sums : cell_counter::with::nothing);
  counter.add(values);
  const cell_table table = counter.take();
  REQUIRE(force_counting_kernel(counting_kernels().back()));
  return table;
}

std::vector<float> from_bits(std::size_t count, std::uint32_t mask, std::uint32_t set, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> values(count);
  for (float& x : values) x = std::bit_cast<float>((static_cast<std::uint32_t>(random()) & mask) | set);
  return values;
}

void check_all(std::span<const float> values) {
  for (const bool with_sums : {true, false}) {
    const cell_table expected = counted_by("reference", values, with_sums);
    for (const std::string_view kernel : counting_kernels()) {
      INFO(kernel);
      CHECK(counted_by(kernel, values, with_sums) == expected);
    }
  }
}

}  // namespace

TEST_CASE("kernels count every sign, exponent and the upper half of all fractions as the reference does") {
  // Every 61st float in ascending order, then all with the lower half of the fraction empty: the edges of the cells.
  std::vector<float> values;
  values.reserve((std::size_t{1} << 32) / 61 + 1);
  for (std::uint64_t bits = 0; bits < std::uint64_t{1} << 32; bits += 61)
    values.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  const cell_table expected = counted_by("reference", values);
  for (const std::string_view kernel : counting_kernels()) {
    INFO(kernel);
    CHECK(counted_by(kernel, values) == expected);
  }
  values.clear();
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) values.push_back(std::bit_cast<float>(bits << 16));
  check_all(values);
}

TEST_CASE("kernels equal the reference on what real tensors hold") {
  check_all({});
  check_all(std::vector<float>(1));
  check_all(std::vector<float>(100'000));                                     // zeros alone
  check_all(std::vector<float>(300'000, 1.75F));                              // one value, its squares' sum is large
  check_all(std::vector<float>(300'000, std::bit_cast<float>(0x3FFFFFFFU)));  // the largest significand
  check_all(std::vector<float>(70'000, std::numeric_limits<float>::quiet_NaN()));
  check_all(from_bits(200'001, 0xFFFFFFFF, 0, 1));           // everything
  check_all(from_bits(200'001, 0x83FFFFFF, 0x38000000, 2));  // a few binades
  check_all(from_bits(50'000, 0x80FFFFFF, 0, 3));            // subnormal and just above
  check_all(from_bits(50'000, 0x80FFFFFF, 0x7F000000, 4));   // huge, infinite, NaN
  check_all(from_bits(50'000, 0xFFFF0000, 0, 5));            // rounded to bfloat16
  for (const std::size_t size : {511U, 512U, 513U, 1023U, 131'072U, 131'073U})
    check_all(from_bits(size, 0x87FFFFFF, 0x30000000, 6));
}

TEST_CASE("a kernel's table starts anew after take") {
  cell_counter counter;
  const std::vector<float> ones(1000, 1.0F);
  counter.add(ones);
  static_cast<void>(counter.take());
  const std::vector<float> twos(1000, 2.0F);
  counter.add(twos);
  CHECK(counter.take() == counted_by("reference", twos));
}

TEST_CASE("a kernel that is not there cannot be forced") {
  CHECK(counting_kernels().front() == "reference");
  CHECK_FALSE(force_counting_kernel("x86-64-v9"));
}

TEST_CASE("tensors counted in chunks by several threads have the tables of one pass") {
  const std::vector<std::vector<float>> tensors{from_bits(700'003, 0xFFFFFFFF, 0, 7),
                                                {},
                                                from_bits(17, 0xFFFFFFFF, 0, 8),
                                                from_bits(300'000, 0x83FFFFFF, 0x38000000, 9)};
  const std::vector<double> edges{0x1p-3, 1.0};
  for (const std::size_t values_in_chunk : {1000U, 100'000U, 250'000U}) {
    for (const auto what : {cell_counter::with::sums, cell_counter::with::sums_and_errors}) {
      std::size_t tensor = 0;
      std::size_t at = 0;
      const bool with_edges = what != cell_counter::with::sums;
      const std::span<const double> asked = with_edges ? std::span<const double>(edges) : std::span<const double>();
      tensor_counter counter(what);
      const auto counted = counter.count(tensors.size(), asked, [&](value_chunk& chunk) {
        while (tensor < tensors.size() && at == tensors[tensor].size()) {
          ++tensor;
          at = 0;
        }
        if (tensor == tensors.size()) return false;
        const std::size_t size = std::min(values_in_chunk, tensors[tensor].size() - at);
        chunk.tensor = tensor;
        chunk.type = dtype::float32;
        chunk.order = std::endian::native;
        chunk.bytes.resize(size * sizeof(float));
        std::memcpy(chunk.bytes.data(), tensors[tensor].data() + at, chunk.bytes.size());
        at += size;
        return true;
      });
      REQUIRE(counted.size() == tensors.size());
      for (std::size_t i = 0; i < tensors.size(); ++i) {
        cell_counter alone(what);
        alone.set_edges(asked);
        alone.add(tensors[i]);
        CHECK(counted[i].table == alone.take());
        CHECK(counted[i].codes.empty());
      }
    }
  }
}

TEST_CASE("16-bit chunks of either byte order add up to complete codes") {
  std::size_t chunks = 0;
  tensor_counter counter;
  const auto counted = counter.count(1, {}, [&](value_chunk& chunk) {
    if (chunks == 3) return false;
    chunk.type = dtype::bfloat16;
    chunk.order = chunks == 1 ? std::endian::big : std::endian::little;
    chunk.bytes = chunks == 1 ? std::vector<std::uint8_t>{0x3F, 0x80, 0x00, 0x01}
                              : std::vector<std::uint8_t>{0x80, 0x3F, 0x80, 0xBF};
    ++chunks;
    return true;
  });
  CHECK(counted[0].codes == std::vector<code_count>{{0x0001, 1}, {0x3F80, 3}, {0xBF80, 2}});
  CHECK(counted[0].table.numel == 6);
}

TEST_CASE("what the reading of chunks throws comes out") {
  tensor_counter counter;
  CHECK_THROWS_AS(counter.count(1, {}, [](value_chunk&) -> bool { throw std::out_of_range("cut"); }),
                  std::out_of_range);
}
