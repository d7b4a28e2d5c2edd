// The library's operations under one name, operands that make roundings interesting, and sweeps on all processors.
#ifndef ULP_TESTS_FORMATS_OPERATIONS_HPP
#define ULP_TESTS_FORMATS_OPERATIONS_HPP

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <ulp/formats/arithmetic.hpp>
#include <ulp/formats/operation.hpp>

#include "formats/sweep.hpp"
#include "support/oracle.hpp"

namespace ulp::test {

inline constexpr std::array all_operations{operation::add, operation::sub,  operation::mul, operation::div,
                                           operation::rem, operation::sqrt, operation::fma};

// Every pair and triple of their codes is tested in seconds: OCP's, IEEE-style ones, and one of each kind of specials
// and of lowest binade that the catalogue has in wider formats.
inline constexpr std::array tiny_formats{
    float6_e3m2,
    float6_e2m3,
    float4_e2m1,
    format{.exponent_bits = 3, .fraction_bits = 2, .bias = 3},
    format{.exponent_bits = 2, .fraction_bits = 3, .bias = 1},
    format{.exponent_bits = 2, .fraction_bits = 2, .bias = 1},
    format{.exponent_bits = 2, .fraction_bits = 1, .bias = 1},
    format{.exponent_bits = 4, .fraction_bits = 1, .bias = 7},
    format{.exponent_bits = 3, .fraction_bits = 2, .bias = 9},
    format{.exponent_bits = 3, .fraction_bits = 2, .bias = 3, .top = specials::nan_all_ones},
    format{.exponent_bits = 3, .fraction_bits = 2, .bias = 4, .top = specials::nan_negative_zero},
    format{.exponent_bits = 3,
           .fraction_bits = 2,
           .bias = 3,
           .top = specials::nan_all_ones,
           .bottom = lowest_binade::normals_and_zero}};

inline constexpr std::array eight_bit_formats{
    float8_e4m3fn,
    float8_e5m2,
    float8_e4m3fnuz,
    float8_e5m2fnuz,
    format{.exponent_bits = 4, .fraction_bits = 3, .bias = 7},
    format{.exponent_bits = 3, .fraction_bits = 4, .bias = 3},
    format{.exponent_bits = 2, .fraction_bits = 5, .bias = 1},
    format{.exponent_bits = 6, .fraction_bits = 1, .bias = 31},
    format{.exponent_bits = 4, .fraction_bits = 3, .bias = 11, .top = specials::none}};

using codes = operand_codes;

// The library's result for decoded operands.
inline encoded library(operation op, const format& to, const std::array<unpacked, 3>& x, const rounding& mode,
                       random_input random = {}) {
  switch (op) {
    case operation::convert: return encode(to, x[0], mode, random);
    case operation::add: return add(to, x[0], x[1], mode, random);
    case operation::sub: return sub(to, x[0], x[1], mode, random);
    case operation::mul: return mul(to, x[0], x[1], mode, random);
    case operation::div: return div(to, x[0], x[1], mode, random);
    case operation::rem: return rem(to, x[0], x[1], mode, random);
    case operation::sqrt: return sqrt(to, x[0], mode, random);
    case operation::fma: return fma(to, x[0], x[1], x[2], mode, random);
    default: break;
  }
  return {};
}

// The same for codes, by the overloads that take them.
inline encoded library(operation op, const format& in, const codes& x, const rounding& mode, random_input random = {}) {
  switch (op) {
    case operation::convert: return convert(in, in, x[0], mode, random);
    case operation::add: return add(in, x[0], x[1], mode, random);
    case operation::sub: return sub(in, x[0], x[1], mode, random);
    case operation::mul: return mul(in, x[0], x[1], mode, random);
    case operation::div: return div(in, x[0], x[1], mode, random);
    case operation::rem: return rem(in, x[0], x[1], mode, random);
    case operation::sqrt: return sqrt(in, x[0], mode, random);
    case operation::fma: return fma(in, x[0], x[1], x[2], mode, random);
    default: break;
  }
  return {};
}

using operand_formats = std::array<format, 3>;

inline std::array<exact_value, 3> values_of(const operand_formats& from, const codes& x) {
  return {value_of(from[0], x[0]), value_of(from[1], x[1]), value_of(from[2], x[2])};
}

inline std::string describe(operation op, const format& to, const operand_formats& from, const codes& x,
                            const rounding& mode, const encoded& got, const encoded& expected) {
  std::ostringstream out;
  out << to_string(op) << std::hex;
  for (std::size_t i = 0; i < static_cast<std::size_t>(operand_count(op)); ++i)
    out << ' ' << describe(from[i]) << " 0x" << x[i] << " (" << std::hexfloat << to_double(value_of(from[i], x[i]))
        << ')';
  out << " to " << describe(to) << ' ' << describe(mode) << ": " << describe(got) << ", expected "
      << describe(expected);
  return out.str();
}

// One operation in each of the modes against the oracle, whose exact result is computed once for all modes without DAZ
// and once for those with it. Operands and result in one format go by the overloads for codes.
inline void compare_with_oracle(sweep& s, operation op, const format& to, const operand_formats& from, const codes& x,
                                const std::vector<rounding>& modes) {
  const auto values = values_of(from, x);
  const std::array<unpacked, 3> operands{decode(from[0], x[0]), decode(from[1], x[1]), decode(from[2], x[2])};
  const bool one_format = from == operand_formats{to, to, to};
  for (const bool daz : {false, true}) {
    if (std::none_of(modes.begin(), modes.end(), [daz](const rounding& m) { return m.daz == daz; })) continue;
    const oracle exact{op, to, values, daz};
    for (const rounding& mode : modes) {
      if (mode.daz != daz) continue;
      const encoded got = one_format ? library(op, to, x, mode) : library(op, to, operands, mode);
      const encoded expected = exact(mode);
      s.expect(same(got, expected), [&] { return describe(op, to, from, x, mode, got, expected); });
    }
  }
}
inline void compare_with_oracle(sweep& s, operation op, const format& in, const codes& x,
                                const std::vector<rounding>& modes) {
  compare_with_oracle(s, op, in, {in, in, in}, x, modes);
}

// Stochastic rounding with random values on both sides of the edge between down and up, the ends and one more.
inline void compare_stochastic(sweep& s, operation op, const format& to, const operand_formats& from, const codes& x,
                               const rounding& mode, std::uint32_t more) {
  const oracle exact{op, to, values_of(from, x), mode.daz};
  const std::array<unpacked, 3> operands{decode(from[0], x[0]), decode(from[1], x[1]), decode(from[2], x[2])};
  const std::uint32_t last = 0xFFFFFFFF >> (32 - mode.random_bits);
  const auto ups = static_cast<std::uint32_t>(exact.ups(mode));  // of last + 1
  for (const std::uint32_t random : {last - ups, last - ups + 1, more & last, 0u, last}) {
    if (random > last) continue;
    const encoded got = library(op, to, operands, mode, random);
    const encoded expected = exact(mode, random);
    s.expect(same(got, expected),
             [&] { return describe(op, to, from, x, mode, got, expected) + " random " + std::to_string(random); });
  }
}

inline std::vector<rounding> deterministic_roundings(const rounding& base = {}) {
  std::vector<rounding> modes;
  for (const direction d : deterministic) {
    modes.push_back(base);
    modes.back().direction = d;
  }
  return modes;
}

// Every flush, DAZ, tininess and delivery of overflow in each of the six directions.
inline constexpr std::uint64_t roundings = 288;
inline std::vector<rounding> every_rounding(std::initializer_list<overflow_mode> overflows = {
                                                overflow_mode::ieee, overflow_mode::saturate,
                                                overflow_mode::saturate_finite}) {
  std::vector<rounding> modes;
  for (const auto overflow : overflows)
    for (const auto how : {flush::never, flush::before_rounding, flush::after_rounding, flush::result})
      for (const bool daz : {false, true})
        for (const auto tiny : {tininess::after_rounding, tininess::before_rounding})
          for (const rounding& mode :
               deterministic_roundings({.overflow = overflow, .flush = how, .daz = daz, .tininess = tiny}))
            modes.push_back(mode);
  return modes;
}

// A sequence of numbers fixed by its seed: the generator of Steele, Lea and Flood (SplitMix64).
class sequence {
 public:
  explicit sequence(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
  }
  int below(int n) { return static_cast<int>((next() >> 32) * static_cast<std::uint64_t>(n) >> 32); }
  int between(int first, int last) { return first + below(last - first + 1); }
  bool one_in(int n) { return below(n) == 0; }

