// What the tests of array_arithmetic.hpp share: arrays of codes in any elements, and what arithmetic.hpp makes of them.
#ifndef ULP_TESTS_FORMATS_ARRAY_ARITHMETIC_HPP
#define ULP_TESTS_FORMATS_ARRAY_ARITHMETIC_HPP

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ulp/formats/array_arithmetic.hpp>
#include <ulp/formats/random_bits.hpp>

#include "formats/convert.hpp"
#include "formats/operations.hpp"

namespace ulp::test {

inline constexpr std::array array_operations{operation::add, operation::sub,  operation::mul,
                                             operation::div, operation::sqrt, operation::fma};

// Codes in elements of 1, 2 or 4 bytes, or two to a byte (0).
class code_array {
 public:
  code_array(int bytes, std::size_t size) : bytes_(bytes), size_(size) {
    if (bytes == 0) codes8_.resize((size + 1) / 2);
    if (bytes == 1) codes8_.resize(size);
    if (bytes == 2) codes16_.resize(size);
    if (bytes == 4) codes32_.resize(size);
  }
  // In the narrowest elements of whole bytes.
  static int bytes_for(const format& f) { return f.width() <= 8 ? 1 : f.width() <= 16 ? 2 : 4; }

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] code_span span() {
    if (bytes_ == 0) return code_span::packed(codes8_, size_);
    return bytes_ == 1 ? code_span{codes8_} : bytes_ == 2 ? code_span{codes16_} : code_span{codes32_};
  }
  [[nodiscard]] const_code_span view() const {
    if (bytes_ == 0) return const_code_span::packed(codes8_, size_);
    return bytes_ == 1 ? const_code_span{codes8_} : bytes_ == 2 ? const_code_span{codes16_} : const_code_span{codes32_};
  }
  [[nodiscard]] std::uint32_t operator[](std::size_t i) const {
    if (bytes_ == 0) return codes8_[i / 2] >> (4 * (i % 2)) & 15;
    return bytes_ == 1 ? codes8_[i] : bytes_ == 2 ? codes16_[i] : codes32_[i];
  }
  void set(std::size_t i, std::uint64_t code) {
    if (bytes_ == 0) {
      const unsigned shift = 4 * (i % 2);
      codes8_[i / 2] = static_cast<std::uint8_t>((codes8_[i / 2] & (0xF0 >> shift)) | code << shift);
    }
    if (bytes_ == 1) codes8_[i] = static_cast<std::uint8_t>(code);
    if (bytes_ == 2) codes16_[i] = static_cast<std::uint16_t>(code);
    if (bytes_ == 4) codes32_[i] = static_cast<std::uint32_t>(code);
  }
  friend bool operator==(const code_array&, const code_array&) = default;

 private:
  int bytes_;
  std::size_t size_;
  std::vector<std::uint8_t> codes8_;
  std::vector<std::uint16_t> codes16_;
  std::vector<std::uint32_t> codes32_;
};

// Of `x` what the operation takes.
inline void compute_array(operation op, const format& to, code_span out, const std::array<array_operand, 3>& x,
                          const array_rounding& how) {
  switch (op) {
    case operation::add: return add_array(to, out, x[0], x[1], how);
    case operation::sub: return sub_array(to, out, x[0], x[1], how);
    case operation::mul: return mul_array(to, out, x[0], x[1], how);
    case operation::div: return div_array(to, out, x[0], x[1], how);
    case operation::sqrt: return sqrt_array(to, out, x[0], how);
    default: return fma_array(to, out, x[0], x[1], x[2], how);
  }
}

// Operands, of three formats.
struct operand_arrays {
  operand_formats from;
  std::array<code_array, 3> codes;

  operand_arrays(const operand_formats& formats, std::span<const test::codes> tuples)
      : from(formats),
        codes{array_for(formats[0], tuples.size()), array_for(formats[1], tuples.size()),
              array_for(formats[2], tuples.size())} {
    for (std::size_t i = 0; i < tuples.size(); ++i)
      for (std::size_t j = 0; j < 3; ++j) codes[j].set(i, tuples[i][j]);
  }
  [[nodiscard]] std::size_t size() const { return codes[0].size(); }
  [[nodiscard]] std::array<array_operand, 3> operands() const {
    return {array_operand{from[0], codes[0].view()}, {from[1], codes[1].view()}, {from[2], codes[2].view()}};
  }

 private:
  static code_array array_for(const format& f, std::size_t size) { return {code_array::bytes_for(f), size}; }
};

// Element i of the arrays, by arithmetic.hpp.
inline std::uint32_t by_arithmetic(operation op, const format& to, const operand_arrays& x, std::size_t i,
                                   const array_rounding& how) {
  const std::array<unpacked, 3> operands{decode(x.from[0], x.codes[0][i]), decode(x.from[1], x.codes[1][i]),
                                         decode(x.from[2], x.codes[2][i])};
  const rounding& mode = how.rounding;
  const std::uint64_t index = how.random.first + i;
  if (mode.direction != direction::stochastic) return static_cast<std::uint32_t>(library(op, to, operands, mode).code);
  if (mode.random_bits != exact_probability)
    return static_cast<std::uint32_t>(
        library(op, to, operands, mode, random_bits(how.random.seed, how.random.stream, index, mode.random_bits)).code);
  std::array<std::uint32_t, 140> words;
  for (std::size_t w = 0; w < words.size(); ++w) words[w] = random_word(how.random.seed, how.random.stream, index, w);
  return static_cast<std::uint32_t>(library(op, to, operands, mode, random_input{words}).code);
}

inline std::vector<std::uint32_t> by_arithmetic(operation op, const format& to, const operand_arrays& x,
                                                const array_rounding& how) {
  std::vector<std::uint32_t> all(x.size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = by_arithmetic(op, to, x, i, how);
  return all;
}

// Compares one call with arithmetic.hpp in every element.
inline void compare_arrays(sweep& s, operation op, const format& to, const operand_arrays& x, const array_rounding& how,
                           const std::vector<std::uint32_t>& expected, std::string_view target) {
  const forced_target forced{target};
  code_array out{code_array::bytes_for(to), x.size()};
  compute_array(op, to, out.span(), x.operands(), how);
  for (std::size_t i = 0; i < x.size(); ++i)
    s.expect(out[i] == expected[i], [&] {
      const codes of{x.codes[0][i], x.codes[1][i], x.codes[2][i]};
      return std::string{target} + ": " +
             describe(op, to, x.from, of, how.rounding, encoded{out[i]}, encoded{expected[i]});
    });
}

// The quickest target, and all where it is asked for.
inline void compare_targets(sweep& s, operation op, const format& to, const operand_arrays& x,
                            const array_rounding& how, bool all) {
  const std::vector<std::uint32_t> expected = by_arithmetic(op, to, x, how);
  for (const std::string_view target : targets())
    if (all || target == targets().back()) compare_arrays(s, op, to, x, how, expected, target);
}

}  // namespace ulp::test

#endif
