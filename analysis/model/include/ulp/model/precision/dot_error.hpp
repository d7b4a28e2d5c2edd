// What dot products of narrow numbers lose in the orders in which libraries and processors add: docs/precision.md.
#ifndef ULP_MODEL_PRECISION_DOT_ERROR_HPP
#define ULP_MODEL_PRECISION_DOT_ERROR_HPP

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <ulp/formats/dot.hpp>
#include <ulp/model/precision/row_scales.hpp>
#include <ulp/model/precision/unit_choice.hpp>

namespace ulp {

// Who says that it is so.
enum class dot_basis : std::uint8_t {
  defined,   // an order that is said completely by its name
  measured,  // of a library or processor, as it was compared with it; see `source`
  assumed    // a model: the vendor says less than that, see `source` and `note`
};

struct dot_order {
  std::string name;
  dot_basis basis = dot_basis::defined;
  accumulation how;
  std::optional<format> then;  // what the sum is rounded to at last, to nearest even
  std::string source;
  std::string note;  // what is assumed

  [[nodiscard]] const format& result() const noexcept { return then ? *then : how.result(); }
};

// Of operands in that format, called `name`: float32 and the format itself as accumulator, with and without chunks of that many products, libraries,
// the matrix units of tensor_cores.hpp that take such operands, Cerebras' precision_opt_level. `chunk` is at least 1.
[[nodiscard]] std::vector<dot_order> dot_orders(const format& operands, const std::string& name, std::uint32_t chunk);

// As that unit adds, and in two levels where that is chosen. Throws std::invalid_argument, see unit_chosen.
[[nodiscard]] std::vector<dot_order> unit_orders(const format& operands, const unit_choice& choice);
// All units that take such operands with such scales for so many of them.
[[nodiscard]] std::vector<dot_order> scaled_unit_orders(const format& operands, const format& scale,
                                                        std::uint32_t block);

// Errors are those of the result against the exact sum as double.
struct dot_errors {
  std::uint64_t products = 0;    // dot products
  std::uint64_t nonfinite = 0;   // an operand is NaN or infinite: in nothing below
  std::uint64_t overflowed = 0;  // the exact sum is finite, the result is not: in no error
  // |error| / sum of |a_i b_i|; dot products of zeros alone are exact. NaN, as largest_ulps, where none counts.
  double largest_relative = std::numeric_limits<double>::quiet_NaN();
  double squared_relative = 0;                                     // the sum of its squares
  double largest_ulps = std::numeric_limits<double>::quiet_NaN();  // of the exact sum in the result's format
  double outward = 0;  // sum of error / sum of |a_i b_i|, positive away from zero

  // Over those that count; NaN where none does.
  [[nodiscard]] double rms_relative() const noexcept;
  [[nodiscard]] double mean_outward() const noexcept;
};

// Row i of a with row i of b, `length` elements each, as codes of `operands`. Throws std::invalid_argument where sizes differ, or
// are not a multiple of the length, or that is 0. `scales`: nullptr where there are none.
[[nodiscard]] dot_errors dot_error(const dot_order& order, const format& operands, std::span<const std::uint32_t> a,
                                   std::span<const std::uint32_t> b, std::size_t length,
                                   const row_scales* scales = nullptr);

enum class distribution : std::uint8_t {
  uniform,     // (0, 1)
  symmetric,   // (-1, 1)
  normal,      // mean 0, deviation 1: by Box and Muller, in double
  around_one,  // uniform with mean 1 and deviation 1
  constant     // 1
};

// `count` numbers, number i of the random bits i of (seed, stream): random_bits.hpp.
[[nodiscard]] std::vector<double> generated_numbers(distribution of, std::uint64_t seed, std::uint64_t stream,
                                                    std::size_t count);

}  // namespace ulp

#endif
