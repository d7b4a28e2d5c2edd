// How an array is converted: decided once, before its first element. convert.cpp and tiles.hpp carry a plan out and choose
// nothing but what the place of the codes asks for (a conversion in place, two codes in a byte, past the caches or not).
#ifndef ULP_FORMATS_BULK_CONVERSION_PLAN_HPP
#define ULP_FORMATS_BULK_CONVERSION_PLAN_HPP

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <ulp/formats/treatment.hpp>

#include "codec.hpp"
#include "kernels.hpp"

namespace ulp::detail {

// Which loops turn numbers of float or double into codes that are 2^power times the numbers, and what they are told.
template <class Number>
struct encoder_plan {
  treatment how;
  int power = 0;
  const kernels* loops = nullptr;
  std::optional<encode_plan<std::uint32_t>> narrow;  // in lanes of 32 bits, of float only
  std::optional<encode_plan<std::uint64_t>> wide;    // in lanes of 64 bits; at most one of the two
  std::optional<quick_plan> quick;                   // by loops that need nothing but numbers and codes
  std::optional<float_results> results;              // by loops that give floats in place of codes
  bool counting = false;
  bool plain = false;   // by loops without counts and special cases
  bool groups = false;  // by stochastic loops that make the random bits themselves
  bits_of<Number> daz_below = 0;

  // Whether there are loops for it.
  [[nodiscard]] bool usable() const noexcept { return narrow.has_value() || wide.has_value(); }
  // Whether it takes long tiles, where codes are written beside the numbers and not two to a byte.
  [[nodiscard]] bool takes_long_tiles() const noexcept { return quick.has_value() || groups; }
};

// Of numbers that are `factor` times elements of the format `elements`, which daz asks.
template <class Number>
[[nodiscard]] encoder_plan<Number> plan_encoder(const treatment& how, int power, const format& elements,
                                                const exact_factor& factor, const kernels* loops, bool counting);

// As what elements reach the encoder.
enum class element_way : std::uint8_t {
  floats,    // as they are, or as their codes are decoded
  doubles,   // likewise
  narrowed,  // doubles, rounded to odd to floats; a tile beyond float's range as doubles
  products,  // floats times the factor, exactly, as doubles
  singly,    // one after the other, by the codec
};

// Why elements are converted singly.
enum class no_loops : std::uint8_t {
  is_not_so,
  asked_for,  // the target in use is the codec
  elements,   // neither float nor double holds their format
  factor,     // it is no power of two, and its products are no doubles
  treatment,  // no loop does this format, or this rounding
};

// What is converted: numbers of the format `own`, which can be had as floats, as doubles, as either or not at all.
struct element_source {
  format own;
  bool as_floats = false;
  bool as_doubles = false;
};

struct conversion_plan {
  element_way way = element_way::singly;
  no_loops why = no_loops::is_not_so;
  exact_factor factor;
  encoder_plan<float> of_floats;    // of floats and narrowed
  encoder_plan<double> of_doubles;  // of doubles, narrowed and products

  // The level of processors whose loops are used; "codec" where none are.
  [[nodiscard]] std::string_view level() const noexcept;
};

// `to_floats`: whether codes are only wanted as the floats that they stand for.
[[nodiscard]] conversion_plan plan_conversion(const format& to, const conversion& how, const element_source& from,
                                              const kernels* loops, bool counting, bool to_floats = false);

// In a line, as "v4: floats, lanes of 32 bits, quick, counted" or "codec: singly, for the factor".
[[nodiscard]] std::string to_string(const conversion_plan& plan);

}  // namespace ulp::detail

#endif