 private:
  std::uint64_t state_;
};

// Operands for which something happens: every second tuple is of uniformly random codes, the others aim at a binade of
// the result (below and around the smallest normal number, around the largest, any) with operands of few or of nearly
// all significand bits, so that exact results and ties are common, or at a result that cancels, or are specials.
class operand_source {
 public:
  operand_source(operation op, const format& to, const operand_formats& from, std::uint64_t seed)
      : op_(op), to_(to), from_(from), random_(seed) {}

  codes next() {
    if (random_.one_in(2)) return uniform();
    switch (random_.below(16)) {
      case 0: return {special(from_[0]), uniform()[1], uniform()[2]};
      case 1: return {special(from_[0]), special(from_[1]), special(from_[2])};
      case 2: return {uniform()[0], special(from_[1]), special(from_[2])};
      case 3:
      case 4:
      case 5: return cancelling();
      default: return aimed();
    }
  }

 private:
  codes uniform() {
    codes x{};
    for (std::size_t i = 0; i < 3; ++i) x[i] = random_.next() & from_[i].code_mask();
    return x;
  }

  std::uint64_t special(const format& f) {
    const std::uint64_t one = f.magnitude_mask() & (static_cast<std::uint64_t>(f.bias) << f.fraction_bits);
    const std::array<std::uint64_t, 12> magnitudes{0,
                                                   1,
                                                   2,
                                                   f.fraction_mask(),
                                                   f.fraction_mask() + 1,
                                                   f.fraction_mask() + 2,
                                                   f.magnitude_mask(),
                                                   f.magnitude_mask() - 1,
                                                   f.max_finite_code(),
                                                   f.max_finite_code() + 1,
                                                   f.max_finite_code() + 2,
                                                   one};
    return ((random_.next() & f.sign_mask()) | magnitudes[static_cast<std::size_t>(random_.below(12))]) & f.code_mask();
  }

