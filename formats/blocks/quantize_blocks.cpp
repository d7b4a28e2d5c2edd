#include <ulp/formats/block_formats.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include <ulp/formats/blocks.hpp>
#include <ulp/formats/catalog.hpp>
#include <ulp/formats/codec.hpp>
#include <ulp/formats/processor_state.hpp>

#include "../bulk/threads.hpp"
#include "block_elements.hpp"
#include "block_scale.hpp"
#include "four_over_six.hpp"

namespace ulp {
namespace {

using detail::block_scale;
using detail::tensor_level;

void refuse(const std::string& what) { throw std::invalid_argument(what); }

void expect_sizes(const block_format& row, std::size_t elements, std::size_t codes, const_scale_span scales,
                  const block_grid& grid, matrix_extent of) {
  if (elements != of.rows * of.columns || codes != elements)
    refuse("a matrix of " + std::to_string(of.rows) + " x " + std::to_string(of.columns) +
           " has as many elements and codes, not " + std::to_string(elements) + " and " + std::to_string(codes));
  if (scales.are_numbers() != (row.scale == scale_type::float32))
    refuse("scales of " + std::string{row.name} + " are " +
           (row.scale == scale_type::float32 ? "float32 numbers" : "codes of 8 bits"));
  if (scales.size() != grid.scales())
    refuse(std::string{row.name} + " has " + std::to_string(grid.scales()) + " scales here, not " +
           std::to_string(scales.size()));
}

// One for each row where the row scales rows, else one; none where there is no second level.
std::vector<tensor_level> levels(const block_format& row, std::span<const float> amax, matrix_extent of) {
  std::vector<tensor_level> all;
  if (!detail::has_tensor_level(row)) return {tensor_level{}};
  if (amax.size() != (row.scales_rows ? of.rows : 1))
    refuse(std::string{row.name} + " takes " + (row.scales_rows ? "the amax of each row" : "one amax of the tensor") +
           ", not " + std::to_string(amax.size()));
  for (const float a : amax) all.push_back(detail::level_of(row, a));
  return all;
}

// Part of a matrix: `count` rows from `first` on.
struct band {
  std::size_t first = 0;
  std::size_t count = 0;
};

// Elements that are scaled and rounded together: they stay in the first-level cache.
constexpr std::size_t tile = 4096;
// Scales of them at most: no block is of fewer than 16 columns but at an edge, or where extents are given.
constexpr std::size_t at_once = tile;

// Blocks of one row of blocks.
class quantizer {
 public:
  quantizer(const block_format& row, std::span<const float> x, matrix_extent of, const block_grid& grid,
            std::span<const tensor_level> tensor, const block_conversion& how)
      : row_(row), x_(x), of_(of), grid_(grid), tensor_(tensor), encode_(row, how) {}

  // Blocks first, first + 1, ... before `end`.
  void operator()(std::size_t block_row, std::size_t first, std::size_t end, std::span<std::uint8_t> codes,
                  scale_span scales, conversion_counts* counts) const {
    const band rows{block_row * grid_.block.rows, std::min(grid_.block.rows, of_.rows - block_row * grid_.block.rows)};
    const tensor_level& tensor = tensor_[row_.scales_rows ? rows.first : 0];
    std::array<block_scale, at_once> found;
    const std::size_t least = std::max<std::size_t>(1, tile / grid_.block.columns);
    for (std::size_t begin = first; begin < end; begin += least) {
      const std::size_t count = std::min(least, end - begin);
      for (std::size_t b = 0; b < count; ++b) {
        found[b] = scale_of_block(rows, begin + b, tensor);
        store(scales, block_row, begin + b, found[b]);
      }
      for (std::size_t r = rows.first; r < rows.first + rows.count; ++r)
        encode_row(r, begin, {found.data(), count}, codes, counts);
    }
  }

 private:
  [[nodiscard]] std::span<const float> segment(std::size_t row, std::size_t block) const {
    const std::size_t begin = block * grid_.block.columns;
    return x_.subspan(row * of_.columns + begin, std::min(grid_.block.columns, of_.columns - begin));
  }

