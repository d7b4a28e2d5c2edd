// Pins that conversions and arithmetic do not depend on the processor's state: the same codes, flags and values with
// every rounding direction, and on x86 with flush-to-zero and denormals-are-zero, over every 61,001st float, every 7th
// subnormal of float's first 70,000 and every code of the 16-bit formats; every operation on random and aimed operands
// (operand_source, seed 40), and square roots, whose first guess is the processor's, of the 16-bit formats and next to
// squares.
#include <bit>
#include <cfenv>
#include <cmath>
#include <compare>
#include <cstdint>
#include <vector>

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

#include <ulp/formats/arithmetic.hpp>
#include <ulp/formats/codec.hpp>

#include "formats/operations.hpp"
#include "support/catch.hpp"

namespace {

using namespace ulp;
using namespace ulp::test;

std::vector<std::uint32_t> float_patterns() {
  std::vector<std::uint32_t> patterns;
  for (std::uint64_t bits = 0; bits < std::uint64_t{1} << 32; bits += 61001)
    patterns.push_back(static_cast<std::uint32_t>(bits));
  for (std::uint32_t bits = 0; bits < 70000; bits += 7) patterns.push_back(bits);
  return patterns;
}

// Results as one word each, so that the comparison itself is outside the state under test.
std::vector<std::uint64_t> convert_all(const std::vector<std::uint32_t>& patterns) {
  std::vector<std::uint64_t> results;
  const auto keep = [&](const encoded& e) { results.push_back(e.code << 8 | static_cast<std::uint64_t>(e.flags)); };
  std::vector<rounding> modes;
  for (const direction d : deterministic) modes.push_back({.direction = d});
  modes.push_back({.direction = direction::stochastic});
  modes.push_back({.daz = true});
  modes.push_back({.flush = flush::after_rounding});
  std::vector<named_format> formats{small_formats.begin(), small_formats.end()};
  formats.insert(formats.end(), formats_of_other_kinds.begin(), formats_of_other_kinds.end());
  for (const named_format& f : formats) {
    for (const rounding& mode : modes)
      for (const std::uint32_t bits : patterns) {
        keep(encode(f.format, std::bit_cast<float>(bits), mode, bits));
        keep(encode(f.format, std::bit_cast<double>(std::uint64_t{bits} << 32 | bits), mode, bits));
      }
    for (std::uint64_t code = 0; code <= f.format.code_mask(); ++code) {
      results.push_back(std::bit_cast<std::uint32_t>(to_float(f.format, code)));
      results.push_back(std::bit_cast<std::uint64_t>(ulp::to_double(f.format, code)));
    }
  }
  // Where float is too narrow.
  for (const std::uint32_t bits : patterns)
    results.push_back(std::bit_cast<std::uint32_t>(to_float(binary64, std::uint64_t{bits} << 32 | bits)));
  return results;
}

struct operation_on_codes {
  operation op = operation::add;
  format in;
  codes x{};
};

std::vector<operation_on_codes> operations() {
  std::vector<operation_on_codes> all;
  for (const format& f :
       {float16, bfloat16, cbfloat16, float8_e4m3fn, float6_e3m2, dlfloat16, tf32, binary32, binary64}) {
    for (const operation op : all_operations) {
      operand_source source{op, f, {f, f, f}, 40};
      for (int i = 0; i < 3000; ++i) all.push_back({op, f, source.next()});
    }
    if (f.width() == 16)
      for (std::uint64_t code = 0; code <= f.code_mask(); ++code) all.push_back({operation::sqrt, f, {code, 0, 0}});
  }
  // Next to squares the guess depends on how the processor rounds.
  sequence random{41};
  for (int i = 0; i < 3000; ++i) {
    const double root = std::ldexp(static_cast<double>(random.next() >> 38), random.between(-30, 0));
    for (const int next : {-1, 0, 1})
      all.push_back({operation::sqrt,
                     binary64,
                     {std::bit_cast<std::uint64_t>(root * root) + static_cast<std::uint64_t>(next), 0, 0}});
  }
  return all;
}

std::vector<std::uint64_t> compute_all(const std::vector<operation_on_codes>& operations) {
  std::vector<std::uint64_t> results;
  std::vector<rounding> modes = deterministic_roundings();
  modes.push_back({.direction = direction::stochastic});
  modes.push_back({.direction = direction::stochastic, .random_bits = exact_probability});
  modes.push_back({.flush = flush::after_rounding, .daz = true});
  for (const operation_on_codes& o : operations) {
    for (const rounding& mode : modes) {
      const encoded e = library(o.op, o.in, o.x, mode, static_cast<std::uint32_t>(o.x[0] * 0x9E3779B9));
      results.push_back(e.code);
      results.push_back(static_cast<std::uint64_t>(e.flags));
    }
    results.push_back(static_cast<std::uint64_t>(to_integer<std::int64_t>(o.in, o.x[0]).value));
    const comparison c = compare_quiet(o.in, o.x[0], o.x[1]);
    results.push_back(c.order == std::partial_ordering::less ? 1 : c.order == std::partial_ordering::greater ? 2 : 0);
  }
  return results;
}

// Called through pointers the compiler cannot see through, so that nothing moves across the change of state.
std::vector<std::uint64_t> (*volatile const convert)(const std::vector<std::uint32_t>&) = convert_all;
std::vector<std::uint64_t> (*volatile const compute)(const std::vector<operation_on_codes>&) = compute_all;

std::vector<std::uint64_t> run(const std::vector<std::uint32_t>& patterns,
                               const std::vector<operation_on_codes>& operations) {
  std::vector<std::uint64_t> results = convert(patterns);
  const std::vector<std::uint64_t> more = compute(operations);
  results.insert(results.end(), more.begin(), more.end());
  return results;
}

}  // namespace

TEST_CASE("the processor's rounding direction does not matter") {
  const auto patterns = float_patterns();
  const auto arithmetic = operations();
  const auto expected = run(patterns, arithmetic);
  for (const int way : {
#ifdef FE_UPWARD
           FE_UPWARD,
#endif
#ifdef FE_DOWNWARD
           FE_DOWNWARD,
#endif
#ifdef FE_TOWARDZERO
           FE_TOWARDZERO,
#endif
           FE_TONEAREST}) {
    std::fesetround(way);
    const auto got = run(patterns, arithmetic);
    std::fesetround(FE_TONEAREST);
    CHECK((got == expected));
  }
}

#if defined(__SSE2__)
TEST_CASE("flush-to-zero and denormals-are-zero do not matter, in any direction") {
  constexpr unsigned flush_to_zero = 0x8000;
  constexpr unsigned denormals_are_zero = 0x0040;
  const auto patterns = float_patterns();
  const auto arithmetic = operations();
  const auto expected = run(patterns, arithmetic);
  const unsigned initial = _mm_getcsr();
  // Bits 13 and 14: 0 nearest, 1 down, 2 up, 3 toward zero.
  for (const unsigned way : {0u, 1u, 2u, 3u}) {
    _mm_setcsr((initial & ~0x6000u) | way << 13 | flush_to_zero | denormals_are_zero);
    const auto got = run(patterns, arithmetic);
    _mm_setcsr(initial);
    CHECK((got == expected));
  }
}
#endif
