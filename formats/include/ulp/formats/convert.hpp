// Arrays to and from the codes of a format, bit for bit as codec.hpp's encode and decode, as fast as memory allows.
//
//   std::vector<std::uint16_t> codes(gradients.size());
//   ulp::conversion_counts counts;
//   ulp::encode_array(ulp::cbfloat16, gradients, codes, {.scale = 65536}, &counts);
//
// Any valid format whose code is as wide as an element or narrower, any valid rounding. Nothing is written beyond the
// output, bits of an element above the code are zero; NaNs keep what encode keeps of them. The result depends on the
// arguments alone: not on threads, the processor or its floating-point state. Input and output may be one array where
// their elements are of one size, and must not overlap otherwise. Nothing is allocated for the elements.
// Throws std::invalid_argument, before anything is written, where sizes differ, a format is not valid or too wide, or the
// conversion is not valid.
#ifndef ULP_FORMATS_CONVERT_HPP
#define ULP_FORMATS_CONVERT_HPP

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include <ulp/formats/format.hpp>
#include <ulp/formats/rounding.hpp>

namespace ulp {

// Element i of an array takes random_bits(seed, stream, first + i, n) of random_bits.hpp: an array converted in pieces
// gives what it gives at once. With exact_probability it takes random_word(seed, stream, first + i, 0, 1, ...).
struct random_stream {
  std::uint64_t seed = 0;
  std::uint64_t stream = 0;
  std::uint64_t first = 0;
};

struct conversion {
  ulp::rounding rounding{};
  // The exact product of element and scale is rounded, once; NaN and infinity are as without it, and daz asks the element.
  // A power of two costs nothing, another float32 number little, any other double the speed. Finite and above zero.
  double scale = 1;
  random_stream random{};  // read by direction::stochastic only
  unsigned threads = 0;    // at most; 0: one for each processor. Short arrays take one
};

// What became of the elements.
struct conversion_counts {
  std::uint64_t zeros = 0;       // elements that are zero
  std::uint64_t newly_zero = 0;  // nonzero numbers whose result is zero, by rounding, ftz or daz
  std::uint64_t subnormal = 0;   // nonzero results below the smallest normal number
  std::uint64_t inexact = 0;     // finite numbers for which encode raises inexact
  std::uint64_t overflowed = 0;  // finite numbers for which it raises overflow, whatever is delivered
  std::uint64_t nan = 0;         // elements that are NaN

  conversion_counts& operator+=(const conversion_counts& other) noexcept;
  friend bool operator==(const conversion_counts&, const conversion_counts&) = default;
};

namespace detail {
[[noreturn]] void refuse_packed_size();
}

// Codes in memory that is not owned: one in each element, or two in a byte.
template <bool Constant>
class basic_code_span {
  template <class T>
  using element = std::conditional_t<Constant, const T, T>;

 public:
  constexpr basic_code_span(std::span<element<std::uint8_t>> codes) noexcept
      : data_(codes.data()), size_(codes.size()), bytes_(1) {}
  constexpr basic_code_span(std::span<element<std::uint16_t>> codes) noexcept
      : data_(codes.data()), size_(codes.size()), bytes_(2) {}
  constexpr basic_code_span(std::span<element<std::uint32_t>> codes) noexcept
      : data_(codes.data()), size_(codes.size()), bytes_(4) {}
  // Of whatever is such a span: vectors, arrays.
  template <class Codes>
  requires(!std::same_as<std::remove_cvref_t<Codes>, basic_code_span<false>> &&
           !std::same_as<std::remove_cvref_t<Codes>, basic_code_span<true>> &&
           requires(Codes & codes) { std::span{codes}; }) constexpr basic_code_span(Codes&& codes) noexcept
      : basic_code_span(std::span<element<typename decltype(std::span{codes})::value_type>>{codes}) {}
  // Two codes of at most 4 bits to a byte, the first in its low half; of an odd number the last high half is zero, and
  // ignored. The bytes are (size + 1) / 2, else std::invalid_argument.
  static constexpr basic_code_span packed(std::span<element<std::uint8_t>> bytes, std::size_t size) {
    if (bytes.size() != (size + 1) / 2) detail::refuse_packed_size();
    return {bytes.data(), size, 0};
  }
  template <bool Other>
  requires(Constant && !Other) constexpr basic_code_span(const basic_code_span<Other>& other) noexcept
      : data_(other.data()), size_(other.size()), bytes_(other.bytes()) {}