  std::uint64_t fraction(const format& f) {
    const std::uint64_t bits = random_.next() & f.fraction_mask();
    switch (random_.below(4)) {
      case 0: return bits & ~(f.fraction_mask() >> std::min(f.fraction_bits, random_.below(4)));
      case 1: return bits | (f.fraction_mask() & ~std::uint64_t{7});
      case 2: return bits & 7 & f.fraction_mask();
      default: return bits;
    }
  }

  // The number of that binade, or the nearest one there is.
  std::uint64_t number(const format& f, bool negative, int exponent, std::uint64_t fraction) {
    const std::uint64_t sign = negative ? f.sign_mask() : 0;
    const int distance = f.emin() - exponent;
    if (distance > 0) {
      const std::uint64_t significand = (fraction | (f.fraction_mask() + 1)) >> std::min(distance, f.fraction_bits);
      return sign | std::max<std::uint64_t>(significand, 1);
    }
    const auto field = static_cast<std::uint64_t>(std::min(exponent, f.emax()) + f.bias);
    return sign | std::min(field << f.fraction_bits | fraction, f.max_finite_code());
  }
  std::uint64_t number(const format& f, int exponent) { return number(f, random_.one_in(2), exponent, fraction(f)); }

  int binade_of_result() {
    switch (random_.below(4)) {
      case 0: return to_.emin() + random_.between(-to_.fraction_bits - 3, 3);
      case 1: return to_.emax() + random_.between(-2, 1);
      case 2: return random_.between(-4, 4);
      default: return random_.between(to_.min_quantum_exponent(), to_.emax());
    }
  }

  int binade_of(const format& f) { return random_.between(f.min_quantum_exponent(), f.emax()); }
  int nearby() { return random_.between(-to_.fraction_bits - 3, to_.fraction_bits + 3); }

  codes aimed() {
    const int result = binade_of_result();
    const int first = op_ == operation::add || op_ == operation::sub ? result
                      : op_ == operation::sqrt || op_ == operation::convert
                          ? (op_ == operation::sqrt ? 2 * result : result)
                          : binade_of(from_[0]);
    int second = result + nearby();
    if (op_ == operation::mul || op_ == operation::fma) second = result - first + random_.between(-1, 0);
    if (op_ == operation::div) second = first - result + random_.between(-1, 0);
    if (op_ == operation::rem) second = first - random_.between(-2, 20);
    return {number(from_[0], first), number(from_[1], second), number(from_[2], result + nearby())};
  }

  // The last operand takes nearly all of the others away; with enough exponents between, a little is left over.
  codes cancelling() {
    codes x = aimed();
    const std::size_t last = op_ == operation::fma ? 2 : 1;
    double rest = to_double(value_of(from_[0], x[0]));
    if (op_ == operation::fma) rest *= to_double(value_of(from_[1], x[1]));  // near enough
    if (rest == 0 || !std::isfinite(rest)) return x;
    int exponent = 0;
    const double significand = std::frexp(std::abs(rest), &exponent);  // [1/2, 1)
    const format& f = from_[last];
    const auto digits = static_cast<std::uint64_t>(std::ldexp(significand, 53));
    const std::uint64_t cut = (digits >> (52 - f.fraction_bits)) & f.fraction_mask();
    const bool negative = (rest > 0) != (op_ == operation::sub);
    x[last] = number(f, negative, exponent - 1, cut);
    if (random_.one_in(2)) x[last] = (x[last] + static_cast<std::uint64_t>(random_.between(-2, 2))) & f.code_mask();
    return x;
  }

  operation op_;
  format to_;
  operand_formats from_;
  sequence random_;
};

struct sweep_result {
  std::string failures;  // of one of the sweeps that had any
  std::uint64_t compared = 0;
};

// Calls check(sweep, i) for i below n, several at a time.
template <class Check>
sweep_result on_all_processors(std::uint64_t n, Check check) {
  const unsigned threads = std::max(2u, std::thread::hardware_concurrency());
  std::vector<sweep> sweeps(threads);
  std::vector<std::thread> workers;
  std::atomic<std::uint64_t> next{0};
  for (unsigned t = 0; t < threads; ++t)
    workers.emplace_back([&next, &check, n, &mine = sweeps[t]] {
      for (std::uint64_t i = next++; i < n; i = next++) check(mine, i);
    });
  for (std::thread& worker : workers) worker.join();
  sweep_result all;
  for (const sweep& s : sweeps) {
    if (s.compared() != 0 && s.failures() != "") all.failures = s.failures();
    all.compared += s.compared();
  }
  return all;
}

}  // namespace ulp::test

#endif
