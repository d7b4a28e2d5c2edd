// Pins that test vectors of a block row tell it from every other row with its elements, scales and blocks.
#include <ulp/formats/block_vectors.hpp>

#include <bit>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "support/catch.hpp"

namespace ulp {
namespace {

struct made {
  std::vector<std::uint8_t> codes;
  std::vector<std::uint32_t> scales;
  friend bool operator==(const made&, const made&) = default;
};

// Tensor by tensor, NaN being one.
made made_by(const block_format& row, const block_vectors& v) {
  made all;
  for (std::size_t first = 0; first < v.of.rows;) {
    std::size_t end = first;
    while (end < v.of.rows && v.tensor[end] == v.tensor[first]) ++end;
    const matrix_extent of{end - first, v.of.columns};
    const std::span<const float> x{v.x.data() + first * v.of.columns, of.rows * of.columns};
    const block_grid grid = grid_of(row, of);
    std::vector<std::uint8_t> codes(x.size());
    std::vector<std::uint8_t> scale_codes(row.scale == scale_type::float32 ? 0 : grid.scales());
    std::vector<float> scale_numbers(row.scale == scale_type::float32 ? grid.scales() : 0);
    std::vector<float> numbers(x.size());
    quantize_blocks(row, x, of, codes, scale_numbers.empty() ? scale_span{scale_codes} : scale_span{scale_numbers}, {},
                    numbers);
    for (std::size_t i = 0; i < codes.size(); ++i) all.codes.push_back(numbers[i] != numbers[i] ? 0xAA : codes[i]);
    all.scales.insert(all.scales.end(), scale_codes.begin(), scale_codes.end());
    for (const float s : scale_numbers) all.scales.push_back(s != s ? 0x7FC00000 : std::bit_cast<std::uint32_t>(s));
    first = end;
  }
  return all;
}

bool are_alike(const block_format& a, const block_format& b) {
  return a.element.name == b.element.name && a.scale == b.scale && a.block == b.block &&
         a.scales_rows == b.scales_rows && a.transposed_hadamard == b.transposed_hadamard;
}

}  // namespace

TEST_CASE("the vectors of a row tell it from every other") {
  std::set<std::set<std::string_view>> not_told;
  for (const block_format& row : block_formats()) {
    INFO(row.name);
    const block_vectors v = block_vectors_of(row, 0);
    REQUIRE(v.x.size() == v.of.rows * v.of.columns);
    REQUIRE(v.tensor.size() == v.of.rows);
    const made own = made_by(row, v);
    for (const block_format& other : block_formats())
      if (&other != &row && are_alike(row, other) && made_by(other, v) == own) not_told.insert({row.name, other.name});
  }
  for (const auto& pair : not_told) UNSCOPED_INFO(*pair.begin() << " and " << *pair.rbegin());
  CHECK(not_told.empty());
}

TEST_CASE("vectors are those of their seed") {
  const block_format& row = *find_block_format("mxfp4");
  CHECK(block_vectors_of(row, 1).x.size() == block_vectors_of(row, 2).x.size());
  const auto bits = [&](std::uint64_t seed) {
    std::vector<std::uint32_t> all;
    for (const float x : block_vectors_of(row, seed).x) all.push_back(std::bit_cast<std::uint32_t>(x));
    return all;
  };
  CHECK(bits(1) == bits(1));
  CHECK(bits(1) != bits(2));
}

}  // namespace ulp
