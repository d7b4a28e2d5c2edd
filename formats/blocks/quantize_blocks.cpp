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

#include "block_elements.hpp"
#include "block_scale.hpp"
#include "bulk/kernels.hpp"
#include "bulk/threads.hpp"
#include "four_over_six.hpp"

namespace ulp {
namespace {

using detail::tensor_level;

void refuse_matrix(const std::string& what) { throw std::invalid_argument(what); }

void expect_sizes(const block_format& row, std::size_t elements, std::size_t codes, const_scale_span scales,
                  const block_grid& grid, matrix_extent of) {
  if (elements != of.rows * of.columns || codes != elements)
    refuse_matrix("a matrix of " + std::to_string(of.rows) + " x " + std::to_string(of.columns) +
                  " has as many elements and codes, not " + std::to_string(elements) + " and " + std::to_string(codes));
  if (scales.are_numbers() != (row.scale == scale_type::float32))
    refuse_matrix("scales of " + std::string{row.name} + " are " +
                  (row.scale == scale_type::float32 ? "float32 numbers" : "codes of 8 bits"));
  if (scales.size() != grid.scales())
    refuse_matrix(std::string{row.name} + " has " + std::to_string(grid.scales()) + " scales here, not " +
                  std::to_string(scales.size()));
}

// One for each row where the row scales rows, else one; none where there is no second level.
std::vector<tensor_level> levels(const block_format& row, std::span<const float> amax, matrix_extent of) {
  std::vector<tensor_level> all;
  if (!detail::has_tensor_level(row)) return {tensor_level{}};
  if (amax.size() != (row.scales_rows ? of.rows : 1))
    refuse_matrix(std::string{row.name} + " takes " +
                  (row.scales_rows ? "the amax of each row" : "one amax of the tensor") + ", not " +
                  std::to_string(amax.size()));
  for (const float a : amax) all.push_back(detail::level_of(row, a));
  return all;
}

// Part of a matrix: `count` rows from `first` on.
struct band {
  std::size_t first = 0;
  std::size_t count = 0;
};

// Elements that are scaled and rounded together: they stay in the first-level cache.
constexpr std::size_t tile = 2048;
// Blocks whose scales are found together.
constexpr std::size_t at_once = 1024;

// Blocks of one row of blocks.
class quantizer {
 public:
  quantizer(const block_format& row, std::span<const float> x, matrix_extent of, const block_grid& grid,
            std::span<const tensor_level> tensor, const block_conversion& how, bool counting)
      : row_(row), x_(x), of_(of), grid_(grid), tensor_(tensor), encode_(row, how, counting) {
    in_use_ = detail::loops_in_use().load(std::memory_order_relaxed);
    loops_ = in_use_ != nullptr ? in_use_ : &detail::baseline_kernels;
    if (row.rule == amax_rule::nvfp4_two_level)
      may_be_infinite_ =
          std::ranges::any_of(tensor, [](const tensor_level& t) { return std::isinf(t.encode / 0x1p-6F); });
  }

  // Where all is one block in one row, whose parts are done side by side.
  [[nodiscard]] bool is_one_block() const {
    return of_.rows == 1 && grid_.scales() == 1 && row_.rule != amax_rule::te_four_over_six &&
           !detail::skips_nan(row_.rule);
  }
  // NaN is the greatest.
  [[nodiscard]] float amax_of(std::size_t begin, std::size_t end) const {
    std::array<float, 1> amax;
    loops_->block_magnitudes(x_.data() + begin, end - begin, 1, amax.data());
    return amax.front();
  }
  // Its factor.
  [[nodiscard]] float scale_of(float amax, scale_span scales) const {
    std::array<float, 1> factor;
    detail::scales_of(row_, {&amax, 1}, tensor_[0], scales.codes(), scales.numbers(), factor);
    return factor.front();
  }
  void encode(std::size_t begin, std::size_t end, float factor, std::span<std::uint8_t> codes,
              conversion_counts* counts) const {
    encode_part(0, begin, end, 0, {&factor, 1}, true, codes, counts);
  }

