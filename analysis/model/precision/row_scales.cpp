#include <ulp/model/precision/row_scales.hpp>

#include <cmath>
#include <stdexcept>

#include <ulp/formats/codec.hpp>

namespace ulp {

void row_scales::check(std::size_t a_rows, std::size_t b_rows, std::size_t length) const {
  if (size == 0) throw std::invalid_argument("scales are for blocks of no products");
  if (a.size() != a_rows * blocks_of(length) || b.size() != b_rows * blocks_of(length))
    throw std::invalid_argument("there is not a scale for each block of each row and column");
}

std::vector<double> scaled_numbers(const format& of, std::span<const std::uint32_t> codes, std::size_t length,
                                   const row_scales& by, std::span<const std::uint32_t> scales) {
  std::vector<double> numbers(codes.size());
  for (std::size_t i = 0; i < codes.size(); ++i) {
    const std::uint32_t scale = scales[i / length * by.blocks_of(length) + i % length / by.size];
    numbers[i] = to_double(of, std::uint64_t{codes[i]}) * std::fabs(to_double(by.format, std::uint64_t{scale}));
  }
  return numbers;
}

}  // namespace ulp
