// What the tests of convert.hpp share: elements, roundings, and what the codec makes of them one at a time.
#ifndef ULP_TESTS_FORMATS_CONVERT_HPP
#define ULP_TESTS_FORMATS_CONVERT_HPP

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ulp/formats/catalog.hpp>
#include <ulp/formats/codec.hpp>
#include <ulp/formats/convert.hpp>
#include <ulp/formats/random_bits.hpp>

#include "formats/sweep.hpp"

namespace ulp::test {

// Chooses a target, and the fastest again at the end.
class forced_target {
 public:
  explicit forced_target(std::string_view name) { force_target(name); }
  ~forced_target() { force_target(targets().back()); }
  forced_target(const forced_target&) = delete;
  forced_target& operator=(const forced_target&) = delete;
};

// Formats of the catalogue whose codes have at most 32 bits.
inline std::vector<named_format> convertible_formats() {
  std::vector<named_format> all;
  for (const catalog_entry& e : format_catalog())
    if (e.format.width() <= 32) all.push_back({e.name.data(), e.format});
  return all;
}

inline void push_with_neighbours(std::vector<float>& all, float x) {
  for (const float y : {x, std::nextafter(x, HUGE_VALF), std::nextafter(x, -HUGE_VALF)}) all.push_back(y);
}
inline void push_with_neighbours(std::vector<double>& all, double x) {
  for (const double y : {x, std::nextafter(x, HUGE_VAL), std::nextafter(x, -HUGE_VAL)}) all.push_back(y);
}

// Zeros, infinities, NaNs of both kinds with payloads at every bit, subnormals, all powers of two and 3/2 of them.
template <class Number>
void push_specials(std::vector<Number>& all) {
  using bits = std::conditional_t<sizeof(Number) == 4, std::uint32_t, std::uint64_t>;
  constexpr int fraction_bits = std::numeric_limits<Number>::digits - 1;
  constexpr bits implicit = bits{1} << fraction_bits;
  constexpr bits infinity = std::bit_cast<bits>(std::numeric_limits<Number>::infinity());
  for (const bits sign : {bits{0}, bits{1} << (8 * sizeof(bits) - 1)}) {
    const auto push = [&](bits magnitude) { all.push_back(std::bit_cast<Number>(sign | magnitude)); };
    for (bits binade = 0; binade <= infinity; binade += implicit)
      for (const bits fraction : {bits{0}, bits{1}, implicit / 2, implicit - 1}) push(binade | fraction);
    for (int bit = 0; bit < fraction_bits; ++bit)
      for (const bits field : {bits{0}, infinity, infinity | implicit / 2}) push(field | bits{1} << bit);
  }
}

// Every `stride`th number of the format and midpoint between them, and their neighbours.
template <class Number>
void push_numbers_and_midpoints(std::vector<Number>& all, format of, std::uint64_t stride) {
  ++of.fraction_bits;  // the new codes are the midpoints
  if (!of.is_valid()) return;
  for (std::uint64_t code = 0; code <= of.code_mask(); code += stride)
    push_with_neighbours(all, static_cast<Number>(to_double(of, code)));
}

inline std::vector<rounding> deterministic_modes() {
  std::vector<rounding> all;
  for (const direction way : deterministic)
    for (const auto overflow : {overflow_mode::ieee, overflow_mode::saturate, overflow_mode::saturate_finite})
      for (const auto flush : {flush::never, flush::before_rounding, flush::after_rounding, flush::result})
        for (const bool daz : {false, true})
          all.push_back({.direction = way, .overflow = overflow, .flush = flush, .daz = daz});
  return all;
}

struct expected_codes {
  std::vector<std::uint32_t> codes;
  conversion_counts counts;
};

// Element i of `exact`, which are not multiplied again: the scale is in them.
template <class Exact>
expected_codes by_codec(const format& to, std::size_t size, const conversion& how, Exact exact) {
  expected_codes all;
  for (std::size_t i = 0; i < size; ++i) {
    const unpacked x = exact(i);
    const std::uint32_t random =
        how.rounding.direction == direction::stochastic && how.rounding.random_bits != exact_probability
            ? random_bits(how.random.seed, how.random.stream, how.random.first + i, how.rounding.random_bits)
            : 0;
    const encoded result = encode(to, x, how.rounding, random);
    all.codes.push_back(static_cast<std::uint32_t>(result.code));
    const unpacked got = decode(to, result.code);
    const bool number = x.kind == number_class::finite || x.kind == number_class::zero;
    all.counts.zeros += x.kind == number_class::zero ? 1 : 0;
    all.counts.nan += x.kind == number_class::nan ? 1 : 0;
    all.counts.newly_zero += x.kind == number_class::finite && got.kind == number_class::zero ? 1 : 0;
    all.counts.subnormal += x.kind == number_class::finite && got.subnormal ? 1 : 0;
    all.counts.inexact += number && any(result.flags, status::inexact) ? 1 : 0;
    all.counts.overflowed += x.kind == number_class::finite && any(result.flags, status::overflow) ? 1 : 0;
  }
  return all;
}

inline std::string describe(const conversion_counts& c) {
  std::ostringstream out;
  out << c.zeros << " zeros, " << c.newly_zero << " newly, " << c.subnormal << " subnormal, " << c.inexact
      << " inexact, " << c.overflowed << " overflowed, " << c.nan << " NaN";
  return out.str();
}

// Compares an array with what is expected, in every element.
inline void compare(sweep& s, const expected_codes& expected, std::span<const std::uint32_t> got,
                    const conversion_counts* counts, std::string_view what) {
  for (std::size_t i = 0; i < expected.codes.size(); ++i)
    s.expect(got[i] == expected.codes[i], [&] {
      return std::string{what} + ": element " + std::to_string(i) + ' ' + describe(encoded{got[i]}) + ", expected " +
             describe(encoded{expected.codes[i]});
    });
  if (counts != nullptr)
    s.expect(*counts == expected.counts,
             [&] { return std::string{what} + ": " + describe(*counts) + ", expected " + describe(expected.counts); });
}

// Elements rounded to floats, beside and in place: what the codes stand for.
inline void compare_rounded(sweep& s, const format& to, const expected_codes& expected,
                            const std::vector<float>& elements, const conversion& how, std::string_view what) {
  std::vector<float> beside(elements.size(), -1.5f);
  round_array(to, elements, beside, how);
  std::vector<float> in_place = elements;
  round_array(to, in_place, how);
  const auto bits = [](float x) { return std::bit_cast<std::uint32_t>(x); };
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const std::uint32_t value = bits(to_float(to, expected.codes[i]));
    s.expect(bits(beside[i]) == value && bits(in_place[i]) == value, [&] {
      return std::string{what} + " as floats: element " + std::to_string(i) + ' ' + std::to_string(bits(beside[i])) +
             " and " + std::to_string(bits(in_place[i])) + ", expected " + std::to_string(value);
    });
  }
}
inline void compare_rounded(sweep&, const format&, const expected_codes&, const std::vector<double>&, const conversion&,
                            std::string_view) {}

}  // namespace ulp::test

#endif
