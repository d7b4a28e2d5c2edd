// Block formats: numbers in few bits that share a scale with their neighbours (OCP MX, NVFP4, FP8 in blocks, rows and
// tensors), and what each program makes of them. One row each; where two programs differ by one rule they are two rows,
// the dialects of one format.
//
//   const auto& row = *ulp::find_block_format("mxfp8");
//   ulp::block_grid grid = ulp::grid_of(row, {rows, columns});
//   std::vector<std::uint8_t> codes(rows * columns);
//   std::vector<std::uint8_t> scales(grid.scales());
//   ulp::quantize_blocks(row, x, {rows, columns}, codes, scales);
//
// An array is a matrix whose last index varies fastest; leading indices are counted together as its rows. Blocks run along
// rows; those at an edge may be short, and are as if what lacks were zero. All arithmetic is IEEE float32, each operation rounded
// once, to nearest, in the order that the row's program has; the result depends on the arguments alone. Comparison with what
// the programs' own code gave: docs/blocks.md. The blocks of optimizer states, elements of codebooks: blocks.hpp.
#ifndef ULP_FORMATS_BLOCK_FORMATS_HPP
#define ULP_FORMATS_BLOCK_FORMATS_HPP

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include <ulp/formats/convert.hpp>
#include <ulp/formats/format.hpp>
#include <ulp/formats/parsed.hpp>
#include <ulp/formats/rounding.hpp>

namespace ulp {

// Numbers of a format, or integers in two's complement that stand for themselves over 2^fraction_bits.
struct block_element {
  std::string_view name;                 // the format's in the catalogue, or "int8"
  const ulp::format* numbers = nullptr;  // nullptr: integers
  int width = 0;                         // of a code, in bits
  int fraction_bits = 0;                 // of integers
  float largest = 0;                     // finite number
  float least = 0;                       // the most negative one
};

// How scales are kept.
enum class scale_type : std::uint8_t {
  e8m0,     // the code of a power of two, 2^(code - 127); 255 is NaN
  e4m3,     // the code of a number of float8_e4m3fn
  float32,  // a number
};

// How a scale follows from amax, the greatest magnitude of the block. M is the largest element, E its exponent.
enum class amax_rule : std::uint8_t {
  // To powers of two.
  floor,                 // 2^floor(log2 amax) / 2^E, by amax's exponent field: OCP MX 1.0, 6.3
  ceil,                  // the next one where amax's significand is not 1
  even,                  // floor of amax rounded to the element's precision, ties away
  round_up,              // the least power of two that is not below amax / M ("RCEIL")
  floor_of_log2f,        // floor, by a log2 that was rounded to float32; amax 0 counts as 2^-126
  floor_of_field,        // floor; amax 0 and subnormals count as 2^-127
  floor_clamped,         // floor of the real log2, kept within 2^-127..2^127; amax 0 gives 2^-127
  floor_clamped_log2f,   // likewise, by a log2 rounded to float32
  round_up_of_numbers,   // round_up of the block's numbers: NaN does not count, infinity gives 2^127
  round_up_of_quotient,  // round_up by the quotient amax / M
  ceil_of_log2f,         // 2^ceil(log2(amax / M)), by a log2 rounded to float32
  // To E4M3 numbers.
  nvfp4,             // amax / 6, kept within 2^-6..448
  nvfp4_two_level,   // amax / 6 over the tensor's scale, amax of the tensor / 2688, kept within 2^-6..448
  te_nvfp4,          // amax times the tensor's factor, 2688 / amax of the tensor, over 6, at most 448
  te_four_over_six,  // that, or half as much again, whichever gives the lesser error
  // To float32: elements are multiplied by M / amax.
  te_quotient,      // kept finite
  torchao_double,   // in float64; amax at least 1e-12
  flax_reciprocal,  // the reciprocal of M / amax, by which elements are divided; 1 without a finite amax above 0
};

// How te_four_over_six compares.
struct four_over_six {
  float base = 256;       // the tensor's factor is base * 6 / amax of the tensor
  bool squares = false;   // else magnitudes of errors
  bool unscaled = false;  // errors of elements that keep the tensor's factor
};

// What becomes of zeros.
enum class zero_signs : std::uint8_t {
  kept,
  of_results,  // elements that are zero lose their sign, those that round to zero keep it
  lost,
};

// Extents of a block; 0 is all there is.
struct block_extent {
  std::size_t rows = 1;
  std::size_t columns = 0;
  friend constexpr bool operator==(const block_extent&, const block_extent&) = default;
};

struct block_format {
  std::string_view name;
  std::string_view summary;  // whose it is
  block_element element;
  block_extent block;
  scale_type scale = scale_type::e8m0;
  amax_rule rule = amax_rule::floor;
  ulp::direction rounding = direction::nearest_even;  // of elements
  bool saturates = true;                              // elements beyond the largest become that, infinity too
  bool power_of_two = false;                          // float32 scales are lowered to one
  float epsilon = 0;                                  // the least amax
  zero_signs zeros = zero_signs::kept;
  bool nan_is_zero = false;      // NaN becomes the code 0
  bool rounds_by_log2f = false;  // to steps of the binade that a log2 rounded to float32 names, in float32
  std::optional<four_over_six> choice{};
  bool scales_rows = false;          // the tensor's amax is that of each row
  bool scale_for_each_row = false;   // of a block of several rows: its scale is kept once for each
  bool transposed_hadamard = false;  // what is quantized is hadamard_of_transpose
  std::string_view source;
};

// In the order in which they are listed to people.
[[nodiscard]] std::span<const block_format> block_formats() noexcept;

// A name that many use, and the dialect that it stands for here.
struct block_alias {
  std::string_view name;
  std::string_view stands_for;
};
[[nodiscard]] std::span<const block_alias> block_aliases() noexcept;

// By name or alias, in upper or lower case, and with blocks of another shape where ",block=64" or ",block=4x16" (rows x columns)
// is behind it; nullptr where there is none. Such a row is made when it is first asked for, called "ROW,block=RxC", and stays.
[[nodiscard]] const block_format* find_block_format(std::string_view name);
// The same, or what is wrong with the name, which the error quotes.
[[nodiscard]] parsed<const block_format*> read_block_format(std::string_view name);

// The row with blocks of that shape, by the same rules; nullptr of rows whose scale is of a row or a tensor, of several rows
// where the row scales rows, and of extents that are not from 1 to 2^20.
[[nodiscard]] const block_format* with_block(const block_format& row, block_extent block);
// The row of block_formats() that it is but for its blocks.
[[nodiscard]] const block_format& listed_row(const block_format& row);

// What a program makes of a format that several have: {"mxfp8", "te"} is te_mxfp8_e4m3_cppref.
struct block_dialect {
  std::string_view format;  // a name of block_aliases
  std::string_view dialect;
  std::string_view row;
};
[[nodiscard]] std::span<const block_dialect> block_dialects() noexcept;
// nullptr where there is none. Without a dialect as above; with one in blocks of the shape that is behind the name.
[[nodiscard]] const block_format* find_block_format(std::string_view name, std::string_view dialect);

// Scales in memory that is not owned: codes of e8m0 and e4m3, or numbers.
template <bool Constant>
class basic_scale_span {
  template <class T>
  using element = std::conditional_t<Constant, const T, T>;

