#include "block_golden.hpp"

#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include <ulp/formats/block_formats.hpp>

#include "support/catch.hpp"
#include "support/npz.hpp"

namespace ulp::test {
namespace {

bool same(float a, float b) {
  return (a != a && b != b) || std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
}
bool same_scale(const block_format& row, std::uint8_t a, std::uint8_t b) {
  return a == b || (row.scale == scale_type::e4m3 && (a & 0x7F) == 0x7F && (b & 0x7F) == 0x7F);
}
// Integers have no -0, which programs that compute with numbers give.
bool same_decoded(const block_format& row, float given, float decoded) {
  return same(given, decoded) || (row.element.numbers == nullptr && given == 0 && decoded == 0);
}

// Rows of one tensor.
struct part {
  std::size_t first = 0;
  std::size_t rows = 0;
  std::vector<float> amax{};
};

std::vector<part> parts_of(const std::map<std::string, npz_array>& file, const block_format& row, std::size_t rows) {
  if (!file.contains("tensor")) return {{0, rows}};
  const auto amax = file.at("global_amax").as<float>();
  if (row.scales_rows) return {{0, rows, amax}};
  const auto tensor = file.at("tensor").as<std::int32_t>();
  std::vector<part> parts;
  for (std::size_t r = 0; r < rows; ++r)
    if (r > 0 && tensor[r] == tensor[r - 1])
      ++parts.back().rows;
    else
      parts.push_back({r, 1, {amax.at(static_cast<std::size_t>(tensor[r]))}});
  return parts;
}

template <class Scale>
void compare(const block_format& row, const std::map<std::string, npz_array>& file, block_differences& found) {
  auto x = file.at("x").as<float>();
  const std::size_t all_rows = file.at("x").shape.at(0);
  const std::size_t columns = file.at("x").shape.at(1);
  const auto scales = file.at("scale").as<Scale>();
  const auto codes = file.at("codes").as<std::uint8_t>();
  const auto numbers = file.at("dequantized").as<float>();
  const auto block = file.at("block").as<std::int32_t>();
  std::size_t passed = 0;  // scales of earlier parts
  for (const part& p : parts_of(file, row, all_rows)) {
    const std::size_t begin = p.first * columns;
    const std::size_t size = p.rows * columns;
    matrix_extent of{p.rows, columns};
    std::vector<float> from(x.begin() + static_cast<std::ptrdiff_t>(begin),
                            x.begin() + static_cast<std::ptrdiff_t>(begin + size));
    if (row.transposed_hadamard) {
      from = hadamard_of_transpose(from, of);
      of = {columns, p.rows};
    }
    const block_conversion how{
        .tensor_amax = p.amax,
        .block = block_extent{static_cast<std::size_t>(block[0]), static_cast<std::size_t>(block[1])}};
    const block_grid grid = grid_of(row, of, how.block);
    const auto copies = row.scale_for_each_row ? grid.block.rows : std::size_t{1};
    std::vector<Scale> ours(grid.scales());
    std::vector<std::uint8_t> our_codes(size);
    std::vector<float> our_numbers(size);
    quantize_blocks(row, from, of, our_codes, ours, how, our_numbers);
    std::vector<Scale> given;
    for (std::size_t s = 0; s < grid.scales(); ++s) {
      given.push_back(scales.at(passed + s / grid.across * copies * grid.across + s % grid.across));
      if constexpr (sizeof(Scale) == 1)
        found.scales += same_scale(row, ours[s], given[s]) ? 0 : 1;
      else
        found.scales += same(ours[s], given[s]) ? 0 : 1;
    }
    passed += grid.scales() * copies;
    std::vector<float> decoded(size);
    dequantize_blocks(row, std::span{codes}.subspan(begin, size), given, of, decoded, how);
    for (std::size_t i = 0; i < size; ++i) {
      const float number = numbers[begin + i];
      ++found.compared;
      found.numbers += same(our_numbers[i], number) ? 0 : 1;
      found.decoded += same_decoded(row, number, decoded[i]) ? 0 : 1;
      if (number == number) found.codes += our_codes[i] == codes[begin + i] ? 0 : 1;
    }
  }
  CHECK(passed == scales.size());
}

}  // namespace

block_differences compare_block_file(const std::filesystem::path& path) {
  const auto file = read_npz(path);
  const block_format* const row = find_block_format(path.stem().string());
  REQUIRE(row != nullptr);
  block_differences found;
  if (row->scale == scale_type::float32)
    compare<float>(*row, file, found);
  else
    compare<std::uint8_t>(*row, file, found);
  return found;
}

}  // namespace ulp::test
