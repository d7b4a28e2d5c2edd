// What a block format makes of an array, element by element, by quantize_blocks.
#ifndef ULP_TESTS_MODEL_OUTCOMES_QUANTIZED_BLOCKS_HPP
#define ULP_TESTS_MODEL_OUTCOMES_QUANTIZED_BLOCKS_HPP

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include <ulp/formats/block_formats.hpp>
#include <ulp/formats/codec.hpp>
#include <ulp/model/outcomes/block_outcomes.hpp>

namespace ulp::test {

class quantized_blocks {
 public:
  quantized_blocks(const block_format& row, const std::optional<rounding>& how) : row_(row), how_(how) {}

  block_outcomes operator()(std::span<const float> x, matrix_extent of) const {
    const block_grid grid = grid_of(row_, of);
    std::vector<std::uint8_t> codes(x.size());
    stored scales = quantize(x, of, codes);
    block_outcomes found{.numel = x.size(), .blocks = grid.scales()};
    std::vector<std::uint8_t> ones(x.size(), one());
    std::vector<float> units(x.size());
    dequantize_blocks(row_, ones, scales.span(row_), of, units);
    count_elements(found, x, codes, units);
    found.overflow.low = found.overflow.high = scales.counts.overflowed;
    const std::uint64_t others =
        found.nonzero() - found.underflow.low - found.subnormal.low - found.overflow.low - found.lost.low;
    found.normal = {others, others};
    for (std::size_t down = 0; down < grid.down; ++down)
      for (std::size_t across = 0; across < grid.across; ++across) count_block(found, x, of, grid, units, down, across);
    return found;
  }

 private:
  struct stored {
    std::vector<std::uint8_t> codes;
    std::vector<float> numbers;
    conversion_counts counts;
    scale_span span(const block_format& row) {
      return row.scale == scale_type::float32 ? scale_span{numbers} : scale_span{codes};
    }
  };

  [[nodiscard]] std::uint8_t one() const {
    if (row_.element.numbers == nullptr) return static_cast<std::uint8_t>(1U << row_.element.fraction_bits);
    return static_cast<std::uint8_t>(encode(*row_.element.numbers, 1.0F).code);
  }

  stored quantize(std::span<const float> x, matrix_extent of, std::span<std::uint8_t> codes) const {
    const std::size_t size = grid_of(row_, of).scales();
    stored made{std::vector<std::uint8_t>(size), std::vector<float>(size), {}};
    quantize_blocks(row_, x, of, codes, made.span(row_), {.rounding = how_}, {}, &made.counts);
    return made;
  }

  void count_elements(block_outcomes& to, std::span<const float> x, std::span<const std::uint8_t> codes,
                      std::span<const float> units) const {
    const format* const numbers = row_.element.numbers;
    const auto magnitude =
        static_cast<std::uint8_t>(numbers != nullptr ? numbers->sign_mask() - 1 : (1U << row_.element.width) - 1);
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (x[i] == 0) {
        ++to.zero;
      } else if (!std::isfinite(x[i])) {
        ++to.nonfinite;
      } else if (std::isnan(units[i])) {
        ++to.lost.low;
      } else if (const auto code = codes[i] & magnitude; code == 0) {
        ++to.underflow.low;
      } else if (numbers != nullptr && code >> numbers->fraction_bits == 0) {
        ++to.subnormal.low;
      }
    }
    to.lost.high = to.lost.low;
    to.underflow.high = to.underflow.low;
    to.subnormal.high = to.subnormal.low;
  }

  void count_block(block_outcomes& to, std::span<const float> x, matrix_extent of, const block_grid& grid,
                   std::span<const float> units, std::size_t down, std::size_t across) const {
    float amax = 0;
    float unit = 0;
    for (std::size_t r = down * grid.block.rows; r < std::min(of.rows, (down + 1) * grid.block.rows); ++r)
      for (std::size_t c = across * grid.block.columns; c < std::min(of.columns, (across + 1) * grid.block.columns);
           ++c) {
        const float magnitude = std::fabs(x[r * of.columns + c]);
        if (!(magnitude <= amax) && !std::isnan(amax)) amax = magnitude;
        unit = units[r * of.columns + c];
      }
    if (amax == 0) {
      ++to.zero_blocks;
    } else if (!std::isfinite(amax)) {
      ++to.nonfinite_blocks;
    } else if (std::isnan(unit)) {
      add(to.nan_blocks);
    } else {
      // The scale, relative to amax, as if amax lay elsewhere: a logarithm that is rounded makes two of it.
      const int k = std::ilogb(amax);
      const int found = std::ilogb(unit) - k;
      if (found != relative_scale(std::ldexp(amax, -k)) && found != relative_scale(std::ldexp(amax, 100 - k)))
        add(to.clamped_blocks);
    }
  }

  int relative_scale(float amax) const {
    std::uint8_t code = 0;
    stored scale = quantize({&amax, 1}, {1, 1}, {&code, 1});
    code = one();
    float unit = 0;
    dequantize_blocks(row_, {&code, 1}, scale.span(row_), {1, 1}, {&unit, 1});
    return std::ilogb(unit) - std::ilogb(amax);
  }

  static void add(count_range& to) {
    ++to.low;
    ++to.high;
  }

  const block_format& row_;
  std::optional<rounding> how_;
};

}  // namespace ulp::test

#endif
