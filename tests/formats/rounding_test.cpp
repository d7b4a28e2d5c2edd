// Pins rounding.hpp: which way each direction goes for each kind of discarded part, the definitions of stochastic
// rounding against their formulas over all 8-bit parts, and the spellings of roundings, accepted and rejected.
#include <ulp/formats/names.hpp>
#include <ulp/formats/rounding.hpp>

#include <array>
#include <cstdint>

#include "formats/sweep.hpp"
#include "support/catch.hpp"

using namespace ulp;
using ulp::test::sweep;

TEST_CASE("deterministic directions") {
  // Discarded: nothing, less than half, half, more than half.
  constexpr std::array<discarded, 4> parts{discarded{}, discarded{.sticky = true}, discarded{.round_bit = true},
                                           discarded{.round_bit = true, .sticky = true}};
  struct row {
    direction way;
    // Up for the four parts: positive and even, positive and odd, negative and even, negative and odd.
    std::array<const char*, 4> up;
  };
  constexpr std::array<row, 6> rows{{
      {direction::nearest_even, {"0001", "0011", "0001", "0011"}},
      {direction::nearest_away, {"0011", "0011", "0011", "0011"}},
      {direction::toward_zero, {"0000", "0000", "0000", "0000"}},
      {direction::toward_positive, {"0111", "0111", "0000", "0000"}},
      {direction::toward_negative, {"0000", "0000", "0111", "0111"}},
      {direction::to_odd, {"0111", "0000", "0111", "0000"}},
  }};
  for (const row& r : rows)
    for (std::size_t which = 0; which < 4; ++which)
      for (std::size_t part = 0; part < 4; ++part) {
        INFO(to_string({.direction = r.way}) << ' ' << which << ' ' << part);
        CHECK(rounds_up(parts[part], which % 2 == 1, which >= 2, {.direction = r.way}, 0) ==
              (r.up[which][part] == '1'));
      }
}

TEST_CASE("results beyond the largest number stay there where the direction points to zero") {
  for (const direction way : {direction::toward_zero, direction::to_odd}) {
    CHECK(points_to_zero(way, false));
    CHECK(points_to_zero(way, true));
  }
  for (const direction way : {direction::nearest_even, direction::nearest_away, direction::stochastic}) {
    CHECK_FALSE(points_to_zero(way, false));
    CHECK_FALSE(points_to_zero(way, true));
  }
  CHECK_FALSE(points_to_zero(direction::toward_positive, false));
  CHECK(points_to_zero(direction::toward_positive, true));
  CHECK(points_to_zero(direction::toward_negative, false));
  CHECK_FALSE(points_to_zero(direction::toward_negative, true));
}

TEST_CASE("stochastic definitions are their formulas") {
  sweep s;
  // v = part / 2^8, with and without something beyond its 33 leading bits.
  for (unsigned part = 0; part < 256; ++part)
    for (const bool beyond : {false, true})
      for (const int n : {1, 2, 3, 7}) {
        const discarded lost{.round_bit = part >= 128,
                             .sticky = part % 128 != 0 || beyond,
                             .leading = std::uint64_t{part} << 25,
                             .beyond_leading = beyond};
        for (unsigned r = 0; r < 1u << n; ++r) {
          const unsigned one = 1u << n;
          const unsigned scaled = part << n;  // v 2^N, in 256ths
          unsigned nearest = scaled / 256;
          const unsigned rest = 2 * (scaled % 256) + (beyond ? 1 : 0);
          if (rest > 256 || (rest == 256 && nearest % 2 == 1)) ++nearest;
          const bool something = part != 0 || beyond;
          const std::array<bool, 3> expected{something && scaled / 256 + r >= one,
                                             something && 2 * scaled / 256 + 2 * r + 1 >= 2 * one,
                                             something && nearest + r >= one};
          for (const auto d : {stochastic_definition::a, stochastic_definition::b, stochastic_definition::c}) {
            const rounding mode{.direction = direction::stochastic, .definition = d, .random_bits = n};
            for (const bool odd : {false, true})
              for (const bool negative : {false, true})
                s.expect(rounds_up(lost, odd, negative, mode, r) == expected[static_cast<std::size_t>(d)],
                         [&] { return to_string(mode) + " part " + std::to_string(part) + " r " + std::to_string(r); });
          }
        }
      }
  CHECK(s.failures() == "");
}

