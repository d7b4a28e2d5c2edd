// Pins arithmetic.hpp to the oracle, codes and flags, where that takes minutes: all pairs and fma triples of the
// formats of at most 8 bits in the six deterministic directions, every flush, DAZ, tininess and delivery of overflow on
// all pairs; every random value of 1 to 4 bits on every operand tuple of a 6-bit format; conversions of every code of
// up to 16 bits; and for the 16-bit formats 2^24 tuples per operation, half of them random codes, half aimed
// (operand_source, seeded by the block of 2^12 tuples).
#include <ulp/formats/arithmetic.hpp>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include <ulp/formats/catalog.hpp>

#include "formats/operations.hpp"
#include "support/catch.hpp"

namespace {

using namespace ulp;
using namespace ulp::test;

// Without saturation of finite results alone, which differs from saturation where an operand is infinite: arithmetic_test
// has it.
constexpr std::uint64_t most = roundings / 3 * 2;
std::vector<rounding> most_roundings() { return every_rounding({overflow_mode::ieee, overflow_mode::saturate}); }

constexpr std::array pair_operations{operation::add, operation::sub, operation::mul, operation::div, operation::rem};

// All pairs of the five operations and all square roots.
sweep_result all_pairs(const format& in, const std::vector<rounding>& modes) {
  const std::uint64_t n = in.code_mask() + 1;
  return on_all_processors(n, [&](sweep& s, std::uint64_t a) {
    for (std::uint64_t b = 0; b < n; ++b)
      for (const operation op : pair_operations) compare_with_oracle(s, op, in, {a, b, 0}, modes);
    compare_with_oracle(s, operation::sqrt, in, {a, 0, 0}, modes);
  });
}

sweep_result all_triples(const format& in, const std::vector<rounding>& modes) {
  const std::uint64_t n = in.code_mask() + 1;
  return on_all_processors(n * n, [&](sweep& s, std::uint64_t ab) {
    for (std::uint64_t c = 0; c < n; ++c) compare_with_oracle(s, operation::fma, in, {ab / n, ab % n, c}, modes);
  });
}

std::uint64_t pairs_of(const format& f) { return (f.code_mask() + 1) * (f.code_mask() + 1); }

}  // namespace

TEST_CASE("the catalogue's formats of at most 8 bits are among the tested ones") {
  for (const catalog_entry& entry : format_catalog()) {
    if (entry.format.width() > 8 || !entry.format.has_sign) continue;
    INFO(entry.name);
    const bool tiny = std::find(tiny_formats.begin(), tiny_formats.end(), entry.format) != tiny_formats.end();
    const bool eight =
        std::find(eight_bit_formats.begin(), eight_bit_formats.end(), entry.format) != eight_bit_formats.end();
    CHECK((tiny || eight));
  }
}

TEST_CASE("all pairs of 8-bit formats") {
  for (const format& f : eight_bit_formats) {
    const sweep_result all = all_pairs(f, most_roundings());
    INFO(describe(f));
    CHECK(all.failures == "");
    CHECK(all.compared == (5 * pairs_of(f) + f.code_mask() + 1) * most);
  }
}

TEST_CASE("all triples of 8-bit formats") {
  for (const format& f : eight_bit_formats) {
    const sweep_result all = all_triples(f, deterministic_roundings());
    INFO(describe(f));
    CHECK(all.failures == "");
    CHECK(all.compared == pairs_of(f) * (f.code_mask() + 1) * 6);
  }
}

TEST_CASE("all pairs and triples of formats below 8 bits, in every rounding") {
  for (const format& f : tiny_formats) {
    const sweep_result pairs = all_pairs(f, most_roundings());
    const sweep_result triples = all_triples(f, most_roundings());
    INFO(describe(f));
    CHECK(pairs.failures == "");
    CHECK(pairs.compared == (5 * pairs_of(f) + f.code_mask() + 1) * most);
    CHECK(triples.failures == "");
    CHECK(triples.compared == pairs_of(f) * (f.code_mask() + 1) * most);
  }
  const format seven_bits{.exponent_bits = 3, .fraction_bits = 3, .bias = 3};
  CHECK(all_pairs(seven_bits, most_roundings()).failures == "");
  CHECK(all_triples(seven_bits, deterministic_roundings()).failures == "");
}

