// The histogram of one tensor's elements together with the largest number of the block that they share a scale with, fine
// enough that counts under block formats follow from it, exactly or as a range.
//
// A block is known by the place of its amax, 2^k (1 + f), in its binade: nine places, whose edges are those of the rules that
// choose a power of two as a scale. An element of it is known by how many binades it lies below amax, by its place in its own
// binade and its sign. The exponent k itself is forgotten, as scales move with it, but for its extremes; only blocks near the
// ends of E8M0 and of float32 keep theirs. Blocks of zeros, and those with an infinity or a NaN, are counted apart. Counts are
// integers: merging is exact, associative and commutative. What follows from a table, and why: docs/block-tables.md.
//
// Values are float32 numbers. A matrix falls into blocks as block_formats.hpp says; a block of several rows and one column lies along
// the other axis.
#ifndef ULP_MODEL_CELLS_BLOCK_TABLE_HPP
#define ULP_MODEL_CELLS_BLOCK_TABLE_HPP

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include <ulp/formats/block_formats.hpp>
#include <ulp/model/cells/cell_table.hpp>

namespace ulp {

// Float32 significands 1 + f, both ends included; ends that are no edge are the float32 number next to one.
struct significands {
  float low = 1;
  float high = 1;
};

// The places of amax: at 1, up to 1.5, below 1.75, at it, below 1.875, at it, below 1.9375, from there on, and the last 64
// numbers below 2, some of which a logarithm in float32 takes for 2.
inline constexpr std::array<significands, 9> amax_places{{{1, 1},
                                                          {0x1.000002p0F, 1.5F},
                                                          {0x1.800002p0F, 0x1.BFFFFEp0F},
                                                          {1.75F, 1.75F},
                                                          {0x1.C00002p0F, 0x1.DFFFFEp0F},
                                                          {1.875F, 1.875F},
                                                          {0x1.E00002p0F, 0x1.EFFFFEp0F},
                                                          {1.9375F, 0x1.FFFF7Ep0F},
                                                          {0x1.FFFF80p0F, 0x1.FFFFFEp0F}}};
// The places of an element: at 2 - 2^-c for c = 0..7 and at 1.8125, and between them.
inline constexpr std::array<significands, 18> element_places{{{1, 1},
                                                              {0x1.000002p0F, 0x1.7FFFFEp0F},
                                                              {1.5F, 1.5F},
                                                              {0x1.800002p0F, 0x1.BFFFFEp0F},
                                                              {1.75F, 1.75F},
                                                              {0x1.C00002p0F, 0x1.CFFFFEp0F},
                                                              {0x1.D0p0F, 0x1.D0p0F},
                                                              {0x1.D00002p0F, 0x1.DFFFFEp0F},
                                                              {0x1.E0p0F, 0x1.E0p0F},
                                                              {0x1.E00002p0F, 0x1.EFFFFEp0F},
                                                              {0x1.F0p0F, 0x1.F0p0F},
                                                              {0x1.F00002p0F, 0x1.F7FFFEp0F},
                                                              {0x1.F8p0F, 0x1.F8p0F},
                                                              {0x1.F80002p0F, 0x1.FBFFFEp0F},
                                                              {0x1.FCp0F, 0x1.FCp0F},
                                                              {0x1.FC0002p0F, 0x1.FDFFFEp0F},
                                                              {0x1.FEp0F, 0x1.FEp0F},
                                                              {0x1.FE0002p0F, 0x1.FFFFFEp0F}}};

// Blocks whose amax has an exponent from here to there are not told apart by it: no scale of theirs reaches an end.
inline constexpr int least_ordinary = -110;
inline constexpr int greatest_ordinary = 126;
inline constexpr std::int16_t ordinary = 1000;  // in place of the exponent

// Blocks of one kind. `exponent`: ordinary, or amax's own.
struct block_class {
  std::int16_t exponent = ordinary;
  std::uint8_t place = 0;  // of amax_places
  std::uint64_t blocks = 0;

  // The order of block_table::classes.
  [[nodiscard]] constexpr std::uint32_t key() const noexcept {
    return (exponent == ordinary ? 0 : static_cast<std::uint32_t>(exponent + 150)) * 16 + place;
  }
  // The class of that key, without count; its parts may be out of range.
  [[nodiscard]] static block_class of_key(std::uint32_t key) noexcept;
  friend constexpr bool operator==(const block_class&, const block_class&) = default;
};

// Elements of the blocks of one class.
struct block_cell {
  std::uint32_t of = 0;     // the key of the class
  std::uint16_t below = 0;  // binades between amax and the element, 0..276
  std::uint8_t place = 0;   // of element_places
  bool negative = false;
  std::uint64_t count = 0;

  // The order of block_table::cells.
  [[nodiscard]] constexpr std::uint32_t key() const noexcept {
    return ((of * 512 + below) * 2 + (negative ? 1 : 0)) * 32 + place;
  }
  [[nodiscard]] static block_cell of_key(std::uint32_t key) noexcept;
  friend constexpr bool operator==(const block_cell&, const block_cell&) = default;
};

// Blocks that hold something infinite or NaN.
struct nonfinite_blocks {
  std::uint64_t blocks = 0;
  std::uint64_t zeros = 0;
  std::uint64_t numbers = 0;  // finite and not zero
  std::uint64_t infinities = 0;
  std::uint64_t nans = 0;

  [[nodiscard]] constexpr std::uint64_t elements() const noexcept { return zeros + numbers + infinities + nans; }
  friend constexpr bool operator==(const nonfinite_blocks&, const nonfinite_blocks&) = default;
};

struct block_table {
  block_extent block;  // as asked for, 0 being all there is; short ones at the edges count as blocks
  std::uint64_t numel = 0;
  std::uint64_t zeros = 0;  // in blocks of the classes
  std::uint64_t zero_blocks = 0;
  std::uint64_t in_zero_blocks = 0;  // elements
  nonfinite_blocks with_infinity;    // without a NaN
  nonfinite_blocks with_nan;
  // Of the exponents of ordinary blocks; 0 where there are none.
  std::int16_t least_exponent = 0;
  std::int16_t greatest_exponent = 0;
  std::vector<block_class> classes;  // ascending by key, counts above zero
  std::vector<block_cell> cells;     // likewise

  // Blocks, of every kind.
  [[nodiscard]] std::uint64_t blocks() const noexcept;
  [[nodiscard]] bool has_ordinary() const noexcept;

  // Precondition: blocks of the same extent.
  void merge(const block_table& other);
  // Whether the parts add up: keys ascend and are in range, cells are those of classes, counts fit numel.
  [[nodiscard]] bool is_consistent() const noexcept;
  friend bool operator==(const block_table&, const block_table&) = default;
};

// Reads x once or twice, in integer operations on its bits. An extent of 0 is all there is. `threads`: at most, 0: one for each
// processor; they do not change the result. Throws std::invalid_argument where x is not that matrix.
[[nodiscard]] block_table count_blocks(std::span<const float> x, matrix_extent of, block_extent block,
                                       unsigned threads = 1);

}  // namespace ulp

#endif