  // Blocks first, first + 1, ... before `end`.
  void operator()(std::size_t block_row, std::size_t first, std::size_t end, std::span<std::uint8_t> codes,
                  scale_span scales, conversion_counts* counts) const {
    const band rows{block_row * grid_.block.rows, std::min(grid_.block.rows, of_.rows - block_row * grid_.block.rows)};
    const tensor_level& tensor = tensor_[row_.scales_rows ? rows.first : 0];
    std::array<float, at_once> amax;
    std::array<float, at_once> factors;
    const std::size_t step = std::clamp<std::size_t>(8 * tile / grid_.block.columns, 1, at_once);
    for (std::size_t begin = first; begin < end; begin += step) {
      const std::size_t count = std::min(step, end - begin);
      const std::span<float> here = std::span{factors}.first(count);
      const auto part_of = [&](auto all) {
        return all.empty() ? all : all.subspan(block_row * grid_.across + begin, count);
      };
      const std::span<float> found = std::span{amax}.first(count);
      find_amax(rows, begin, found);
      if (row_.rule == amax_rule::te_four_over_six)
        choose(rows, begin, found, tensor, part_of(scales.codes()), here);
      else
        detail::scales_of(row_, found, tensor, part_of(scales.codes()), part_of(scales.numbers()), here);
      // A NaN in a block makes one of its factor, elsewhere.
      const bool may_be_nan = detail::skips_nan(row_.rule) || detail::divides(row_.rule) || !are_finite(here);
      const std::size_t end_column = std::min((begin + count) * grid_.block.columns, of_.columns);
      for (std::size_t r = rows.first; r < rows.first + rows.count; ++r)
        encode_part(r, begin * grid_.block.columns, end_column, begin, here, may_be_nan, codes, counts);
    }
  }

 private:
  [[nodiscard]] bool are_finite(std::span<const float> all) const {
    std::array<float, 1> greatest;
    loops_->block_magnitudes(all.data(), all.size(), 1, greatest.data());
    return std::isfinite(greatest.front());
  }

  [[nodiscard]] std::span<const float> segment(std::size_t row, std::size_t block) const {
    const std::size_t begin = block * grid_.block.columns;
    return x_.subspan(row * of_.columns + begin, std::min(grid_.block.columns, of_.columns - begin));
  }

  void find_amax(band rows, std::size_t first, std::span<float> amax) const {
    std::array<float, at_once> of_row;
    for (std::size_t r = 0; r < rows.count; ++r) {
      float* const found = r == 0 ? amax.data() : of_row.data();
      const std::span<const float> from = segment(rows.first + r, first);
      const std::size_t whole =
          std::min(amax.size(), (of_.columns - first * grid_.block.columns) / grid_.block.columns);
      loops_->block_magnitudes(from.data(), grid_.block.columns, whole, found);
      for (std::size_t b = whole; b < amax.size(); ++b)
        found[b] = greatest_magnitude(segment(rows.first + r, first + b));
      if (r == 0) continue;
      for (std::size_t b = 0; b < amax.size(); ++b)
        if (!(of_row[b] <= amax[b]) && amax[b] == amax[b]) amax[b] = of_row[b];
    }
    if (!detail::skips_nan(row_.rule)) return;
    for (std::size_t b = 0; b < amax.size(); ++b) {
      if (amax[b] == amax[b]) continue;
      amax[b] = 0;
      for (std::size_t r = 0; r < rows.count; ++r)
        amax[b] = greatest_number(segment(rows.first + r, first + b), amax[b]);
    }
  }

  void choose(band rows, std::size_t first, std::span<const float> amax, const tensor_level& tensor,
              std::span<std::uint8_t> codes, std::span<float> factors) const {
    const std::size_t begin = first * grid_.block.columns;
    const std::size_t end = std::min((first + amax.size()) * grid_.block.columns, of_.columns);
    std::vector<detail::row_of_blocks> all;
    for (std::size_t r = rows.first; r < rows.first + rows.count; ++r)
      all.push_back({x_.subspan(r * of_.columns + begin, end - begin), grid_.block.columns});
    detail::four_over_six_scales(row_, all, amax, tensor, in_use_, codes, factors);
  }

