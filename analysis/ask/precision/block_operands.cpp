#include "precision/block_operands.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include <ulp/ask/questions/typed_values.hpp>
#include <ulp/formats/catalog.hpp>

namespace ulp {

unit_choice scaled_choice(unit_choice choice, const block_format& row) {
  const auto refuse = [&](const char* why) {
    throw std::invalid_argument(fmt::format("--format: no matrix unit multiplies blocks of {}: {}", row.name, why));
  };
  if (row.element.numbers == nullptr) refuse("their elements are integers");
  if (row.scale == scale_type::float32) refuse("their scales are float32 numbers, which kernels apply to sums");
  if (row.block.columns == 0) refuse("a whole row has one scale");
  if (row.transposed_hadamard) refuse("they are of the transpose");
  choice.scale = row.scale == scale_type::e8m0 ? float8_e8m0 : float8_e4m3fn;
  choice.block = static_cast<std::uint32_t>(row.block.columns);
  return choice;
}

factor_format factor_format_named(const std::string& name) {
  const block_format* const row = find_block_format(name);
  if (row == nullptr) return {value_format_named(name)};
  (void)scaled_choice({}, *row);
  return {*row->element.numbers, row};
}

block_operands block_operands_of(const block_format& row, std::span<const double> numbers, std::size_t length,
                                 conversion_counts& counts) {
  (void)scaled_choice({}, row);
  const matrix_extent of{numbers.size() / length, length};
  const std::vector<float> x(numbers.begin(), numbers.end());
  const block_grid grid = grid_of(row, of);
  const std::vector<float> amax = tensor_amax(row, x, of);
  std::vector<std::uint8_t> codes(x.size());
  std::vector<std::uint8_t> scales(grid.scales());
  quantize_blocks(row, x, of, codes, scales, {.tensor_amax = amax}, {}, &counts);
  block_operands made{{codes.begin(), codes.end()}, {}, {}};
  for (std::size_t r = 0; r < of.rows; ++r) {
    const auto first = scales.begin() + static_cast<std::ptrdiff_t>(r / grid.block.rows * grid.across);
    made.scales.insert(made.scales.end(), first, first + static_cast<std::ptrdiff_t>(grid.across));
  }
  for (const float a : amax) made.of_rows.push_back(tensor_scale(row, a));
  return made;
}

}  // namespace ulp
