// Numbers read at compile time, without the library that text.hpp uses at run time.
#ifndef ULP_FORMATS_DETAIL_LITERAL_HPP
#define ULP_FORMATS_DETAIL_LITERAL_HPP

#include <bit>
#include <cstdint>

#include <ulp/formats/codec.hpp>
#include <ulp/formats/format.hpp>

namespace ulp::detail {

// A decimal number as its digits, multiplied and divided by two digit by digit: slow, exact and short.
class decimal_digits {
 public:
  constexpr void append(int digit) {
    if (size_ == capacity) throw "a literal may have 800 digits";  // a compile-time error
    digit_[size_++] = static_cast<signed char>(digit);
  }
  constexpr void set_point(int point) {
    point_ = point;
    trim();
  }
  constexpr bool is_zero() const { return size_ == 0; }
  constexpr bool is_at_least_one() const { return point_ > 0; }

  constexpr void halve() {
    int carry = 0;
    for (int i = 0; i < size_ || carry != 0; ++i) {
      if (i == size_) append(0);
      const int value = digit_[i] + 10 * carry;
      digit_[i] = static_cast<signed char>(value / 2);
      carry = value % 2;
    }
    trim();
  }
  constexpr void twice() {
    int carry = 0;
    for (int i = size_ - 1; i >= 0; --i) {
      const int value = 2 * digit_[i] + carry;
      digit_[i] = static_cast<signed char>(value % 10);
      carry = value / 10;
    }
    if (carry != 0) {
      append(0);
      for (int i = size_ - 1; i > 0; --i) digit_[i] = digit_[i - 1];
      digit_[0] = 1;
      ++point_;
    }
    trim();
  }
  // Removes and returns the integer part, which is 0 or 1.
  constexpr int take_one() {
    if (point_ < 1) return 0;
    for (int i = 1; i < size_; ++i) digit_[i - 1] = digit_[i];
    --size_;
    --point_;
    trim();
    return 1;
  }

 private:
  static constexpr int capacity = 800;

  // No zeros at either end.
  constexpr void trim() {
    while (size_ > 0 && digit_[size_ - 1] == 0) --size_;
    int zeros = 0;
    while (zeros < size_ && digit_[zeros] == 0) ++zeros;
    for (int i = zeros; zeros > 0 && i < size_; ++i) digit_[i - zeros] = digit_[i];
    size_ -= zeros;
    point_ -= zeros;
  }

  signed char digit_[capacity] = {};  // 0.d0d1d2... * 10^point
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
    if (!is_digit && !hexadecimal) throw "neither a decimal nor a hexadecimal literal";
    if (hexadecimal) {
      if (integer >> 60 != 0) throw "a hexadecimal literal may have 16 digits";
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
  // Into [1, 2), then bit by bit.
  while (digits.is_at_least_one()) {
    digits.halve();
    ++x.exponent;
  }
  while (!digits.is_at_least_one()) {
    digits.twice();
    --x.exponent;
  }
  for (int i = 0; i < 64; ++i) {
    x.significand = x.significand << 1 | static_cast<std::uint64_t>(digits.take_one());
    digits.twice();
  }
  x.sticky = !digits.is_zero();
  return x;
}

template <class Number>
constexpr Number literal(const char* text) {
  return Number::from_code(
      static_cast<typename Number::code_type>(encode(Number::definition, parse_literal(text), Number::mode).code));
}

}  // namespace ulp::detail

#endif
