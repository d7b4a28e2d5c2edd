// Pins that conversions do not depend on the processor's state: the same codes, flags and values with every rounding
// direction, and on x86 with flush-to-zero and denormals-are-zero, over every 61,001st float, every 7th subnormal of
// float's first 70,000 and every code of the 16-bit formats.
#include <bit>
#include <cfenv>
#include <cstdint>
#include <vector>

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

#include <ulp/formats/codec.hpp>

#include "formats/sweep.hpp"
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
  for (const named_format& f : small_formats) {
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

// Called through a pointer the compiler cannot see through, so that nothing moves across the change of state.
std::vector<std::uint64_t> (*volatile const run)(const std::vector<std::uint32_t>&) = convert_all;

}  // namespace

TEST_CASE("the processor's rounding direction does not matter") {
  const auto patterns = float_patterns();
  const auto expected = run(patterns);
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
    const auto got = run(patterns);
    std::fesetround(FE_TONEAREST);
    CHECK((got == expected));
  }
}

#if defined(__SSE2__)
TEST_CASE("flush-to-zero and denormals-are-zero do not matter, in any direction") {
  constexpr unsigned flush_to_zero = 0x8000;
  constexpr unsigned denormals_are_zero = 0x0040;
  const auto patterns = float_patterns();
  const auto expected = run(patterns);
  const unsigned initial = _mm_getcsr();
  // Bits 13 and 14: 0 nearest, 1 down, 2 up, 3 toward zero.
  for (const unsigned way : {0u, 1u, 2u, 3u}) {
    _mm_setcsr((initial & ~0x6000u) | way << 13 | flush_to_zero | denormals_are_zero);
    const auto got = run(patterns);
    _mm_setcsr(initial);
    CHECK((got == expected));
  }
}
#endif