  // Elements begin, begin + 1, ... before `end` of row r; the first factor is that of first_block.
  void encode_part(std::size_t r, std::size_t begin, std::size_t end, std::size_t first_block,
                   std::span<const float> factors, bool may_be_nan, std::span<std::uint8_t> codes,
                   conversion_counts* counts) const {
    alignas(64) std::array<float, tile> scaled;
    const auto scale = detail::divides(row_.rule) ? loops_->divide_blocks : loops_->multiply_blocks;
    const std::size_t width = grid_.block.columns;
    // Whole blocks, or parts of one that is wider than the tile.
    const std::size_t step = width < tile ? tile / width * width : tile;
    for (std::size_t at = begin; at < end;) {
      const std::size_t block = at / width;
      const std::size_t count = std::min(step, width < tile ? end - at : std::min(end, (block + 1) * width) - at);
      const std::span<const float> from = x_.subspan(r * of_.columns + at, count);
      const float* const by = factors.data() + (block - first_block);
      const std::size_t whole = width < tile ? count / width : 0;
      scale(from.data(), width, whole, by, scaled.data());
      if (const std::size_t rest = count - whole * width; rest != 0)
        scale(from.data() + whole * width, rest, 1, by + whole, scaled.data() + whole * width);
      if (may_be_infinite_) replace_products_of_zero(from, scaled);
      const std::size_t place = r * of_.columns + at;
      encode_({scaled.data(), count}, may_be_nan, place, codes.subspan(place, count), counts);
      at += count;
    }
  }

  // By an infinite factor a zero becomes NaN, with a sign on x86, and that torchao's f32_to_f4_unpacked takes for -1.5.
  static void replace_products_of_zero(std::span<const float> from, std::span<float> products) {
    for (std::size_t i = 0; i < from.size(); ++i)
      if (from[i] == 0 && products[i] != products[i]) products[i] = -1.5F;
  }