 public:
  constexpr basic_scale_span(std::span<element<std::uint8_t>> codes) noexcept : codes_(codes) {}
  constexpr basic_scale_span(std::span<element<float>> numbers) noexcept : numbers_(numbers), are_numbers_(true) {}
  template <bool Other>
  requires(Constant && !Other) constexpr basic_scale_span(const basic_scale_span<Other>& other) noexcept
      : codes_(other.codes()), numbers_(other.numbers()), are_numbers_(other.are_numbers()) {}
  template <class Scales>
  requires(!std::same_as<std::remove_cvref_t<Scales>, basic_scale_span<false>> &&
           !std::same_as<std::remove_cvref_t<Scales>, basic_scale_span<true>> &&
           requires(Scales & scales) { std::span{scales}; }) constexpr basic_scale_span(Scales&& scales) noexcept
      : basic_scale_span(std::span<element<typename decltype(std::span{scales})::value_type>>{scales}) {}

  [[nodiscard]] constexpr bool are_numbers() const noexcept { return are_numbers_; }
  [[nodiscard]] constexpr std::size_t size() const noexcept { return are_numbers_ ? numbers_.size() : codes_.size(); }
  [[nodiscard]] constexpr std::span<element<std::uint8_t>> codes() const noexcept { return codes_; }
  [[nodiscard]] constexpr std::span<element<float>> numbers() const noexcept { return numbers_; }