TEST_CASE("roundings have names") {
  struct row {
    const char* text;
    direction way;
  };
  for (const row& r : {row{"nearest-even", direction::nearest_even}, row{"rne", direction::nearest_even},
                       row{"nearest-away", direction::nearest_away}, row{"rna", direction::nearest_away},
                       row{"toward-zero", direction::toward_zero}, row{"rz", direction::toward_zero},
                       row{"toward-positive", direction::toward_positive}, row{"ru", direction::toward_positive},
                       row{"toward-negative", direction::toward_negative}, row{"rd", direction::toward_negative},
                       row{"to-odd", direction::to_odd}, row{"ro", direction::to_odd},
                       row{"stochastic", direction::stochastic}, row{"sr", direction::stochastic}}) {
    INFO(r.text);
    CHECK(parse_rounding(r.text) == rounding{.direction = r.way});
  }
}

TEST_CASE("stochastic rounding takes options") {
  const auto stochastic = [](stochastic_definition d, int bits) {
    return rounding{.direction = direction::stochastic, .definition = d, .random_bits = bits};
  };
  CHECK(parse_rounding("stochastic:A,bits=8") == stochastic(stochastic_definition::a, 8));
  CHECK(parse_rounding("sr:B") == stochastic(stochastic_definition::b, 32));
  CHECK(parse_rounding("sr:c,bits=1") == stochastic(stochastic_definition::c, 1));
  CHECK(parse_rounding("near_maxMag") == parse_rounding("nearest-away"));
  CHECK(parse_rounding("minMag") == parse_rounding("rtz"));
  CHECK(parse_rounding("odd") == parse_rounding("to-odd"));
  CHECK(parse_rounding("sr:bits=32") == stochastic(stochastic_definition::a, 32));
  CHECK(parse_rounding("stochastic,bits=8") == stochastic(stochastic_definition::a, 8));
  CHECK(parse_rounding("sr:bits=13,B") == stochastic(stochastic_definition::b, 13));
  CHECK(parse_rounding("sr,bits=all") == stochastic(stochastic_definition::a, exact_probability));
  CHECK(parse_rounding("stochastic:C,bits=all") == stochastic(stochastic_definition::c, exact_probability));
}

TEST_CASE("what is no rounding is rejected") {
  for (const char* const text : {"",
                                 "nearest",
                                 "RNE",
                                 "rne ",
                                 " rne",
                                 "up",
                                 "nearest_even",
                                 "rne:",
                                 "rne:A",
                                 "rz:bits=8",
                                 "sr:",
                                 "sr:D",
                                 "sr:AB",
                                 "sr:A,",
                                 "sr:,A",
                                 "sr:A bits=8",
                                 "sr:bits",
                                 "sr:A,B",
                                 "sr,bits=3,bits=4",
                                 "sr:bits=",
                                 "sr:bits=0",
                                 "sr:bits=33",
                                 "sr:bits=-1",
                                 "sr:bits=+8",
                                 "sr:bits=8x",
                                 "sr:bits=99999999999",
                                 "sr:bits=8;A",
                                 "sr,",
                                 "sr:bits=ALL",
                                 "sr:bits=all8",
                                 "sr:all",
                                 "nvidia",
                                 "rne,bits=8"}) {
    INFO(text);
    CHECK_FALSE(parse_rounding(text).has_value());
  }
}

TEST_CASE("the canonical spelling reads back") {
  CHECK(to_string(rounding{}) == "nearest-even");
  CHECK(to_string(rounding{.direction = direction::stochastic}) == "stochastic:A,bits=32");
  for (const direction way : ulp::test::deterministic)
    CHECK(parse_rounding(to_string({.direction = way})) == rounding{.direction = way});
  for (const auto d : {stochastic_definition::a, stochastic_definition::b, stochastic_definition::c})
    for (int bits = exact_probability; bits <= 32; ++bits) {
      const rounding mode{.direction = direction::stochastic, .definition = d, .random_bits = bits};
      CHECK(parse_rounding(to_string(mode)) == mode);
    }
}
