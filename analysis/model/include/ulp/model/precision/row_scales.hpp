// Scales of blocks of the operands of many dot products.
#ifndef ULP_MODEL_PRECISION_ROW_SCALES_HPP
#define ULP_MODEL_PRECISION_ROW_SCALES_HPP

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <ulp/formats/dot.hpp>
#include <ulp/formats/format.hpp>

namespace ulp {

// Codes of the scales of a's rows and of b's: each row has one for each `size` elements, of which the last block may be short.
struct row_scales {
  ulp::format format;
  std::span<const std::uint32_t> a;
  std::span<const std::uint32_t> b;
  std::size_t size = 0;

  [[nodiscard]] std::size_t blocks_of(std::size_t length) const noexcept { return (length + size - 1) / size; }
  // Of elements begin to end, both where blocks begin, of row a_row with row b_row, of `length` elements.
  [[nodiscard]] block_scales of(std::size_t a_row, std::size_t b_row, std::size_t length, std::size_t begin,
                                std::size_t end) const noexcept {
    const auto part = [&](std::span<const std::uint32_t> all, std::size_t row) {
      return number_span{format, all.subspan(row * blocks_of(length) + begin / size, blocks_of(end - begin))};
    };
    return {part(a, a_row), part(b, b_row), size};
  }
  // Throws std::invalid_argument where there is not one for each block of each row.
  void check(std::size_t a_rows, std::size_t b_rows, std::size_t length) const;
};

// The numbers of elements times the magnitudes of their scales, exactly: of formats with at most 26 significant bits, and a range
// of exponents that float64 holds twice. `scales`: of these rows.
[[nodiscard]] std::vector<double> scaled_numbers(const format& of, std::span<const std::uint32_t> codes,
                                                 std::size_t length, const row_scales& by,
                                                 std::span<const std::uint32_t> scales);

}  // namespace ulp

#endif
