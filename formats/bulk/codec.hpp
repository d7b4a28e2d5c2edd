// One element at a time by codec.hpp: what every kernel equals, and what is done where none is for it.
#ifndef ULP_FORMATS_BULK_CODEC_HPP
#define ULP_FORMATS_BULK_CODEC_HPP

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include <ulp/formats/codec.hpp>
#include <ulp/formats/convert.hpp>
#include <ulp/formats/detail/exact.hpp>
#include <ulp/formats/random_bits.hpp>
#include <ulp/formats/treatment.hpp>

namespace ulp::detail {

// A finite factor above zero: 2^exponent * significand / 2^63, whose top bit is set.
struct exact_factor {
  std::uint64_t significand = std::uint64_t{1} << 63;
  int exponent = 0;

  [[nodiscard]] constexpr bool is_power_of_two() const noexcept { return significand == std::uint64_t{1} << 63; }
  // Whether it is a normal number of float.
  [[nodiscard]] constexpr bool is_float() const noexcept {
    return significand << binary32.precision() == 0 && exponent >= binary32.emin() && exponent <= binary32.emax();
  }
};

constexpr exact_factor factor_of(double value) noexcept {
  const unpacked x = decode(value);
  return {x.significand, x.exponent};
}

// Exact for x of at most 64 significant bits: the product has 117.
constexpr unpacked product(unpacked x, const exact_factor& factor) noexcept {
  if (x.kind != number_class::finite) return x;
  uint128 wide = static_cast<uint128>(x.significand) * factor.significand;
  x.exponent += factor.exponent + 1;
  if (wide >> 127 == 0) {
    wide <<= 1;
    --x.exponent;
  }
  x.significand = static_cast<std::uint64_t>(wide >> 64);
  x.low = static_cast<std::uint64_t>(wide);
  return x;
}

// The most words of random bits that exact_probability takes: from float64's largest number down to the last bit of a
// product of two of its smallest.
inline constexpr std::size_t most_random_words = (1024 + 2 * 1074) / 32 + 1;

class codec_encoder {
 public:
  codec_encoder(const treatment& how, const exact_factor& factor, const random_stream& random) noexcept
      : how_(how), factor_(factor), random_(random) {}

  // Element `index` of the array.
  [[nodiscard]] std::uint32_t operator()(const unpacked& element, std::uint64_t index,
                                         conversion_counts& counts) const noexcept {
    const unpacked x = product(element, factor_);
    const encoded result = rounded(x, random_.first + index);
    count(x, result, counts);
    return static_cast<std::uint32_t>(result.code);
  }

 private:
  [[nodiscard]] encoded rounded(const unpacked& x, std::uint64_t index) const noexcept {
    if (how_.rounding.direction != direction::stochastic) return encode(how_.format, x, how_.rounding);
    if (how_.rounding.random_bits != exact_probability)
      return encode(how_.format, x, how_.rounding,
                    random_bits(random_.seed, random_.stream, index, how_.rounding.random_bits));
    std::array<std::uint32_t, most_random_words> words{};
    // Those of tininess, which is asked at x's own precision, are no more.
    const std::size_t needed = static_cast<std::size_t>(discarded_bits(how_.format, x) + 31) / 32;
    for (std::size_t i = 0; i < needed; ++i) words[i] = random_word(random_.seed, random_.stream, index, i);
    return encode(how_.format, x, how_.rounding, random_input{words.data(), needed});
  }

  void count(const unpacked& x, const encoded& result, conversion_counts& counts) const noexcept {
    counts.zeros += x.kind == number_class::zero ? 1 : 0;
    counts.nan += x.kind == number_class::nan ? 1 : 0;
    if (x.kind == number_class::nan || x.kind == number_class::infinity) return;
    counts.inexact += any(result.flags, status::inexact) ? 1 : 0;  // zero too, where there is none
    if (x.kind == number_class::zero) return;
    counts.overflowed += any(result.flags, status::overflow) ? 1 : 0;
    const std::uint64_t magnitude = result.code & how_.format.magnitude_mask();
    if (magnitude >= how_.format.min_normal_code() || any(result.flags, status::invalid | status::overflow)) return;
    ++(magnitude == 0 ? counts.newly_zero : counts.subnormal);
  }

  treatment how_;
  exact_factor factor_;
  random_stream random_;
};

}  // namespace ulp::detail

#endif
