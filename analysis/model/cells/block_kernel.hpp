// The loops over float32 elements by which count_blocks counts, for each level of the processor. Integer operations on the bits
// alone.
#ifndef ULP_MODEL_CELLS_BLOCK_KERNEL_HPP
#define ULP_MODEL_CELLS_BLOCK_KERNEL_HPP

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include <ulp/model/cells/block_table.hpp>

namespace ulp::detail {

// What is left of a significand to the next power of two, 2^23 (1 - f), at least 1.5 * 2^15, lies at or between two halves of
// binades. Their numbers added are the row: 30 for a power of two, falling to 0.
inline constexpr std::size_t element_rows = 31;
[[nodiscard]] constexpr std::uint8_t place_of_row(std::size_t row) noexcept {
  const std::size_t c = (30 - row) / 4;  // of 2 - 2^-c, at it or above
  if (row < 2) return 17;
  const std::size_t part = (30 - row) % 4;
  const std::size_t edge = 2 * c + (c > 2 ? 2 : 0);
  if (part == 0) return static_cast<std::uint8_t>(edge);
  return static_cast<std::uint8_t>(c == 2 ? edge + part : edge + 1);  // 1.8125 is halfway
}

// Of one element in the table of counts: the origin of its block, less 64 for each binade, 32 for a minus sign, and the row.
// A block's origin is that of its place and exponent field.
inline constexpr std::uint32_t per_binade = 64;
inline constexpr std::uint32_t per_place = 277 * per_binade;
// All zeros, and those elements that are counted otherwise.
inline constexpr std::uint32_t zero_index = amax_places.size() * per_place;
inline constexpr std::uint32_t others_begin = zero_index + per_binade;
inline constexpr std::uint32_t origin_of_others = others_begin + 255 * per_binade;
inline constexpr std::size_t counts_size = others_begin + 256 * per_binade;

// Where fractions, 23 bits, of the places of amax end.
inline constexpr auto ends_of_amax_places = [] {
  std::array<std::uint32_t, amax_places.size()> ends{};
  for (std::size_t i = 0; i < ends.size(); ++i) ends[i] = std::bit_cast<std::uint32_t>(amax_places[i].high) & 0x7FFFFF;
  return ends;
}();

// Elements that are taken at once.
inline constexpr std::size_t kernel_tile = 256;

struct block_kernel {
  // What `greatest` holds for each block of `width` elements, the last of which may be short, becomes the greatest of it and
  // of the bits without sign of the block's elements.
  void (*raise)(const float* x, std::size_t size, std::size_t width, std::uint32_t* greatest);
  // The places of blocks, whose amax are given as bits, and their origins. Returns whether all of them have one.
  bool (*locate)(const std::uint32_t* greatest, std::size_t size, std::uint32_t* places, std::uint32_t* origins);
  // Of each of `size` elements the origin of its block of `width`.
  void (*spread)(const std::uint32_t* origins, std::size_t width, std::size_t size, std::uint32_t* of_elements);
  // Indices of at most kernel_tile elements, and of their bits without sign the least above zero, less one. Subnormal
  // elements get an index that means nothing.
  std::uint32_t (*index)(const float* x, const std::uint32_t* origins, std::size_t size, std::uint32_t* indices);
};
// Of the level at which cells are counted: force_counting_kernel.
[[nodiscard]] const block_kernel& block_kernel_in_use() noexcept;

}  // namespace ulp::detail

#endif
