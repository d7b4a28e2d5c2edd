// Pins random_bits.hpp for good: the generator by Random123's known answers, the layout by walking it element by
// element and by literals computed from its written specification in Python, streams by literals, and uniformity.
#include <ulp/formats/random_bits.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "formats/sweep.hpp"
#include "support/catch.hpp"

namespace {

using namespace ulp;
using ulp::test::sweep;

using block = std::array<std::uint32_t, 4>;

// Byte `n` of a block, counted from the low end of its first word.
std::uint32_t byte_of(const block& words, unsigned n) { return (words[n / 4] >> (8 * (n % 4))) & 0xFF; }

}  // namespace

TEST_CASE("Philox4x32-10 gives Random123's known answers") {
  CHECK(philox4x32({0, 0, 0, 0}, {0, 0}) == block{0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8});
  CHECK(philox4x32({0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF}, {0xFFFFFFFF, 0xFFFFFFFF}) ==
        block{0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD});
  CHECK(philox4x32({0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344}, {0xA4093822, 0x299F31D0}) ==
        block{0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1});
}

TEST_CASE("random bits are constant expressions") {
  STATIC_REQUIRE(random_bits(0, 0, 0, 32) == 0x6627E8D5);
  STATIC_REQUIRE(stream_of("w", 1) == 0xDB3761F45E179C91);
}

TEST_CASE("further words of an element come from streams 2^64 / golden ratio apart") {
  CHECK(random_word(7, 2, 3, 0) == random_bits(7, 2, 3, 32));
  CHECK(random_word(7, 2, 3, 1) == philox4x32({3, 0, 0x7F4A7C17, 0x9E3779B9}, {7, 0})[0]);
  CHECK(random_word(7, 2, 3, 2) == philox4x32({3, 0, 0xFE94F82C, 0x3C6EF372}, {7, 0})[0]);
}

// Elements in the order in which lanes and blocks hold them: 16 blocks side by side, their first lanes, then their
// second lanes, and so on.
TEST_CASE("elements walk through blocks and lanes as laid down") {
  const std::uint64_t seed = 0x0123456789ABCDEF;
  const std::uint64_t stream = 0xFEDCBA9876543210;
  for (const unsigned lane_bytes : {1u, 2u, 4u}) {
    sweep s;
    std::uint64_t element = 0;
    for (std::uint64_t group = 0; group < 3; ++group)
      for (unsigned lane = 0; lane < 16 / lane_bytes; ++lane)
        for (std::uint64_t side = 0; side < 16; ++side, ++element) {
          const auto counter = static_cast<std::uint32_t>(group * 16 + side);
          const block words = philox4x32({counter, 0, 0x76543210, 0xFEDCBA98}, {0x89ABCDEF, 0x01234567});
          std::uint64_t value = 0;
          for (unsigned byte = lane_bytes; byte-- > 0;) value = value << 8 | byte_of(words, lane * lane_bytes + byte);
          const int width = static_cast<int>(8 * lane_bytes);
          for (int bits = lane_bytes == 1 ? 1 : width / 2 + 1; bits <= width; ++bits)
            s.expect(random_bits(seed, stream, element, bits) == value >> (width - bits),
                     [&] { return "element " + std::to_string(element) + " bits " + std::to_string(bits); });
        }
    CHECK(s.failures() == "");
  }
}

// Computed from the written specification by an independent program.
TEST_CASE("random bits are the same for good") {
  const std::uint64_t all = ~std::uint64_t{0};
  CHECK(random_bits(0, 0, 0, 8) == 0xD5);
  CHECK(random_bits(0, 0, 17, 16) == 0xF8E4);
  CHECK(random_bits(1, 2, 3, 13) == 0x17EA);
  CHECK(random_bits(0x0123456789ABCDEF, 0xFEDCBA9876543210, 123456789012345, 3) == 0x7);
  CHECK(random_bits(all, all, all, 32) == 0x411FCEFD);
  CHECK(random_bits(42, 7, 255, 8) == 0x78);
  CHECK(random_bits(42, 7, 256, 8) == 0xEA);
  CHECK(random_bits(42, 7, 127, 11) == 0x3C4);
  CHECK(random_bits(42, 7, 128, 16) == 0x41EA);
  CHECK(random_bits(42, 7, 63, 17) == 0xF11B);
  CHECK(random_bits(42, 7, 64, 31) == 0x57D7A0F5);
  CHECK(random_bits(5, 6, 1000, 1) == 0x1);
}

TEST_CASE("streams are the same for good") {
  CHECK(stream_of("", 0) == 0x813F0174A2367C13);
  CHECK(stream_of("w", 0) == 0xE1B3CD3C80CDDB9B);
  CHECK(stream_of("w", 1) == 0xDB3761F45E179C91);
  CHECK(stream_of("layers.0.weight", 1000) == 0x3979FA238C9C9FDF);
  CHECK(stream_of("layers.0.weight", -1) == 0x8D7922AFE5C5C326);
  CHECK(stream_of("\xC3\xA9", std::int64_t{1} << 40) == 0x831EAE0DFE6B41CD);  // bytes above 127 are not negative
}

TEST_CASE("random bits are uniform within 5 sigma") {
  const int draws = 1 << 20;
  for (const int bits : {1, 4, 8, 13, 32}) {
    INFO(bits << " bits");
    // Chi-square over the values of the top bits, and the frequency of each single bit.
    const int top = std::min(bits, 8);
    std::vector<double> counts(std::size_t{1} << top);
    std::vector<double> ones(static_cast<std::size_t>(bits));
    for (int i = 0; i < draws; ++i) {
      const std::uint32_t r = random_bits(2024, 9, static_cast<std::uint64_t>(i), bits);
      counts[r >> (bits - top)] += 1;
      for (std::size_t b = 0; b < ones.size(); ++b) ones[b] += (r >> b) & 1;
    }
    const double expected = draws / static_cast<double>(counts.size());
    double chi_square = 0;
    for (const double n : counts) chi_square += (n - expected) * (n - expected) / expected;
    const double freedom = static_cast<double>(counts.size()) - 1;
    CHECK(std::abs(chi_square - freedom) < 5 * std::sqrt(2 * freedom));
    for (const double n : ones) CHECK(std::abs(n - draws / 2.0) < 5 * std::sqrt(draws / 4.0));
  }
}
