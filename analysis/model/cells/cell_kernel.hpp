// float32 values into counts and exact sums, fast: what cell_counter does one value after the other is the reference that
// every kernel here equals. Integer operations on the bits alone.
//
// In blocks: a pass without branches turns each value into the row of a table, and a pair of addends where sums are asked
// for; a second one counts and adds. Zeros have a row; subnormal, infinite and NaN values fall into rows that mean nothing,
// and are left to the caller.
#ifndef ULP_MODEL_CELLS_CELL_KERNEL_HPP
#define ULP_MODEL_CELLS_CELL_KERNEL_HPP

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <ulp/model/cells/cell_table.hpp>

namespace ulp::detail {

// Values are given in multiples of it.
inline constexpr std::size_t kernel_block = 256;
// Neighbours are added to different tables of sums, so that those of one binade need not wait for each other.
inline constexpr std::size_t sum_tables = 4;
// Values that one call takes: so many squares of 24-bit significands fit 64 bits.
inline constexpr std::size_t kernel_capacity = sum_tables << 16;

// Sums of one sign and biased exponent: of the significands, and of their squares.
using binade_pair = std::uint64_t __attribute__((vector_size(16)));

// What is left of a significand to the next power of two, 2^23 (1 - f), at least 2^11, lies at or between two multiples of
// 2^(e - 1), where e is its exponent: rows are 4 (e - 11) and the sum of the numbers of both multiples from 2^e on. Several
// rows may be one slot.
inline constexpr std::size_t rows_used = 49;
inline constexpr std::size_t kernel_binades = 512;  // a float's sign and exponent
// What powers of two would put into the same places of the cache.
inline constexpr std::uint32_t rows_per_binade = 56;
inline constexpr std::size_t sums_per_table = kernel_binades + 36;
[[nodiscard]] constexpr std::uint8_t slot_of_row(std::size_t row) noexcept {
  const std::size_t c = 12 - row / 4;  // at f = 1 - 2^-c, or below it
  const std::size_t part = row % 4;
  if (part == 0) return static_cast<std::uint8_t>(c < 3 ? 2 * c : c < 11 ? 2 * c + 2 : c + 13);
  if (c == 3) return static_cast<std::uint8_t>(8 - part);  // 13/16 is halfway
  return static_cast<std::uint8_t>(c < 3 ? 2 * c - 1 : c < 12 ? 2 * c + 1 : 24);
}

struct kernel_rows {
  std::uint32_t* counts;  // kernel_binades times rows_per_binade
  binade_pair* sums;      // sum_tables times sums_per_table; nullptr: none
};

// Of the values' bits without sign.
struct magnitude_bounds {
  std::uint32_t largest = 0;
  std::uint32_t least_less_one = ~std::uint32_t{0};  // of the nonzero ones
};

struct cell_kernel {
  std::string_view name;
  bool (*runs_here)();
  // Adds to the rows.
  magnitude_bounds (*count)(std::span<const float> values, const kernel_rows& rows);
};

// Those that this processor runs, slowest first.
[[nodiscard]] const std::vector<cell_kernel>& cell_kernels();
// The one in use; nullptr where the reference is forced.
[[nodiscard]] const cell_kernel* cell_kernel_in_use() noexcept;

}  // namespace ulp::detail

#endif