 private:
  std::span<element<std::uint8_t>> codes_;
  std::span<element<float>> numbers_;
  bool are_numbers_ = false;
};
using scale_span = basic_scale_span<false>;
using const_scale_span = basic_scale_span<true>;

struct matrix_extent {
  std::size_t rows = 0;
  std::size_t columns = 0;
  friend constexpr bool operator==(const matrix_extent&, const matrix_extent&) = default;
};

// How a matrix falls into blocks.
struct block_grid {
  block_extent block;    // none of its extents is 0
  std::size_t down = 0;  // scales
  std::size_t across = 0;
  [[nodiscard]] std::size_t scales() const noexcept { return down * across; }
};
// `block`: in place of the row's own, of rows whose scale is of a row or a tensor.
[[nodiscard]] block_grid grid_of(const block_format& row, matrix_extent of, std::optional<block_extent> block = {});

struct block_conversion {
  // Of second levels: one, or one for each row where the row scales rows. Where there is none it is found.
  std::span<const float> tensor_amax{};
  std::optional<ulp::rounding> rounding{};  // of elements, in place of the row's
  random_stream random{};                   // element i of the matrix takes element i of it
  unsigned threads = 0;                     // at most; 0: one for each processor
  std::optional<block_extent> block{};      // see grid_of
};

// The amax that the second level of a row takes where none is given: none, one, or one for each row. Allocates.
[[nodiscard]] std::vector<float> tensor_amax(const block_format& row, std::span<const float> x, matrix_extent of);

// What the second level of a row with that amax contributes to all of its numbers, amax / 2688 or what the row has in its place;
// 1 where it has none.
[[nodiscard]] float tensor_scale(const block_format& row, float amax) noexcept;

// x to a code for each element and what is stored of the scale of each block, down * across of them. Throws
// std::invalid_argument, before anything is written, where sizes do not fit or the rounding is not possible: integers are
// rounded in the row's own way only. `numbers`, where it is given, gets the numbers that the program gives: what the codes stand
// for, and the sign of zero where the program keeps it though an integer does not. To `counts`, where they are given, what
// became of the scaled elements is added.
void quantize_blocks(const block_format& row, std::span<const float> x, matrix_extent of, std::span<std::uint8_t> codes,
                     scale_span scales, const block_conversion& how = {}, std::span<float> numbers = {},
                     conversion_counts* counts = nullptr);

// The numbers that the codes stand for. Second levels must be given. As quantize_blocks.
void dequantize_blocks(const block_format& row, std::span<const std::uint8_t> codes, const_scale_span scales,
                       matrix_extent of, std::span<float> x, const block_conversion& how = {});

// An array whose blocks run along an axis that is not its last: element (o, i, n) lies at (o * length + i) * inner + n, and
// blocks along i.
struct axis_extent {
  std::size_t outer = 1;
  std::size_t length = 0;
  std::size_t inner = 1;
  // What rows_along makes.
  [[nodiscard]] matrix_extent matrix() const noexcept { return {outer * inner, length}; }
};
// The elements along the axis as rows of a matrix, row o * inner + n; and back. Elements are floats or bytes. Precondition: spans
// of one size, which do not overlap.
template <class Element>
void rows_along(axis_extent of, std::span<const Element> array, std::span<Element> rows) {
  for (std::size_t o = 0; o < of.outer; ++o)
    for (std::size_t i = 0; i < of.length; ++i)
      for (std::size_t n = 0; n < of.inner; ++n)
        rows[(o * of.inner + n) * of.length + i] = array[(o * of.length + i) * of.inner + n];
}
template <class Element>
void from_rows_along(axis_extent of, std::span<const Element> rows, std::span<Element> array) {
  for (std::size_t o = 0; o < of.outer; ++o)
    for (std::size_t i = 0; i < of.length; ++i)
      for (std::size_t n = 0; n < of.inner; ++n)
        array[(o * of.length + i) * of.inner + n] = rows[(o * of.inner + n) * of.length + i];
}

// NVIDIA's signs of the random Hadamard transform (TransformerEngine pytorch/tensor/nvfp4_tensor.py), 1 or -1.
extern const std::array<float, 16> hadamard_signs;
// Groups of 16 numbers times diag(signs) H / 4, with Sylvester's H of 16, H_ij = (-1)^(number of ones in i and j). Sums
// in float32, one after the other: exact for bfloat16 numbers of like exponents, as all orders are. Precondition: the size is a
// multiple of 16; one array for both is possible.
void random_hadamard(std::span<const float> x, std::span<float> transformed,
                     std::span<const float, 16> signs = hadamard_signs);
// The transpose with each of its rows so transformed: of.columns x of.rows. Throws std::invalid_argument where the rows are no
// multiple of 16.
[[nodiscard]] std::vector<float> hadamard_of_transpose(std::span<const float> x, matrix_extent of);

}  // namespace ulp

#endif
