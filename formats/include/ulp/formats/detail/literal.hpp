// Numbers read at compile time, without the library that text.hpp uses at run time.
#ifndef ULP_FORMATS_DETAIL_LITERAL_HPP
#define ULP_FORMATS_DETAIL_LITERAL_HPP

#include <bit>
#include <cstdint>

#include <ulp/formats/codec.hpp>
#include <ulp/formats/format.hpp>

namespace ulp::detail {

// Not constexpr: a literal that comes to a call of one of them is not a constant expression, and the compiler's message
// names the reason, without exceptions too.
inline void literal_may_have_some_800_digits() {}
inline void octal_literal_is_written_without_the_leading_zero() {}
inline void literal_is_neither_decimal_nor_hexadecimal() {}
inline void hexadecimal_literal_may_have_16_digits() {}

// A decimal number as its digits, 0.d0d1d2... * 10^point, multiplied and divided by powers of two digit by digit: exact
// and short.
class decimal_digits {
 public:
  constexpr void append(int digit) {
    if (size_ == capacity) literal_may_have_some_800_digits();
    digit_[size_++] = static_cast<signed char>(digit);
  }
  constexpr void set_point(int point) {
    point_ = point;
    trim();
  }
  [[nodiscard]] constexpr int point() const { return point_; }
  [[nodiscard]] constexpr bool is_zero() const { return size_ == 0; }

  // By 2^n, n at most 56.
  constexpr void divide(int n) {
    std::uint64_t rest = 0;
    for (int i = 0; i < size_ || rest != 0; ++i) {
      if (i == size_) append(0);
      rest = 10 * rest + static_cast<std::uint64_t>(digit_[i]);
      digit_[i] = static_cast<signed char>(rest >> n);
      rest &= (std::uint64_t{1} << n) - 1;
    }
    trim();
  }
  constexpr void multiply(int n) {
    std::uint64_t carry = 0;
    for (int i = size_ - 1; i >= 0; --i) {
      carry += static_cast<std::uint64_t>(digit_[i]) << n;
      digit_[i] = static_cast<signed char>(carry % 10);
      carry /= 10;
    }
    int more = 0;
    for (std::uint64_t rest = carry; rest != 0; rest /= 10) ++more;
    for (int i = 0; i < more; ++i) append(0);
    for (int i = size_ - 1; i >= more; --i) digit_[i] = digit_[i - more];
    for (int i = more - 1; i >= 0; --i, carry /= 10) digit_[i] = static_cast<signed char>(carry % 10);
    point_ += more;
    trim();
  }

  // The integer part, below 2^64, which is taken away.
  constexpr std::uint64_t take_integer() {
    std::uint64_t integer = 0;
    int taken = 0;
    for (; taken < point_; ++taken)
      integer = 10 * integer + static_cast<std::uint64_t>(taken < size_ ? digit_[taken] : 0);
    for (int i = 0; i < size_; ++i) digit_[i] = i + taken < size_ ? digit_[i + taken] : static_cast<signed char>(0);
    point_ -= taken;
    trim();
    return integer;
  }

 private:
  static constexpr int capacity = 900;

  // No zeros at either end.
  constexpr void trim() {
    while (size_ > 0 && digit_[size_ - 1] == 0) --size_;
    int zeros = 0;
    while (zeros < size_ && digit_[zeros] == 0) ++zeros;
    for (int i = zeros; zeros > 0 && i < size_; ++i) digit_[i - zeros] = digit_[i];
    size_ -= zeros;
    point_ -= zeros;
  }

  signed char digit_[capacity] = {};
  int size_ = 0;
  int point_ = 0;
};

// A number of the lexical form of a C++ literal: decimal or hexadecimal, integer or floating.
constexpr unpacked parse_literal(const char* text) {
  decimal_digits digits;
  int point = 0;      // digits before the point
  long exponent = 0;  // written after e or p
  bool after_point = false;
  const bool hexadecimal = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
  std::uint64_t integer = 0;  // of a hexadecimal literal
  if (hexadecimal) text += 2;
  // 017 is octal in C++, 017.5 and 017e0 are not.
  if (!hexadecimal && text[0] == '0' && (text[1] == '\'' || (text[1] >= '0' && text[1] <= '9'))) {
    const char* rest = text;
    while (*rest != '\0' && *rest != '.' && *rest != 'e' && *rest != 'E') ++rest;
    if (*rest == '\0') octal_literal_is_written_without_the_leading_zero();
  }
  for (; *text != '\0'; ++text) {
    const char c = *text;
    if (c == '\'') continue;
    if (c == '.') {
      after_point = true;
      continue;
    }
    if ((!hexadecimal && (c == 'e' || c == 'E')) || c == 'p' || c == 'P') {
      const bool negative = text[1] == '-';
      for (text += text[1] == '-' || text[1] == '+' ? 2 : 1; *text != '\0'; ++text)
        if (*text != '\'' && exponent < 100000) exponent = 10 * exponent + (*text - '0');
      if (negative) exponent = -exponent;
      break;
    }
    const bool is_digit = c >= '0' && c <= '9';
    if (!is_digit && !hexadecimal) literal_is_neither_decimal_nor_hexadecimal();
    if (hexadecimal) {
      if (integer >> 60 != 0) hexadecimal_literal_may_have_16_digits();
      integer = 16 * integer + static_cast<std::uint64_t>(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
      if (after_point) point -= 4;
    } else {
      digits.append(c - '0');
      if (!after_point) ++point;
    }
  }

  unpacked x;
  if (hexadecimal) {
    if (integer == 0) return x;
    const int shift = std::countl_zero(integer);
    x.kind = number_class::finite;
    x.significand = integer << shift;
    x.exponent = 63 - shift + point + static_cast<int>(exponent);
    return x;
  }
  digits.set_point(point + static_cast<int>(exponent));
  if (digits.is_zero()) return x;
  x.kind = number_class::finite;
  if (digits.point() > 400 || digits.point() < -400) {  // beyond every format
    x.exponent = digits.point() > 0 ? 2000 : -2000;
    x.significand = std::uint64_t{1} << 63;
    return x;
  }
  // To an integer of 60 to 64 bits: 18 or 19 digits before the point, by steps of some digits, then of one bit.
  const auto multiply = [&](int n) {
    digits.multiply(n);
    x.exponent -= n;
  };
  const auto divide = [&](int n) {
    digits.divide(n);
    x.exponent += n;
  };
  while (digits.point() > 30) divide(36);
  while (digits.point() > 19) divide(1);
  while (digits.point() < 8) multiply(36);
  while (digits.point() < 19) multiply(1);
  x.significand = digits.take_integer();
  x.sticky = !digits.is_zero();
  const int shift = std::countl_zero(x.significand);
  x.significand <<= shift;
  x.exponent += 63 - shift;
  return x;
}

template <class Number>
constexpr Number literal(const char* text) {
  return Number::from_code(
      static_cast<typename Number::code_type>(encode(Number::definition, parse_literal(text), Number::mode).code));
}

}  // namespace ulp::detail

#endif
