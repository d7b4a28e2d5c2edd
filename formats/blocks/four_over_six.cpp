#include "four_over_six.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include <ulp/formats/catalog.hpp>
#include <ulp/formats/codec.hpp>
#include <ulp/formats/convert.hpp>

namespace ulp::detail {
namespace {

// One of the two scales of each block.
struct candidates {
  std::vector<std::uint8_t> codes;
  std::vector<float> numbers;
  std::vector<float> factors;
};

// `more`: what the scale that makes amax 6 is multiplied by.
candidates stored(std::span<const float> amax, float more, const tensor_level& tensor) {
  const std::size_t size = amax.size();
  candidates made{std::vector<std::uint8_t>(size), std::vector<float>(size), std::vector<float>(size)};
  for (std::size_t b = 0; b < size; ++b) {
    const float scale = amax[b] / 6 * tensor.encode * more;
    made.numbers[b] = scale > 448 ? 448 : scale;
  }
  encode_array(float8_e4m3fn, made.numbers, std::span{made.codes}, {.threads = 1});
  for (std::size_t b = 0; b < size; ++b) {
    made.numbers[b] = e4m3_number(made.codes[b]);
    made.factors[b] = te_nvfp4_factor(made.numbers[b], tensor);
  }
  return made;
}

// Elements are added in their order.
float error_of(std::span<const float> x, const e2m1_error_plan& plan, float factor, float scale) {
  float sum = 0;
  for (const float element : x) {
    const float scaled = element * factor;
    const float number = to_float(float4_e2m1, encode(float4_e2m1, scaled != scaled ? 0.0F : scaled).code);
    const float error =
        plan.unscaled ? number * scale - element * plan.encode : number * scale * plan.amax / plan.divisor - element;
    sum += plan.squares ? error * error : std::fabs(error);
  }
  return sum;
}

// Of all blocks of one row.
void add_errors(const row_of_blocks& row, const candidates& by, const e2m1_error_plan& plan, const kernels* loops,
                std::span<float> sums) {
  const std::size_t whole = row.x.size() / row.width;
  if (loops != nullptr) {
    loops->e2m1_errors(row.x.data(), row.width, whole, plan, by.factors.data(), by.numbers.data(), sums.data());
    if (const std::size_t rest = row.x.size() % row.width; rest != 0)
      loops->e2m1_errors(row.x.data() + whole * row.width, rest, 1, plan, by.factors.data() + whole,
                         by.numbers.data() + whole, sums.data() + whole);
    return;
  }
  for (std::size_t b = 0; b < sums.size(); ++b) {
    const std::size_t begin = b * row.width;
    sums[b] =
        error_of(row.x.subspan(begin, std::min(row.width, row.x.size() - begin)), plan, by.factors[b], by.numbers[b]);
  }
}

std::vector<float> errors_of(std::span<const row_of_blocks> rows, const candidates& by, const e2m1_error_plan& plan,
                             const kernels* loops) {
  const std::size_t blocks = by.codes.size();
  std::vector<float> sums(std::bit_ceil(rows.size()) * blocks);
  for (std::size_t r = 0; r < rows.size(); ++r)
    add_errors(rows[r], by, plan, loops, std::span{sums}.subspan(r * blocks, blocks));
  for (std::size_t apart = sums.size() / 2; apart >= blocks; apart /= 2)
    for (std::size_t i = 0; i < apart; ++i) sums[i] += sums[i + apart];
  sums.resize(blocks);
  return sums;
}

}  // namespace

void four_over_six_scales(const block_format& row, std::span<const row_of_blocks> rows, std::span<const float> amax,
                          const tensor_level& tensor, const kernels* loops, std::span<std::uint8_t> codes,
                          std::span<float> factors) {
  const e2m1_error_plan plan{row.choice->squares, row.choice->unscaled, tensor.encode, tensor.amax,
                             6 * row.choice->base};
  const candidates six = stored(amax, 1, tensor);
  const candidates four = stored(amax, 1.5F, tensor);
  const std::vector<float> error_of_six = errors_of(rows, six, plan, loops);
  const std::vector<float> error_of_four = errors_of(rows, four, plan, loops);
  for (std::size_t b = 0; b < codes.size(); ++b) {
    const candidates& chosen = error_of_four[b] < error_of_six[b] ? four : six;
    codes[b] = chosen.codes[b];
    factors[b] = chosen.factors[b];
  }
}

}  // namespace ulp::detail
