#include "four_over_six.hpp"

#include <array>
#include <cmath>
#include <vector>

#include <ulp/formats/catalog.hpp>
#include <ulp/formats/codec.hpp>

namespace ulp::detail {
namespace {

std::uint8_t e4m3_code(float x) { return static_cast<std::uint8_t>(encode(float8_e4m3fn, x > 448 ? 448.0F : x).code); }

four_or_six stored(float scale, const tensor_level& tensor) {
  const std::uint8_t code = e4m3_code(scale);
  return {code, te_nvfp4_factor(to_float(float8_e4m3fn, code), tensor)};
}

// Of one row of a block; elements are added in their order.
float error_of(std::span<const float> x, const four_over_six& how, const four_or_six& scale,
               const tensor_level& tensor) {
  const float stored = to_float(float8_e4m3fn, scale.code);
  float sum = 0;
  for (const float element : x) {
    const float scaled = element * scale.factor;
    const float number = to_float(float4_e2m1, encode(float4_e2m1, scaled != scaled ? 0.0F : scaled).code);
    const float error = how.unscaled ? number * stored - element * tensor.encode
                                     : number * stored * tensor.amax / (6 * how.base) - element;
    sum += how.squares ? error * error : std::fabs(error);
  }
  return sum;
}

// Rows are added 8, 4, 2 and 1 apart.
float error_of(std::span<const std::span<const float>> rows, const four_over_six& how, const four_or_six& scale,
               const tensor_level& tensor) {
  std::vector<float> sums;
  for (const std::span<const float> x : rows) sums.push_back(error_of(x, how, scale, tensor));
  if (rows.size() == 1) return sums.front();
  sums.resize(16, 0.0F);
  for (std::size_t apart = 8; apart > 0; apart /= 2)
    for (std::size_t i = 0; i < apart; ++i) sums[i] += sums[i + apart];
  return sums.front();
}

}  // namespace

four_or_six four_over_six_scale(const block_format& row, std::span<const std::span<const float>> rows, float amax,
                                const tensor_level& tensor) {
  const float base = amax / 6 * tensor.encode;
  const four_or_six six = stored(base, tensor);
  const four_or_six four = stored(base * 1.5F, tensor);
  return error_of(rows, *row.choice, four, tensor) < error_of(rows, *row.choice, six, tensor) ? four : six;
}

}  // namespace ulp::detail
