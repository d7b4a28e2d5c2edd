// Products of matrices as matrix units and kernels of them add, element by element, and what they lose: docs/precision.md.
#ifndef ULP_MODEL_PRECISION_MATMUL_HPP
#define ULP_MODEL_PRECISION_MATMUL_HPP

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include <ulp/formats/dot.hpp>
#include <ulp/model/precision/row_scales.hpp>

namespace ulp {

// The dot product from begin to end is cut into at most `split` parts, each but the last the same multiple of `multiple` products, as
// small as holds all, whose sums are added in float32 to nearest even, one after the other.
struct matmul_order {
  accumulation how;
  std::size_t split = 1;
  std::size_t multiple = 1;

  // float32 where parts are added.
  [[nodiscard]] format result() const noexcept { return split > 1 ? binary32 : how.result(); }
  // Products in each part but the last, and the parts, of `depth` products. Precondition: none of the three is 0.
  [[nodiscard]] std::size_t part(std::size_t depth) const noexcept;
  [[nodiscard]] std::size_t parts(std::size_t depth) const noexcept;
};

// Of a unit: parts are whole groups of its products.
[[nodiscard]] matmul_order split_order(const accumulation& how, std::size_t split) noexcept;

// Rows of a and columns of b, `depth` codes each, one after the other.
struct matmul_operands {
  format a_format;
  std::span<const std::uint32_t> a;
  format b_format;
  std::span<const std::uint32_t> b;
  std::size_t depth = 0;
  std::optional<row_scales> scales{};  // those of b of its columns

  [[nodiscard]] std::size_t rows() const noexcept { return a.size() / depth; }
  [[nodiscard]] std::size_t columns() const noexcept { return b.size() / depth; }
};

// Codes of order.result(), row by row. Throws std::invalid_argument where sizes are not multiples of the depth, that is 0, or
// the accumulation is not valid, or where parts of a split cut blocks that have a scale. On all processors.
[[nodiscard]] std::vector<std::uint32_t> matmul(const matmul_order& order, const matmul_operands& x);

struct matmul_errors {
  std::uint64_t elements = 0;
  std::uint64_t nonfinite = 0;   // the exact sum has an operand that is NaN or infinite: in nothing below
  std::uint64_t overflowed = 0;  // the exact sum is a number of the result's range, the result infinite or NaN
  std::uint64_t differing = 0;   // from the exact sum rounded once to nearest even
  // Of the exact sum in the result's format, and where; NaN where no result is a number.
  double largest_ulps = std::numeric_limits<double>::quiet_NaN();
  std::size_t row = 0;
  std::size_t column = 0;
};

// `codes` are those of a product in the format.
[[nodiscard]] matmul_errors matmul_error(const format& of, std::span<const std::uint32_t> codes,
                                         const matmul_operands& x);

}  // namespace ulp

#endif