  const block_format& row_;
  std::span<const float> x_;
  matrix_extent of_;
  block_grid grid_;
  std::span<const tensor_level> tensor_;
  detail::element_encoder encode_;
  const detail::kernels* in_use_;  // nullptr: the codec
  const detail::kernels* loops_;
  bool may_be_infinite_ = false;  // a factor of nvfp4_two_level
};

// Rows that follow each other are one long row, where no block ends at their edge or one block is all.
matrix_extent flattened(const block_format& row, const block_grid& grid, matrix_extent of) {
  if (of.rows <= 1 || row.scales_rows) return of;
  if (grid.scales() == 1 && !row.choice) return {1, of.rows * of.columns};
  return grid.block.rows == 1 && of.columns % grid.block.columns == 0 ? matrix_extent{1, of.rows * of.columns} : of;
}

// Calls work(begin, end, counts) for all elements, `step` at a time, and adds up the counts.
template <class Work>
void for_counted_parts(std::size_t size, std::size_t step, unsigned threads, conversion_counts* counts, Work work) {
  std::mutex adding;
  detail::for_parts(size, step, threads, [&](std::size_t begin, std::size_t end) {
    const default_processor_state of_thread;
    conversion_counts mine;
    work(begin, end, counts == nullptr ? nullptr : &mine);
    if (counts == nullptr) return;
    const std::lock_guard lock{adding};
    *counts += mine;
  });
}

void quantize_one_block(const quantizer& quantize, std::size_t size, unsigned threads, std::span<std::uint8_t> codes,
                        scale_span scales, conversion_counts* counts) {
  std::mutex comparing;
  float amax = 0;
  detail::for_parts(size, tile, threads, [&](std::size_t begin, std::size_t end) {
    const float mine = quantize.amax_of(begin, end);
    const std::lock_guard lock{comparing};
    if (!(mine <= amax) && amax == amax) amax = mine;
  });
  const float factor = quantize.scale_of(amax, scales);
  for_counted_parts(size, tile, threads, counts, [&](std::size_t begin, std::size_t end, conversion_counts* mine) {
    quantize.encode(begin, end, factor, codes, mine);
  });
}

// Parts are rows of blocks, or where there is one row, blocks.
void quantize_grid(const quantizer& quantize, const block_grid& grid, std::size_t columns, unsigned threads,
                   std::span<std::uint8_t> codes, scale_span scales, conversion_counts* counts) {
  const std::size_t width = grid.block.columns;
  if (grid.down == 1) {
    const std::size_t step = width * std::max<std::size_t>(1, tile / width);
    return for_counted_parts(grid.across * width, step, threads, counts,
                             [&](std::size_t begin, std::size_t end, conversion_counts* mine) {
                               quantize(0, begin / width, block_count(end, width), codes, scales, mine);
                             });
  }
  const std::size_t of_row = grid.block.rows * std::max<std::size_t>(1, columns);
  for_counted_parts(grid.down * of_row, of_row, threads, counts,
                    [&](std::size_t begin, std::size_t end, conversion_counts* mine) {
                      for (std::size_t r = begin / of_row; r < block_count(end, of_row); ++r)
                        quantize(r, 0, grid.across, codes, scales, mine);
                    });
}

// Integers have no -0, programs that compute with numbers do: negative elements that are not zero before they are rounded.
void add_signs_of_zeros(const block_format& row, std::span<const float> x, matrix_extent of,
                        std::span<const std::uint8_t> codes, const_scale_span scales, const block_conversion& how,
                        std::span<float> numbers) {
  const block_grid grid = grid_of(row, of, how.block);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (codes[i] != 0 || !(x[i] < 0)) continue;
    const std::size_t block = i / of.columns / grid.block.rows * grid.across + i % of.columns / grid.block.columns;
    if (x[i] / detail::unit_of(row, scales.codes()[block], 0, {}).factor != 0) numbers[i] = -0.0F;
  }
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

float tensor_scale(const block_format& row, float amax) noexcept {
  if (!detail::has_tensor_level(row)) return 1;
  const tensor_level level = detail::level_of(row, amax);
  return row.rule == amax_rule::nvfp4_two_level ? level.decode : level.amax * level.decode;
}

void quantize_blocks(const block_format& row, std::span<const float> x, matrix_extent of, std::span<std::uint8_t> codes,
                     scale_span scales, const block_conversion& how, std::span<float> numbers,
                     conversion_counts* counts) {
  expect_sizes(row, x.size(), codes.size(), scales, grid_of(row, of, how.block), of);
  const default_processor_state processor;
  const std::vector<float> found = how.tensor_amax.empty() ? tensor_amax(row, x, of) : std::vector<float>{};
  const std::vector<tensor_level> tensor = levels(row, how.tensor_amax.empty() ? found : how.tensor_amax, of);
  block_grid grid = grid_of(row, of, how.block);
  const matrix_extent flat = flattened(row, grid, of);
  if (flat.rows == 1 && grid.scales() == 1) grid.block = {1, flat.columns};
  grid = {grid.block, block_count(flat.rows, grid.block.rows), block_count(flat.columns, grid.block.columns)};
  const quantizer quantize(row, x, flat, grid, tensor, how, counts != nullptr);
  if (quantize.is_one_block())
    quantize_one_block(quantize, x.size(), how.threads, codes, scales, counts);
  else
    quantize_grid(quantize, grid, flat.columns, how.threads, codes, scales, counts);
  if (numbers.empty()) return;
  block_conversion of_codes = how;
  if (how.tensor_amax.empty()) of_codes.tensor_amax = found;
  dequantize_blocks(row, codes, scales, of, numbers, of_codes);
  if (row.element.numbers == nullptr && row.zeros == zero_signs::of_results)
    add_signs_of_zeros(row, x, of, codes, scales, how, numbers);
}

void dequantize_blocks(const block_format& row, std::span<const std::uint8_t> codes, const_scale_span scales,
                       matrix_extent of, std::span<float> x, const block_conversion& how) {
  const block_grid grid = grid_of(row, of, how.block);
  expect_sizes(row, x.size(), codes.size(), scales, grid, of);
  const default_processor_state processor;
  const std::vector<tensor_level> tensor = levels(row, how.tensor_amax, of);
  const std::vector<float> numbers = detail::numbers_of_codes(row.element);
  const std::size_t mask = numbers.size() - 1;
  // A row of one block at a time.
  const auto decode = [&](std::size_t r, std::size_t block) {
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
  };
  const std::size_t width = grid.block.columns;
  detail::for_parts(of.rows * grid.across * width, width, how.threads, [&](std::size_t begin, std::size_t end) {
    const default_processor_state of_thread;
    for (std::size_t i = begin / width; i < end / width; ++i) decode(i / grid.across, i % grid.across);
  });
}

}  // namespace ulp