TEST_CASE("every triple and every random value of 1 to 4 bits of a 6-bit format") {
  std::vector<rounding> modes;
  for (const auto definition : {stochastic_definition::a, stochastic_definition::b, stochastic_definition::c})
    for (int bits = 1; bits <= 4; ++bits)
      modes.push_back({.direction = direction::stochastic, .definition = definition, .random_bits = bits});
  const format& f = float6_e3m2;
  const std::array<format, 3> from{f, f, f};
  const sweep_result all = on_all_processors(64 * 64, [&](sweep& s, std::uint64_t ab) {
    for (std::uint64_t c = 0; c < 64; ++c) {
      const codes x{ab / 64, ab % 64, c};
      const oracle exact{operation::fma, f, values_of(from, x)};
      for (const rounding& mode : modes)
        for (std::uint32_t random = 0; random < 1u << mode.random_bits; ++random) {
          const encoded got = fma(f, x[0], x[1], x[2], mode, random);
          const encoded expected = exact(mode, random);
          s.expect(same(got, expected), [&] { return describe(operation::fma, f, from, x, mode, got, expected); });
        }
    }
  });
  CHECK(all.failures == "");
  CHECK(all.compared == 64 * 64 * 64 * 90);
}

TEST_CASE("every code of up to 16 bits to every format of the catalogue, in every rounding") {
  const std::vector<rounding> modes = most_roundings();
  for (const catalog_entry& from : format_catalog()) {
    if (from.format.width() > 16) continue;
    for (const catalog_entry& to : format_catalog()) {
      const std::uint64_t n = from.format.code_mask() + 1;
      const sweep_result all = on_all_processors(n / 16, [&](sweep& s, std::uint64_t block) {
        for (std::uint64_t code = 16 * block; code < 16 * block + 16; ++code)
          compare_with_oracle(s, operation::convert, to.format, {from.format, from.format, from.format}, {code, 0, 0},
                              modes);
      });
      INFO(from.name << " to " << to.name);
      CHECK(all.failures == "");
      CHECK(all.compared == n * most);
    }
  }
}

TEST_CASE("2^24 operand tuples of each operation of the 16-bit formats") {
  constexpr std::uint64_t blocks = 4096;
  constexpr std::uint64_t block = 4096;
  const std::vector<rounding> modes = deterministic_roundings();
  for (const format& f : {float16, bfloat16, cbfloat16})
    for (const operation op :
         {operation::add, operation::sub, operation::mul, operation::div, operation::rem, operation::fma}) {
      const sweep_result all = on_all_processors(blocks, [&](sweep& s, std::uint64_t i) {
        operand_source source{op, f, {f, f, f}, i};
        for (std::uint64_t n = 0; n < block; ++n) compare_with_oracle(s, op, f, source.next(), modes);
      });
      INFO(describe(f) << ' ' << to_string(op));
      CHECK(all.failures == "");
      CHECK(all.compared == blocks * block * 6);
    }
}

TEST_CASE("every square root of the 16-bit formats, in every rounding") {
  const std::vector<rounding> modes = most_roundings();
  for (const format& f : {float16, bfloat16, cbfloat16, dlfloat16}) {
    const sweep_result all = on_all_processors(0x10000, [&](sweep& s, std::uint64_t code) {
      compare_with_oracle(s, operation::sqrt, f, {code, 0, 0}, modes);
    });
    INFO(describe(f));
    CHECK(all.failures == "");
    CHECK(all.compared == 0x10000 * most);
  }
}

TEST_CASE("a million operand tuples of each operation of the 16-bit formats, stochastic") {
  constexpr std::uint64_t blocks = 1024;
  constexpr std::uint64_t block = 1024;
  for (const format& f : {float16, bfloat16, cbfloat16})
    for (const operation op : all_operations) {
      const sweep_result all = on_all_processors(blocks, [&](sweep& s, std::uint64_t i) {
        operand_source source{op, f, {f, f, f}, i};
        sequence random{i};
        for (std::uint64_t n = 0; n < block; ++n) {
          rounding mode{.direction = direction::stochastic, .random_bits = random.between(1, 32)};
          mode.definition = static_cast<stochastic_definition>(random.below(3));
          compare_stochastic(s, op, f, {f, f, f}, source.next(), mode, static_cast<std::uint32_t>(random.next()));
        }
      });
      INFO(describe(f) << ' ' << to_string(op));
      CHECK(all.failures == "");
      CHECK(all.compared >= blocks * block * 4);
    }
}
