#include "arithmetic/block_casting.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ulp::train {
namespace {

std::vector<float> quantized(const block_format& row, std::span<const float> values, matrix_extent of) {
  const std::size_t scales = grid_of(row, of).scales();
  std::vector<std::uint8_t> codes(values.size());
  std::vector<std::uint8_t> scale_codes(row.scale == scale_type::float32 ? 0 : scales);
  std::vector<float> scale_numbers(row.scale == scale_type::float32 ? scales : 0);
  std::vector<float> numbers(values.size());
  const scale_span kept = row.scale == scale_type::float32 ? scale_span{std::span<float>{scale_numbers}}
                                                           : scale_span{std::span<std::uint8_t>{scale_codes}};
  quantize_blocks(row, values, of, codes, kept, {.threads = 1}, numbers);
  return numbers;
}

// Of the finite values.
double lost_share(std::span<const float> before, std::span<const float> after) {
  double lost = 0;
  double energy = 0;
  for (std::size_t i = 0; i < before.size(); ++i) {
    const double x = before[i];
    if (!std::isfinite(x)) continue;
    const double error = x - static_cast<double>(after[i]);
    lost += std::isfinite(error) ? error * error : std::numeric_limits<double>::infinity();
    energy += x * x;
  }
  return energy == 0 ? 0 : lost / energy;
}

}  // namespace

float block_casting::round_operand(const site& at, std::span<float> values) {
  auto known = std::ranges::find(tensors_, at.tensor, &lost_in_blocks::name);
  const tensor_kind kind = operand_kind(at.kind);
  if (known == tensors_.end()) known = tensors_.insert(known, {.name = std::string{at.tensor}, .kind = kind});
  const std::vector<float> numbers = quantized(row_, values, {at.rows, at.columns});
  known->shares += lost_share(values, numbers);
  ++known->steps;
  if (applies_) std::ranges::copy(numbers, values.begin());
  return 1;
}

bool block_casting::round_across(const site& at, std::span<float> values) {
  if (!applies_) return false;
  const axis_extent down{.outer = 1, .length = at.rows, .inner = at.columns};
  std::vector<float> rows(values.size());
  rows_along<float>(down, values, rows);
  from_rows_along<float>(down, quantized(row_, rows, down.matrix()), values);
  return true;
}

}  // namespace ulp::train
