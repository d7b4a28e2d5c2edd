#include "block_scales.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <ulp/formats/codec.hpp>

namespace ulp::detail {
namespace {

constexpr int least_exponent = -149;
constexpr int greatest_exponent = 127;

}  // namespace

std::vector<float> scales_of(const block_format& row, const std::vector<float>& amax) {
  const std::size_t width = std::max<std::size_t>(1, row.block.columns);
  const matrix_extent of =
      row.block.columns == 0 ? matrix_extent{amax.size(), 1} : matrix_extent{1, amax.size() * width};
  const block_conversion how{.block = block_extent{1, 1}};  // of rows whose scale is of a row or a tensor
  std::vector<float> x(of.rows * of.columns);
  for (std::size_t i = 0; i < amax.size(); ++i) x[i * width] = amax[i];
  std::vector<std::uint8_t> codes(x.size());
  std::vector<std::uint8_t> scale_codes(amax.size());
  std::vector<float> scale_numbers(amax.size());
  const bool is_number = row.scale == scale_type::float32;
  const scale_span scales = is_number ? scale_span{scale_numbers} : scale_span{scale_codes};
  quantize_blocks(row, x, of, codes, scales, how);
  const format* const numbers = row.element.numbers;
  std::ranges::fill(codes, numbers != nullptr ? static_cast<std::uint8_t>(encode(*numbers, 1.0F).code)
                                              : static_cast<std::uint8_t>(1U << row.element.fraction_bits));
  dequantize_blocks(row, codes, scales, of, x, how);
  std::vector<float> found(amax.size());
  for (std::size_t i = 0; i < amax.size(); ++i) found[i] = x[i * width];
  return found;
}

block_scales::block_scales(const block_format& row) {
  std::vector<float> ends;
  for (int exponent = least_exponent; exponent <= greatest_exponent; ++exponent)
    for (const significands& s : amax_places)
      // A subnormal end may round to the next place, or binade: the range is wider, if anything.
      for (const float significand : {s.low, s.high}) ends.push_back(std::ldexp(significand, exponent));
  ends.push_back(std::numeric_limits<float>::infinity());
  ends.push_back(std::numeric_limits<float>::quiet_NaN());
  const std::vector<float> scales = scales_of(row, ends);
  const auto power_of = [](float scale) { return scale != scale ? nan_scale : std::ilogb(scale); };
  std::size_t at = 0;
  for (int exponent = least_exponent; exponent <= greatest_exponent; ++exponent)
    for (scale_range& range : ranges_.emplace_back()) {
      range = {power_of(scales[at]), power_of(scales[at + 1])};
      at += 2;
    }
  infinity_gives_nan_ = scales[at] != scales[at];
  nan_gives_nan_ = scales[at + 1] != scales[at + 1];
}

scale_range block_scales::of(int exponent, std::size_t place) const noexcept {
  return ranges_[static_cast<std::size_t>(exponent - least_exponent)][place];
}

scale_range block_scales::relative(int least, int greatest, std::size_t place) const noexcept {
  scale_range all{std::numeric_limits<int>::max(), std::numeric_limits<int>::min()};
  for (int exponent = least; exponent <= greatest; ++exponent) {
    const scale_range here = of(exponent, place);
    const auto less = [&](int scale) { return scale == nan_scale ? nan_scale : scale - exponent; };
    all = {std::min(all.low, less(here.low)), std::max(all.high, less(here.high))};
  }
  return all;
}

}  // namespace ulp::detail
