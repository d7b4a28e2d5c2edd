// torch.sum of a float32 vector on a CPU, one thread, ATEN_CPU_CAPABILITY=default: pytorch/pytorch v2.6.0
// aten/src/ATen/native/cpu/SumKernel.cpp. Vectors of 8 lanes in 4 rows, whose sums cascade over 4 levels.
#ifndef ULP_MODEL_OPTIMIZERS_TORCH_SUM_HPP
#define ULP_MODEL_OPTIMIZERS_TORCH_SUM_HPP

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>

namespace ulp::optimizers {

// The sum of `count` vectors of Lanes elements, at(i) for element i.
template <std::size_t Lanes, class At>
std::array<float, Lanes> cascade_sum(std::size_t count, const At& at) {
  constexpr std::size_t rows = 4;
  constexpr std::size_t levels = 4;
  using vector = std::array<float, Lanes>;
  const auto add = [](vector& to, const vector& x) {
    for (std::size_t lane = 0; lane < Lanes; ++lane) to[lane] += x[lane];
  };
  const auto add_at = [&](vector& to, std::size_t i) {
    for (std::size_t lane = 0; lane < Lanes; ++lane) to[lane] += at(i * Lanes + lane);
  };
  const std::size_t size = count / rows;
  const auto log2 = static_cast<std::size_t>(size <= 2 ? 1 : std::bit_width(size - 1));
  const std::size_t power = std::max<std::size_t>(4, log2 / levels);
  const std::size_t step = std::size_t{1} << power;
  std::array<std::array<vector, rows>, levels> sums{};
  std::size_t i = 0;
  while (i + step <= size) {
    for (std::size_t j = 0; j < step; ++j, ++i)
      for (std::size_t row = 0; row < rows; ++row) add_at(sums[0][row], i * rows + row);
    for (std::size_t level = 1; level < levels; ++level) {
      for (std::size_t row = 0; row < rows; ++row) {
        add(sums[level][row], sums[level - 1][row]);
        sums[level - 1][row] = {};
      }
      if ((i & ((step - 1) << (level * power))) != 0) break;
    }
  }
  for (; i < size; ++i)
    for (std::size_t row = 0; row < rows; ++row) add_at(sums[0][row], i * rows + row);
  for (std::size_t level = 1; level < levels; ++level)
    for (std::size_t row = 0; row < rows; ++row) add(sums[0][row], sums[level][row]);
  for (i = size * rows; i < count; ++i) add_at(sums[0][0], i);
  for (std::size_t row = 1; row < rows; ++row) add(sums[0][0], sums[0][row]);
  return sums[0][0];
}

// The sum of `size` numbers, at(i) for number i.
template <class At>
float torch_sum(std::size_t size, const At& at) {
  constexpr std::size_t lanes = 8;
  if (size < lanes) return cascade_sum<1>(size, at)[0];
  const std::array<float, lanes> sums = cascade_sum<lanes>(size / lanes, at);
  float sum = 0;
  for (std::size_t i = size / lanes * lanes; i < size; ++i) sum += at(i);
  for (const float lane : sums) sum += lane;
  return sum;
}

}  // namespace ulp::optimizers

#endif
