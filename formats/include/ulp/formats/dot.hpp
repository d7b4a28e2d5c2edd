// Dot products and sums as hardware accumulates them, bit for bit, and exactly.
//
//   // float16 products added in float32 one after the other, as scalar code does
//   ulp::dot({ulp::float16, a}, {ulp::float16, b});
//   // 16 products and the accumulator cut at 2^-25 of the largest of them and added at once, truncated to float32
//   ulp::dot({ulp::float16, a}, {ulp::float16, b},
//            {.order = {ulp::sum_order::blocks, 16}, .align_bits = 25, .rounding = {.direction = toward_zero}});
//   ulp::exact_dot(ulp::float32, {ulp::float16, a}, {ulp::float16, b});
//
// tensor_cores.hpp has such parameters for known units. Terms are exact: a product, unless .products says otherwise, and
// c are not rounded before they are added. Each addition is the exact sum rounded once, as arithmetic.hpp's: integer steps
// only, every direction, five flags, NaN, infinities, FTZ, DAZ and saturation by the same rules; of several NaNs the first,
// c before the terms. Everything starts from c, which is +0 where it is not given: the sum of nothing is c as the rounding
// delivers it.
// Functions throw std::invalid_argument where sizes differ, or where a format, a rounding or the accumulation is not
// valid; only sums in blocks allocate, one block of terms.
#ifndef ULP_FORMATS_DOT_HPP
#define ULP_FORMATS_DOT_HPP

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <type_traits>

#include <ulp/formats/codec.hpp>
#include <ulp/formats/convert.hpp>
#include <ulp/formats/format.hpp>
#include <ulp/formats/rounding.hpp>

namespace ulp {

// The numbers of an array that is not owned: codes of a format, or float or double as they are.
class number_span {
 public:
  // Bits above the width of the format are ignored.
  number_span(const ulp::format& of, const_code_span codes) noexcept
      : format_(of), data_(codes.data()), size_(codes.size()), bytes_(codes.bytes()) {}
  number_span(std::span<const float> numbers) noexcept
      : format_(binary32), data_(numbers.data()), size_(numbers.size()), bytes_(4) {}
  number_span(std::span<const double> numbers) noexcept
      : format_(binary64), data_(numbers.data()), size_(numbers.size()), bytes_(8) {}
  // Of whatever is such a span: vectors, arrays.
  template <class Numbers>
  requires(!std::same_as<std::remove_cvref_t<Numbers>, number_span> && requires(const Numbers& numbers) {
    requires std::floating_point<typename decltype(std::span{numbers})::value_type>;
  }) number_span(const Numbers& numbers)
  noexcept : number_span(std::span<const typename decltype(std::span{numbers})::value_type>{numbers}) {}

  [[nodiscard]] const ulp::format& format() const noexcept { return format_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] int bytes() const noexcept { return bytes_; }  // of an element; 0: two codes in a byte
  [[nodiscard]] std::uint64_t code(std::size_t i) const noexcept {
    switch (bytes_) {
      case 0: return (element<std::uint8_t>(i / 2) >> (i % 2 * 4)) & 15u;
      case 1: return element<std::uint8_t>(i);
      case 2: return element<std::uint16_t>(i);
      case 4: return element<std::uint32_t>(i);
      default: return element<std::uint64_t>(i);
    }
  }

 private:
  template <class Word>
  [[nodiscard]] Word element(std::size_t i) const noexcept {
    Word word;
    std::memcpy(&word, static_cast<const unsigned char*>(data_) + i * sizeof(Word), sizeof(Word));
    return word;
  }

  ulp::format format_;
  const void* data_;
  std::size_t size_;
  int bytes_;
};

// In which order terms are added. Below, R(...) is the exact sum of what it holds, rounded, and s starts as c.
struct sum_order {
  enum kinds : std::uint8_t {
    sequential,   // s = R(s + t0), s = R(s + t1), ...
    compensated,  // y = R(t - k), n = R(s + y), k = R(R(n - s) - y), s = n, with k from +0 (Kahan, CACM 8 (1965) 40)
    pairwise,     // tree(n terms) = R(tree(the first ceil(n/2)) + tree(the others)), one term as it is; R(c + tree)
    lanes,   // t_k into lane k mod size, each from +0; lane i = R(lane i + lane i + size/2), size/4, ...; R(c + lane 0)
    chunks,  // s = R(s + the sequential sum of size terms from +0), ..., s in the outer format
    tree_chunks,  // the same with pairwise sums of the chunks
    blocks,       // s = R(s + size terms), ...: added at once, what adders of several operands do. With an outer format
                  // s = R(s + `promote` blocks from +0), ..., s in the outer format
  };
  kinds kind = sequential;
  std::uint32_t size =
      0;  // of the last four: at least 1, a power of two for lanes. The last chunk or block may be short