  [[nodiscard]] block_scale scale_of_block(band rows, std::size_t block, const tensor_level& tensor) const {
    float amax = 0;
    for (std::size_t r = 0; r < rows.count; ++r) {
      const float here = greatest_magnitude(segment(rows.first + r, block));
      if (!(here <= amax)) amax = amax != amax ? amax : here;
    }
    if (amax != amax && detail::skips_nan(row_.rule)) {
      amax = 0;
      for (std::size_t r = 0; r < rows.count; ++r) amax = greatest_number(segment(rows.first + r, block), amax);
    }
    if (row_.rule != amax_rule::te_four_over_six) return detail::scale_of(row_, amax, tensor);
    std::vector<std::span<const float>> segments;
    for (std::size_t r = 0; r < rows.count; ++r) segments.push_back(segment(rows.first + r, block));
    return detail::four_over_six_scale(row_, segments, amax, tensor);
  }

  void store(scale_span scales, std::size_t block_row, std::size_t block, const block_scale& scale) const {
    const std::size_t at = block_row * grid_.across + block;
    if (scales.are_numbers())
      scales.numbers()[at] = scale.number;
    else
      scales.codes()[at] = scale.code;
  }

  void encode_row(std::size_t r, std::size_t first_block, std::span<const block_scale> scales,
                  std::span<std::uint8_t> codes, conversion_counts* counts) const {
    alignas(64) std::array<float, tile> scaled;
    const std::size_t width = grid_.block.columns;
    std::size_t block = 0;
    while (block < scales.size()) {
      // Whole blocks, or parts of one that is wider than the tile.
      const std::size_t blocks = std::min(std::max<std::size_t>(1, tile / width), scales.size() - block);
      const std::size_t begin = (first_block + block) * width;
      const std::size_t end = std::min(begin + blocks * width, of_.columns);
      for (std::size_t at = begin; at < end; at += tile) {
        const std::size_t count = std::min(tile, end - at);
        const std::span<const float> from = x_.subspan(r * of_.columns + at, count);
        if (blocks == 1)
          scale(from, scales[block], scaled.data());
        else
          for (std::size_t i = 0; i < count; i += width)
            scale(from.subspan(i, std::min(width, count - i)), scales[block + i / width], scaled.data() + i);
        const std::size_t place = r * of_.columns + at;
        encode_({scaled.data(), count}, place, codes.subspan(place, count), counts);
      }
      block += blocks;
    }
  }

  static void scale(std::span<const float> from, const block_scale& by, float* to) {
    if (by.divides)
      for (std::size_t i = 0; i < from.size(); ++i) to[i] = from[i] / by.factor;
    else
      for (std::size_t i = 0; i < from.size(); ++i) to[i] = from[i] * by.factor;
  }

