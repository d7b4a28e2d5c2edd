// float32 values into counts and exact sums, fast: what cell_counter does one value after the other is the reference that
// every kernel here equals. Integer operations on the bits alone.
//
// In blocks: a pass without branches turns each value into the row of a table and a pair of addends, a second one adds
// them. Zeros have a row; subnormal, infinite and NaN values fall into rows that mean nothing, and are left to the caller.
#ifndef ULP_MODEL_CELL_KERNEL_HPP
#define ULP_MODEL_CELL_KERNEL_HPP

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <ulp/model/cell_table.hpp>

namespace ulp::detail {

// Values are given in multiples of it.
inline constexpr std::size_t kernel_block = 512;
// Neighbours go to different tables, so that equal ones need not wait for each other.
inline constexpr std::size_t kernel_tables = 2;
// Values that one call takes: so many squares of 24-bit significands fit 64 bits.
inline constexpr std::size_t kernel_capacity = kernel_tables << 16;

// Counts and sums of a row: the number of values below the sum of their significands << 20, and the sum of the
// significands' squares.
using row_sums = std::uint64_t __attribute__((vector_size(16)));

// Rows of one sign and biased exponent: 2 c + (is above the lower edge) for c = 0..12 leading ones, and two for 13/16 and
// what is above it, up to 7/8. Several rows may be one slot.
inline constexpr std::uint32_t rows_per_binade = 32;
inline constexpr std::size_t rows_per_table = 512 * rows_per_binade;
inline constexpr std::size_t rows_used = 28;
[[nodiscard]] constexpr std::uint8_t slot_of_row(std::size_t row) noexcept {
  if (row >= 26) return static_cast<std::uint8_t>(row - 20);
  if (row >= 22) return row < 24 ? 24 : 25;
  return static_cast<std::uint8_t>(row < 6 ? row : row + 2);
}

// Of the values' bits without sign.
struct magnitude_bounds {
  std::uint32_t largest = 0;
  std::uint32_t least_less_one = ~std::uint32_t{0};  // of the nonzero ones
};

struct cell_kernel {
  std::string_view name;
  bool (*runs_here)();
  // Adds to `tables`, kernel_tables * rows_per_table rows.
  magnitude_bounds (*count)(std::span<const float> values, row_sums* tables);
};

// Those that this processor runs, slowest first.
[[nodiscard]] const std::vector<cell_kernel>& cell_kernels();
// The one in use; nullptr where the reference is forced.
[[nodiscard]] const cell_kernel* cell_kernel_in_use() noexcept;

}  // namespace ulp::detail

#endif