  friend constexpr bool operator==(const sum_order&, const sum_order&) = default;
};

// A unit that aligns the products of a block among themselves and joins the accumulator afterwards (AMD's CDNA 3). E being
// the larger exponent of the products and the accumulator, the sum of the products is cut to a multiple of
// 2^(E - sum_bits), the accumulator of 2^(E - align_bits), both toward negative, and their sum is rounded. A product
// beyond the accumulator's largest binade is infinite.
struct late_accumulator {
  int sum_bits = 31;          // align_bits to 64
  int least_exponent = -126;  // of the accumulator, zero too
  // Product k of a block is in sum k mod sums; these are cut align_bits below their largest exponent, toward negative, and
  // added.
  std::uint32_t sums = 1;
  bool drops_negligible = false;  // an accumulator below 2^(E - align_bits - 1) is left out

  friend constexpr bool operator==(const late_accumulator&, const late_accumulator&) = default;
};

// Without alignment a block is added exactly. With it each of its terms, s among them, is first cut to a multiple of
// 2^(E - align_bits), where E is the largest exponent of the terms that are not zero, at least align_floor. Exponents are
// those of the codes, as a multiplier adds them: not that of the product (1.5 * 1.5 counts as 2^0, as 1 * 1 does), and of a
// subnormal number the smallest normal one.
struct accumulation {
  std::optional<format> products;  // each product is rounded to it; exact without
  std::optional<format> sums;      // each sum is rounded to it before it is rounded to where it is kept
  format accumulator = binary32;   // where sums are kept; it has sign and zero
  std::optional<format> outer;     // where sums of chunks and blocks are added; without, the accumulator
  sum_order order{};
  std::optional<int> align_bits;             // of blocks: 0 to 64
  direction align = direction::toward_zero;  // not stochastic
  int align_floor = -4096;                   // -4096, which is none, to 1024
  ulp::rounding rounding{};
  // Number i that is rounded, in the order above and a product before its sum, takes element i of it.
  random_stream random{};

  // What matrix units do. Blocks that are aligned:
  std::optional<late_accumulator> late{};
  // The exact sum of so many products, times its scales, is one term, and its exponent the sum of those of the scales'
  // codes; 0: each product is a term.
  std::uint32_t exact_group = 0;
  // Blocks with an outer format: how many are added up from +0 before their sum is added there; 0: all.
  std::uint32_t promote = 0;
  std::optional<ulp::rounding> outer_rounding{};  // of what is added in the outer format; not stochastic
  bool infinite_overflow = false;                 // beyond the largest finite number is infinity, in every direction
  bool all_ones_nan = false;                      // a result that is NaN has all bits set but the sign

  // The format of the result.
  [[nodiscard]] constexpr const format& result() const noexcept { return outer ? *outer : accumulator; }
};

struct accumulated {
  std::uint64_t code = 0;          // of accumulation::result()
  status flags = status::none;     // raised by any step; inexact where alignment cut something, too
  std::uint64_t compensation = 0;  // k, of sum_order::compensated
};

// c + the sum of a_i * b_i; c is a code of c_format.
[[nodiscard]] accumulated dot(const number_span& a, const number_span& b, const accumulation& how = {});
[[nodiscard]] accumulated dot(const number_span& a, const number_span& b, const accumulation& how,
                              const format& c_format, code c);

// Scales of blocks: element i of an operand is multiplied by scale i / size, whose sign is not looked at.
struct block_scales {
  number_span a;
  number_span b;
  std::size_t size = 0;  // at least 1; as many scales as there are blocks of the elements, the last may be short
};
// c + the sum of a_i * b_i * the scales of both, which is exact; refused where 128 bits do not hold such a product.
[[nodiscard]] accumulated dot(const number_span& a, const number_span& b, const block_scales& scales,
                              const accumulation& how, const format& c_format = binary32, code c = 0);
// c + the sum of x_i.
[[nodiscard]] accumulated sum(const number_span& x, const accumulation& how = {});
[[nodiscard]] accumulated sum(const number_span& x, const accumulation& how, const format& c_format, code c);

// Dot products and sums without any rounding but the last: a long accumulator, up to 2^63 terms. A sum that is exactly zero is -0 where
// c and all terms are -0; else where one is not +0, and toward negative, too; and +0 otherwise.
[[nodiscard]] encoded exact_dot(const format& to, const number_span& a, const number_span& b, const rounding& mode = {},
                                random_input random = {});
[[nodiscard]] encoded exact_dot(const format& to, const number_span& a, const number_span& b, const rounding& mode,
                                random_input random, const format& c_format, code c);
[[nodiscard]] encoded exact_sum(const format& to, const number_span& x, const rounding& mode = {},
                                random_input random = {});
[[nodiscard]] encoded exact_sum(const format& to, const number_span& x, const rounding& mode, random_input random,
                                const format& c_format, code c);

}  // namespace ulp

#endif