  const block_format& row_;
  std::span<const float> x_;
  matrix_extent of_;
  block_grid grid_;
  std::span<const tensor_level> tensor_;
  detail::element_encoder encode_;
};

// Whole blocks in rows that follow each other are blocks in one long row.
matrix_extent flattened(const block_format& row, const block_grid& grid, matrix_extent of) {
  if (grid.block.rows != 1 || row.scales_rows || of.rows <= 1 || of.columns % grid.block.columns != 0) return of;
  return {1, of.rows * of.columns};
}

}  // namespace

block_grid grid_of(const block_format& row, matrix_extent of, std::optional<block_extent> block) {
  block_extent size = row.block;
  if (block && size.columns == 0) size = *block;
  if (size.rows == 0) size.rows = std::max<std::size_t>(1, of.rows);
  if (size.columns == 0) size.columns = std::max<std::size_t>(1, of.columns);
  return {size, block_count(of.rows, size.rows), block_count(of.columns, size.columns)};
}

std::vector<float> tensor_amax(const block_format& row, std::span<const float> x, matrix_extent of) {
  if (!detail::has_tensor_level(row)) return {};
  if (!row.scales_rows) return {greatest_magnitude(x)};
  std::vector<float> all;
  for (std::size_t r = 0; r < of.rows; ++r) all.push_back(greatest_magnitude(x.subspan(r * of.columns, of.columns)));
  return all;
}

void quantize_blocks(const block_format& row, std::span<const float> x, matrix_extent of, std::span<std::uint8_t> codes,
                     scale_span scales, const block_conversion& how, std::span<float> numbers,
                     conversion_counts* counts) {
  expect_sizes(row, x.size(), codes.size(), scales, grid_of(row, of, how.block), of);
  const default_processor_state processor;
  const std::vector<float> found = how.tensor_amax.empty() ? tensor_amax(row, x, of) : std::vector<float>{};
  const std::vector<tensor_level> tensor = levels(row, how.tensor_amax.empty() ? found : how.tensor_amax, of);
  block_conversion of_blocks = how;
  const block_grid own = grid_of(row, of, how.block);
  of_blocks.block = own.block;
  const matrix_extent flat = flattened(row, own, of);
  const block_grid grid{own.block, block_count(flat.rows, own.block.rows),
                        block_count(flat.columns, own.block.columns)};
  const quantizer quantize(row, x, flat, grid, tensor, how);
  // Parts are rows of blocks, or where there is one, blocks.
  const std::size_t of_row = grid.block.rows * std::max<std::size_t>(1, flat.columns);
  const std::size_t step =
      grid.down > 1 ? of_row : grid.block.columns * std::max<std::size_t>(1, tile / grid.block.columns);
  const std::size_t size = grid.down > 1 ? grid.down * of_row : grid.across * grid.block.columns;
  std::mutex adding;
  detail::for_parts(size, step, how.threads, [&](std::size_t begin, std::size_t end) {
    const default_processor_state of_thread;
    conversion_counts mine;
    conversion_counts* const to = counts == nullptr ? nullptr : &mine;
    if (grid.down > 1)
      for (std::size_t r = begin / of_row; r < (end + of_row - 1) / of_row; ++r)
        quantize(r, 0, grid.across, codes, scales, to);
    else if (grid.down == 1)
      quantize(0, begin / grid.block.columns, (end + grid.block.columns - 1) / grid.block.columns, codes, scales, to);
    if (to == nullptr) return;
    const std::lock_guard lock{adding};
    *counts += mine;
  });
  if (numbers.empty()) return;
  block_conversion of_codes = how;
  if (how.tensor_amax.empty()) of_codes.tensor_amax = found;
  dequantize_blocks(row, codes, scales, of, numbers, of_codes);
  // Integers have no -0, programs that compute with numbers do.
  if (row.element.numbers == nullptr && row.zeros == zero_signs::of_results)
    for (std::size_t i = 0; i < numbers.size(); ++i)
      if (codes[i] == 0 && x[i] < 0) numbers[i] = -0.0F;
}

void dequantize_blocks(const block_format& row, std::span<const std::uint8_t> codes, const_scale_span scales,
                       matrix_extent of, std::span<float> x, const block_conversion& how) {
  const block_grid grid = grid_of(row, of, how.block);
  expect_sizes(row, x.size(), codes.size(), scales, grid, of);
  const default_processor_state processor;
  const std::vector<tensor_level> tensor = levels(row, how.tensor_amax, of);
  const std::vector<float> numbers = detail::numbers_of_codes(row.element);
  const std::size_t mask = numbers.size() - 1;
  for (std::size_t r = 0; r < of.rows; ++r)
    for (std::size_t block = 0; block < grid.across; ++block) {
      const std::size_t at = r / grid.block.rows * grid.across + block;
      const detail::element_unit unit =
          detail::unit_of(row, scales.are_numbers() ? std::uint8_t{0} : scales.codes()[at],
                          scales.are_numbers() ? scales.numbers()[at] : 0, tensor[row.scales_rows ? r : 0]);
      const std::size_t begin = r * of.columns + block * grid.block.columns;
      const std::size_t end = std::min(begin + grid.block.columns, (r + 1) * of.columns);
      for (std::size_t i = begin; i < end; ++i) {
        const float number = numbers[codes[i] & mask];
        x[i] = unit.divides ? number / unit.factor : number * unit.factor;
      }
    }
}

}  // namespace ulp