  [[nodiscard]] constexpr element<void>* data() const noexcept { return data_; }
  [[nodiscard]] constexpr std::size_t size() const noexcept { return size_; }  // in codes
  [[nodiscard]] constexpr int bytes() const noexcept { return bytes_; }        // of an element; 0: two codes in a byte

 private:
  constexpr basic_code_span(element<void>* data, std::size_t size, int bytes) noexcept
      : data_(data), size_(size), bytes_(bytes) {}

  element<void>* data_;
  std::size_t size_;
  int bytes_;
};
using code_span = basic_code_span<false>;
using const_code_span = basic_code_span<true>;

// Numbers to codes. What became of the elements is added to `counts` where it is given, in the same pass.
void encode_array(const format& to, std::span<const float> from, code_span codes, const conversion& how = {},
                  conversion_counts* counts = nullptr);
void encode_array(const format& to, std::span<const double> from, code_span codes, const conversion& how = {},
                  conversion_counts* counts = nullptr);

// Codes to numbers: what to_float and to_double give, exact for all formats that float32 or float64 holds.
void decode_array(const format& from, const_code_span codes, std::span<float> to, unsigned threads = 0);
void decode_array(const format& from, const_code_span codes, std::span<double> to, unsigned threads = 0);

// Numbers rounded to those of a format. Precondition: as decode_array, numbers that float32 does not hold are rounded
// once more, to nearest even.
void round_array(const format& to, std::span<const float> from, std::span<float> rounded, const conversion& how = {},
                 conversion_counts* counts = nullptr);
inline void round_array(const format& to, std::span<float> numbers, const conversion& how = {},
                        conversion_counts* counts = nullptr) {
  round_array(to, numbers, numbers, how, counts);
}

// Codes of one format to those of another.
void recode_array(const format& to, code_span codes, const format& from, const_code_span from_codes,
                  const conversion& how = {}, conversion_counts* counts = nullptr);

// For a format that is known where it is written: what does not fit does not compile.
template <format To, class Number, class Codes>
void encode_array(const Number& from, Codes&& codes, const conversion& how = {}, conversion_counts* counts = nullptr) {
  static_assert(To.is_valid() && To.width() <= 32);
  const std::span numbers{from};
  encode_array(To, std::span<const typename decltype(numbers)::value_type>{numbers}, code_span{codes}, how, counts);
}
template <format From, class Codes, class Number>
void decode_array(const Codes& codes, Number&& to, unsigned threads = 0) {
  static_assert(From.is_valid() && From.width() <= 32);
  decode_array(From, const_code_span{codes}, std::span{to}, threads);
}
template <format To>
void round_array(std::span<float> numbers, const conversion& how = {}, conversion_counts* counts = nullptr) {
  static_assert(To.is_valid() && To.width() <= 32);
  round_array(To, numbers, numbers, how, counts);
}

// out[i] = random_bits(seed, stream, first + i, bits), each block of the generator computed once. Throws
// std::invalid_argument where bits are not 1..32.
void fill_random_bits(const random_stream& random, int bits, std::span<std::uint32_t> out);

// The implementations that this processor runs, the slowest first: "codec", which is encode and decode for each element,
// "x86-64", "x86-64-v3", "x86-64-v4" ("generic" on other processors). All give the same results; the last one is in use
// until another is chosen, which throws std::invalid_argument where it is not in the list.
[[nodiscard]] std::vector<std::string_view> targets();
void force_target(std::string_view name);

}  // namespace ulp

#endif
