// A sum that loses nothing: a fixed-point number with room for products of float64 numbers (Kulisch, "Computer
// Arithmetic and Validity", 2008: a long accumulator), so that its order does not matter.
#ifndef ULP_FORMATS_EXACT_ACCUMULATOR_HPP
#define ULP_FORMATS_EXACT_ACCUMULATOR_HPP

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include <ulp/formats/codec.hpp>
#include <ulp/formats/detail/special.hpp>
#include <ulp/formats/detail/wide.hpp>

namespace ulp::detail {

class exact_accumulator {
 public:
  // Terms of up to 128 bits whose last is at least 2^-2148, at most 2^63 of them.
  void add(const unpacked& term) noexcept {
    if (is_finite(term)) [[likely]] {
      add_finite(term);
      has_finite_ = true;
    } else if (is_zero(term)) {
      add_zero(term.negative);
    } else {
      special_ = is_zero(special_) ? term : sum_of(special_, term, false);
    }
  }

  // The sum rounded once.
  [[nodiscard]] encoded round(const format& to, const rounding& mode, const random_input& random) const noexcept {
    if (!is_zero(special_)) return encode_special(to, special_, mode);
    std::uint64_t any_bit = 0;
    for (const std::uint64_t w : words_) any_bit |= w;
    if (any_bit == 0) return encode_zero(to, zero_sign(mode.direction == direction::toward_negative));
    const wide_sum sum{words_, wide_sum::lowest_product};
    return encode_finite(to, sum.negative, sum, mode, random);
  }

 private:
  // Three words at the place of the term, and the carry or borrow as far as it goes.
  void add_finite(const unpacked& term) noexcept {
    const int last = term.exponent - 127;  // of the 128 bits
    const int place = last - wide_sum::lowest_product;
    uint128 magnitude = (uint128{term.significand} << 64) | term.low;
    int shift = place;
    if (shift < 0) {  // zeros only
      magnitude >>= -shift;
      shift = 0;
    }
    auto i = static_cast<std::size_t>(shift / 64);
    const int up = shift % 64;
    const auto low = static_cast<std::uint64_t>(magnitude);
    const auto high = static_cast<std::uint64_t>(magnitude >> 64);
    const std::array<std::uint64_t, 3> part{low << up, up == 0 ? high : high << up | low >> (64 - up),
                                            up == 0 ? 0 : high >> (64 - up)};
    std::uint64_t carry = 0;
    for (std::size_t k = 0; i < words_.size() && (k < part.size() || carry != 0); ++k, ++i) {
      const std::uint64_t given = k < part.size() ? part[k] : 0;
      std::uint64_t& w = words_[i];
      if (term.negative) {
        const std::uint64_t less = w - given;
        const std::uint64_t borrow = (w < given || less < carry) ? 1 : 0;
        w = less - carry;
        carry = borrow;
      } else {
        const std::uint64_t more = w + given;
        const std::uint64_t result = more + carry;
        carry = (more < given || result < more) ? 1 : 0;
        w = result;
      }
    }
  }

  void add_zero(bool negative) noexcept { (negative ? has_minus_zero_ : has_plus_zero_) = true; }

  // Of a sum that is zero (IEEE 754-2019, 6.3): that of its terms where they are zeros of one sign.
  [[nodiscard]] bool zero_sign(bool minus_zero) const noexcept {
    if (has_finite_ || (has_plus_zero_ && has_minus_zero_)) return minus_zero;
    return has_minus_zero_;
  }

  std::array<std::uint64_t, wide_sum::words> words_{};  // two's complement, the lowest first
  unpacked special_{};                                  // the sum of infinities and NaNs, zero without them
  bool has_finite_ = false;
  bool has_plus_zero_ = false;
  bool has_minus_zero_ = false;
};

}  // namespace ulp::detail

#endif
