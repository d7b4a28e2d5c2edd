// Pins float -> bfloat16, cbfloat16 and float16, nearest even, for all 2^32 floats, to formulas on the bits of a float
// that share nothing with the codec: adding just under half a unit and letting the carry run.
#include <bit>
#include <cmath>
#include <cstdint>

#include <ulp/formats/catalog.hpp>
#include <ulp/formats/codec.hpp>

#include "formats/exhaustive.hpp"
#include "support/catch.hpp"

namespace {

using namespace ulp;
using namespace ulp::test;

std::uint32_t to_bfloat16(std::uint32_t bits) {
  if ((bits & 0x7FFFFFFF) > 0x7F800000) return bits >> 16 | 0x40;
  return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16;
}

// An IEEE-style format with fewer exponent bits than float, from its two field widths. Subnormals are counted in units
// of the smallest one, which double does exactly.
template <int exponent_bits, int fraction_bits>
std::uint32_t to_narrow(std::uint32_t bits) {
  constexpr int dropped = 23 - fraction_bits;
  constexpr std::uint32_t bias = (1u << (exponent_bits - 1)) - 1;
  constexpr std::uint32_t infinity = ((1u << exponent_bits) - 1) << fraction_bits;
  const std::uint32_t sign = bits >> 31 << (exponent_bits + fraction_bits);
  const std::uint32_t magnitude = bits & 0x7FFFFFFF;
  if (magnitude > 0x7F800000) return sign | infinity | 1u << (fraction_bits - 1) | (magnitude & 0x7FFFFF) >> dropped;
  if (magnitude < (128 - bias) << 23) {
    const double units = std::ldexp(1.0, static_cast<int>(bias) - 1 + fraction_bits) * std::bit_cast<float>(magnitude);
    return sign | static_cast<std::uint32_t>(std::nearbyint(units));
  }
  const std::uint32_t rebiased = magnitude - ((127 - bias) << 23);
  const std::uint32_t rounded = (rebiased + (1u << (dropped - 1)) - 1 + (rebiased >> dropped & 1)) >> dropped;
  return sign | (rounded < infinity ? rounded : infinity);
}

template <auto expected>
std::string differences(const format& to) {
  return over_all_floats([to](sweep& s, std::uint32_t first, std::uint32_t last) {
    for (std::uint64_t b = first; b <= last; ++b) {
      const auto bits = static_cast<std::uint32_t>(b);
      const encoded got = encode(to, std::bit_cast<float>(bits));
      s.expect(got.code == expected(bits), [&] { return describe(encoded{bits}) + ": " + describe(got); });
    }
  });
}

}  // namespace

TEST_CASE("float to bfloat16 for all floats") { CHECK(differences<to_bfloat16>(bfloat16) == ""); }

TEST_CASE("float to cbfloat16 for all floats") { CHECK(differences<to_narrow<6, 9>>(cbfloat16) == ""); }

TEST_CASE("float to float16 for all floats") { CHECK(differences<to_narrow<5, 10>>(float16) == ""); }
