// Pins arithmetic.hpp: special cases worked out by hand, and codes and flags against the oracle. Every pair and triple
// of the formats below 8 bits, strides of the 8-bit ones, and aimed and random operands (operand_source, seeds below)
// of the wider ones, of mixed formats and in stochastic rounding; conversions; integers; comparisons. What takes
// minutes is in exhaustive_arithmetic_test.cpp.
#include <ulp/formats/arithmetic.hpp>

#include <algorithm>
#include <bit>
#include <compare>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <vector>

#include <ulp/formats/catalog.hpp>

#include "formats/operations.hpp"
#include "formats/product_ties.hpp"
#include "support/catch.hpp"

namespace {

using namespace ulp;
using namespace ulp::test;

constexpr std::array pair_operations{operation::add, operation::sub, operation::mul, operation::div, operation::rem};

struct row {
  operation op;
  codes x;
  std::uint64_t code;
  status flags = status::none;
};

// Both the library and the oracle, so that neither is right by itself only.
void check(const format& in, const rounding& mode, std::initializer_list<row> rows) {
  for (const row& r : rows) {
    const encoded got = library(r.op, in, r.x, mode);
    const encoded oracled = oracle{r.op, in, values_of({in, in, in}, r.x), mode.daz}(mode);
    INFO(describe(r.op, in, {in, in, in}, r.x, mode, got, {r.code, r.flags}) << "; oracle " << describe(oracled));
    CHECK(same(got, {r.code, r.flags}));
    CHECK(same(oracled, {r.code, r.flags}));
  }
}

constexpr status inexact = status::inexact;
constexpr status over = status::overflow | status::inexact;
constexpr status under = status::underflow | status::inexact;

// Operand tuples of the operation, `count` of them, in each of the modes.
void compare_aimed(sweep& s, operation op, const format& to, const operand_formats& from,
                   const std::vector<rounding>& modes, int count, std::uint64_t seed) {
  operand_source source{op, to, from, seed};
  for (int i = 0; i < count; ++i) compare_with_oracle(s, op, to, from, source.next(), modes);
}

rounding stochastic(stochastic_definition definition, int bits) {
  return {.direction = direction::stochastic, .definition = definition, .random_bits = bits};
}

struct mix {
  format to;
  operand_formats from;
};

// Narrow products into wide sums, wide ones into narrow results, and operands that are wider than the result.
constexpr std::array mixes{mix{binary32, {float16, float16, binary32}},
                           mix{binary32, {bfloat16, bfloat16, binary32}},
                           mix{binary32, {float8_e4m3fn, float8_e5m2, binary32}},
                           mix{float16, {binary32, binary32, binary32}},
                           mix{bfloat16, {float8_e5m2fnuz, float8_e4m3fnuz, bfloat16}},
                           mix{cbfloat16, {binary64, binary64, binary64}},
                           mix{float8_e4m3fn, {binary64, bfloat16, float6_e3m2}},
                           mix{float4_e2m1, {tf32, tf32, binary32}},
                           mix{dlfloat16, {float16, cbfloat16, binary32}},
                           mix{cbfloat16, {dlfloat16, dlfloat16, dlfloat16}},
                           mix{binary64, {binary32, binary32, binary64}},
                           mix{tf32, {binary64, bfloat16, float16}}};

}  // namespace

TEST_CASE("special cases worked out by hand") {
  using enum operation;
  // float16: 1 is 3C00, 2 is 4000, infinity 7C00, quiet NaN 7E00, signaling 7C01, largest 7BFF, least 0001.
  check(float16, {},
        {{add, {0x3C00, 0x3C00}, 0x4000},
         {sub, {0x3C00, 0x3C00}, 0x0000},
         {add, {0x3C00, 0xBC00}, 0x0000},
         {add, {0x8000, 0x8000}, 0x8000},
         {add, {0x8000, 0x0000}, 0x0000},
         {sub, {0x8000, 0x0000}, 0x8000},
         {add, {0x3C00, 0x1000}, 0x3C00, inexact},  // 1 + 2^-11: a tie, to even
         {add, {0x3C01, 0x1000}, 0x3C02, inexact},
         {add, {0x3C00, 0x1001}, 0x3C01, inexact},
         {add, {0x7BFF, 0x4C00}, 0x7C00, over},  // 65504 + 16: the midpoint to 2^16
         {add, {0x7BFF, 0x4BFF}, 0x7BFF, inexact},
         {add, {0x0001, 0x0001}, 0x0002},  // subnormal and exact: no underflow
         {add, {0x7C00, 0x7C00}, 0x7C00},
         {add, {0x7C00, 0xFC00}, 0x7E00, status::invalid},
         {sub, {0x7C00, 0x7C00}, 0x7E00, status::invalid},
         {sub, {0x7C00, 0xFBFF}, 0x7C00},
         {add, {0xFE05, 0x7E01}, 0xFE05},                   // the first NaN
         {add, {0x3C00, 0xFC05}, 0xFE05, status::invalid},  // quiet, payload and sign kept
         {sub, {0x3C00, 0x7E01}, 0x7E01},                   // a NaN is not negated
         {add, {0x7E00, 0x7C01}, 0x7E00, status::invalid},
         {mul, {0x3C01, 0x3C01}, 0x3C02, inexact},
         {mul, {0x8000, 0x3C00}, 0x8000},
         {mul, {0x7C00, 0x8000}, 0x7E00, status::invalid},
         {mul, {0x7C00, 0xBC00}, 0xFC00},
         {mul, {0x0001, 0x3800}, 0x0000, under},  // half the least: a tie, to zero
         {mul, {0x8001, 0x3801}, 0x8001, under},
         {mul, {0x7BFF, 0x3C01}, 0x7C00, over},
         {div, {0x3C00, 0x4200}, 0x3555, inexact},  // 1 / 3
         {div, {0x3C00, 0x8000}, 0xFC00, status::divide_by_zero},
         {div, {0x0000, 0x8000}, 0x7E00, status::invalid},
         {div, {0x7C00, 0x7C00}, 0x7E00, status::invalid},
         {div, {0x7C00, 0x8000}, 0xFC00},
         {div, {0xBC00, 0x7C00}, 0x8000},
         {div, {0x7C01, 0x0000}, 0x7E01, status::invalid},
         {rem, {0x4500, 0x4200}, 0xBC00},  // 5 - 2 * 3
         {rem, {0x4200, 0x4000}, 0xBC00},  // 3 / 2 is a tie: the even 2
         {rem, {0x3C00, 0x4000}, 0x3C00},  // 1 / 2 is a tie: the even 0
         {rem, {0xC400, 0x4000}, 0x8000},  // zero has the sign of x
         {rem, {0x7BFF, 0x0001}, 0x0000},
         {rem, {0x3C00, 0x7C00}, 0x3C00},
         {rem, {0x7C00, 0x3C00}, 0x7E00, status::invalid},
         {rem, {0x3C00, 0x0000}, 0x7E00, status::invalid},
         {rem, {0x8000, 0x3C00}, 0x8000},
         {sqrt, {0x4400}, 0x4000},
         {sqrt, {0x4000}, 0x3DA8, inexact},
         {sqrt, {0x0001}, 0x0C00},  // 2^-24
         {sqrt, {0x8000}, 0x8000},
         {sqrt, {0x8001}, 0x7E00, status::invalid},
         {sqrt, {0x7C00}, 0x7C00},
         {sqrt, {0xFC00}, 0x7E00, status::invalid},
         {fma, {0x3C01, 0x3C01, 0xBC02}, 0x0010},  // (1 + e)^2 - (1 + 2e) = e^2, all that is left
         {fma, {0x0000, 0x7C00, 0x7E05}, 0x7E05, status::invalid},
         {fma, {0x7C00, 0x8000, 0x3C00}, 0x7E00, status::invalid},
         {fma, {0x7C00, 0x3C00, 0xFC00}, 0x7E00, status::invalid},
         {fma, {0x3C00, 0x8000, 0x8000}, 0x8000},
         {fma, {0x3C00, 0x8000, 0x0000}, 0x0000},
         {fma, {0x7BFF, 0x7BFF, 0xFC00}, 0xFC00},  // the product is finite
         {fma, {0x0001, 0x0001, 0x3C00}, 0x3C00, inexact}});
  check(float16, {.direction = direction::toward_negative},
        {{add, {0x3C00, 0xBC00}, 0x8000},
         {add, {0x0000, 0x8000}, 0x8000},
         {sub, {0x0000, 0x0000}, 0x8000},
         {add, {0x0000, 0x0000}, 0x0000},
         {fma, {0x3C00, 0x3C00, 0xBC00}, 0x8000},
         {rem, {0x4400, 0x4000}, 0x0000},
         {mul, {0x0001, 0x0001}, 0x0000, under},
         {mul, {0x8001, 0x0001}, 0x8001, under},
         {div, {0x3C00, 0x0000}, 0x7C00, status::divide_by_zero},  // 7.3 knows no direction
         {add, {0x7BFF, 0x7BFF}, 0x7BFF, over}});
  check(float16, {.direction = direction::toward_positive},
        {{fma, {0x0001, 0x0001, 0x3C00}, 0x3C01, inexact}, {sqrt, {0x4000}, 0x3DA9, inexact}});
  check(float16, {.overflow = overflow_mode::saturate},
        {{add, {0x7BFF, 0x7BFF}, 0x7BFF, over},
         {add, {0x7C00, 0x3C00}, 0x7BFF, over},
         {div, {0xBC00, 0x0000}, 0xFBFF, status::divide_by_zero},
         {sub, {0x7C00, 0x7C00}, 0x7E00, status::invalid}});
  check(float16, {.daz = true},
        {{add, {0x0001, 0x0001}, 0x0000},
         {sub, {0x8001, 0x0001}, 0x8000},
         {mul, {0x03FF, 0x7C00}, 0x7E00, status::invalid},
         {div, {0x3C00, 0x8001}, 0xFC00, status::divide_by_zero},
         {div, {0x0001, 0x0001}, 0x7E00, status::invalid},
         {rem, {0x3C00, 0x0001}, 0x7E00, status::invalid},
         {sqrt, {0x8001}, 0x8000},
         {fma, {0x0001, 0x7BFF, 0x0400}, 0x0400},
         {sub, {0x0401, 0x0400}, 0x0001}});  // of operands, not of results
  check(float16, {.flush = flush::after_rounding},
        {{sub, {0x0400, 0x0401}, 0x8000, under}, {add, {0x0001, 0}, 0, under}});
  // 2^-14 - 2^-26, a tie between the largest number below 2^-14 of the format's precision and 2^-14, which is not tiny.
  check(float16, {}, {{fma, {0x0800, 0x8800, 0x0400}, 0x0400, inexact}});
  check(float16, {.tininess = tininess::before_rounding}, {{fma, {0x0800, 0x8800, 0x0400}, 0x0400, under}});

  // No infinity: what would be one is NaN. 448 is 7E.
  check(float8_e4m3fn, {},
        {{add, {0x7E, 0x7E}, 0x7F, over},
         {sub, {0xFE, 0x7E}, 0xFF, over},
         {div, {0x38, 0x00}, 0x7F, status::divide_by_zero},
         {div, {0x38, 0x80}, 0xFF, status::divide_by_zero},
         {div, {0x00, 0x00}, 0x7F, status::invalid},
         {add, {0xFF, 0x38}, 0xFF}});
  check(float8_e4m3fn, {.overflow = overflow_mode::saturate},
        {{add, {0x7E, 0x7E}, 0x7E, over}, {div, {0x38, 0x80}, 0xFE, status::divide_by_zero}});
  // No negative zero: what would be one is zero. NaN is 80.
  check(float8_e4m3fnuz, {},
        {{mul, {0x00, 0xC0}, 0x00},
         {mul, {0x81, 0x01}, 0x00, under},
         {add, {0x80, 0x40}, 0x80},
         {sub, {0x00, 0x00}, 0x00},
         {div, {0x40, 0x00}, 0x80, status::divide_by_zero},
         {sqrt, {0xC0}, 0x80, status::invalid},
         {add, {0x7F, 0x7F}, 0x80, over}});
  check(float8_e4m3fnuz, {.direction = direction::toward_negative}, {{sub, {0x40, 0x40}, 0x00}});
  // Neither: the largest number stands in. 1 is 0C, 28 is 1F.
  check(float6_e3m2, {},
        {{add, {0x1F, 0x1F}, 0x1F, over},
         {add, {0x3F, 0x3F}, 0x3F, over},
         {div, {0x0C, 0x20}, 0x3F, status::divide_by_zero},
         {div, {0x00, 0x00}, 0x1F, status::invalid},
         {sqrt, {0x2C}, 0x1F, status::invalid},
         {mul, {0x2C, 0x00}, 0x20}});
  // No subnormals: below 2^-31 (1 + 2^-9), code 1, is zero, in every direction.
  check(dlfloat16, {.direction = direction::toward_positive},
        {{sub, {0x0002, 0x0001}, 0x0000, under}, {mul, {0x0001, 0x3E00}, 0x0001}, {add, {0xFFFF, 0x3E00}, 0xFFFF}});
}

TEST_CASE("arithmetic is a constant expression") {
  STATIC_REQUIRE(add(float16, 0x3C00, 0x3C00).code == 0x4000);
  STATIC_REQUIRE(sub(bfloat16, 0x3F80, 0x3F80).code == 0);
  STATIC_REQUIRE(mul(cbfloat16, 0x3E00, 0xC000).code == 0xC000);
  STATIC_REQUIRE(div(float16, 0x3C00, 0x4200).code == 0x3555);
  STATIC_REQUIRE(rem(float16, 0x4500, 0x4200).code == 0xBC00);
  STATIC_REQUIRE(sqrt(float16, 0x4000).code == 0x3DA8);
  STATIC_REQUIRE(sqrt(binary64, decode(2.0)).code == std::bit_cast<std::uint64_t>(1.4142135623730951));
  STATIC_REQUIRE(fma(float16, 0x3C01, 0x3C01, 0xBC02).code == 0x0010);
  STATIC_REQUIRE(from_integer(float16, -3).code == 0xC200);
  STATIC_REQUIRE(to_integer<std::int32_t>(float16, 0xC200).value == -3);
  STATIC_REQUIRE(compare_quiet(float16, 0x3C00, 0x4000).order == std::partial_ordering::less);
}

TEST_CASE("all pairs of the formats below 8 bits, in every flush, DAZ, tininess, overflow and direction") {
  const std::vector<rounding> modes = every_rounding();
  for (const format& f : tiny_formats) {
    const std::uint64_t n = f.code_mask() + 1;
    const sweep_result all = on_all_processors(n, [&](sweep& s, std::uint64_t a) {
      for (std::uint64_t b = 0; b < n; ++b)
        for (const operation op : pair_operations) compare_with_oracle(s, op, f, {a, b, 0}, modes);
      compare_with_oracle(s, operation::sqrt, f, {a, 0, 0}, modes);
    });
    INFO(describe(f));
    CHECK(all.failures == "");
    CHECK(all.compared == (5 * n * n + n) * roundings);
  }
}

TEST_CASE("all triples of the formats below 8 bits") {
  const std::vector<rounding> modes = deterministic_roundings();
  for (const format& f : tiny_formats) {
    const std::uint64_t n = f.code_mask() + 1;
    const sweep_result all = on_all_processors(n * n, [&](sweep& s, std::uint64_t ab) {
      for (std::uint64_t c = 0; c < n; ++c) compare_with_oracle(s, operation::fma, f, {ab / n, ab % n, c}, modes);
    });
    INFO(describe(f));
    CHECK(all.failures == "");
    CHECK(all.compared == n * n * n * 6);
  }
}

// Strides that share no factor with 256 reach every code of each operand.
TEST_CASE("every 7th pair and every 509th triple of the 8-bit formats") {
  const std::vector<rounding> modes = deterministic_roundings();
  for (const format& f : eight_bit_formats) {
    sweep s;
    for (std::uint64_t ab = 0; ab < 0x10000; ab += 7)
      for (const operation op : pair_operations) compare_with_oracle(s, op, f, {ab >> 8, ab & 0xFF, 0}, modes);
    for (std::uint64_t a = 0; a < 0x100; ++a) compare_with_oracle(s, operation::sqrt, f, {a, 0, 0}, modes);
    for (std::uint64_t abc = 0; abc < 0x1000000; abc += 509)
      compare_with_oracle(s, operation::fma, f, {abc >> 16, (abc >> 8) & 0xFF, abc & 0xFF}, modes);
    CHECK(s.failures() == "");
  }
}

TEST_CASE("the wider formats") {
  const std::vector<rounding> directions = deterministic_roundings();
  const std::vector<rounding> all_modes = every_rounding();
  for (const format& f : {float16, bfloat16, cbfloat16, dlfloat16, tf32, binary32, binary64})
    for (const operation op : all_operations) {
      sweep s;
      // float64's integers have thousands of digits, and roots are slow.
      const int count = f.width() == 64 || op == operation::sqrt ? 4000 : f.width() == 16 ? 30000 : 10000;
      compare_aimed(s, op, f, {f, f, f}, directions, count, 1);
      compare_aimed(s, op, f, {f, f, f}, all_modes, count / 20, 2);
      INFO(describe(f) << ' ' << to_string(op));
      CHECK(s.failures() == "");
      CHECK(s.compared() == static_cast<std::uint64_t>(count * 6 + count / 20 * roundings));
    }
}

TEST_CASE("operands and results in different formats") {
  const std::vector<rounding> directions = deterministic_roundings();
  const std::vector<rounding> all_modes = every_rounding();
  for (const mix& m : mixes)
    for (const operation op : all_operations) {
      sweep s;
      compare_aimed(s, op, m.to, m.from, directions, 2000, 3);
      compare_aimed(s, op, m.to, m.from, all_modes, 100, 4);
      INFO(describe(m.to) << " from " << describe(m.from[0]) << ' ' << to_string(op));
      CHECK(s.failures() == "");
    }
}

TEST_CASE("stochastic rounding of exact results") {
  using enum stochastic_definition;
  const auto run = [](const format& to, const operand_formats& from, int count) {
    for (const operation op : all_operations) {
      sweep s;
      operand_source source{op, to, from, 5};
      sequence random{6};
      for (int i = 0; i < count; ++i) {
        const codes x = source.next();
        const auto more = static_cast<std::uint32_t>(random.next());
        for (const auto definition : {a, b, c})
          for (const int bits : {1, 13, 32}) compare_stochastic(s, op, to, from, x, stochastic(definition, bits), more);
        rounding flushing = stochastic(a, 8);
        flushing.flush = static_cast<flush>(i % 4);
        flushing.daz = i % 3 == 0;
        flushing.overflow = i % 5 == 0 ? overflow_mode::saturate : overflow_mode::ieee;
        flushing.tininess = i % 7 == 0 ? tininess::before_rounding : tininess::after_rounding;
        compare_stochastic(s, op, to, from, x, flushing, more);
      }
      INFO(describe(to) << " from " << describe(from[0]) << ' ' << to_string(op));
      CHECK(s.failures() == "");
    }
  };
  for (const format& f : {float16, bfloat16, cbfloat16}) run(f, {f, f, f}, 1000);
  for (const format& f : {dlfloat16, tf32, binary32, binary64, float8_e4m3fn, float8_e5m2fnuz}) run(f, {f, f, f}, 300);
  // The first and the last precision for which 64 bits of a quotient or root are one too few.
  for (const format& f : {format{8, 30, 127}, format{8, 31, 127}, format{8, 32, 127}}) run(f, {f, f, f}, 300);
  for (const mix& m : mixes) run(m.to, m.from, 100);
}

// Quotients whose first bits, and none of many after them, are those of a tie between two values of 32 random bits:
// only that they do not end there tells them from one. x 2^k = Q y + 1 for k bits of quotient is solved modulo y.
TEST_CASE("quotients that are all but a tie of definition C") {
  using detail::uint128;
  const rounding mode = stochastic(stochastic_definition::c, 32);
  for (const format& f : {float16, bfloat16, binary32, format{8, 30, 127}, format{8, 31, 127}, binary64}) {
    const int k = f.precision() + 33;
    sweep s;
    sequence random{21};
    int almost_ties = 0;
    for (int i = 0; i < 2000; ++i) {
      const std::uint64_t one = std::uint64_t{1} << f.fraction_bits;
      const std::uint64_t y = one | (random.next() & f.fraction_mask()) | 1;
      std::uint64_t x = 1;
      for (int n = 0; n < k; ++n) x = x % 2 == 0 ? x / 2 : (x + y) / 2;  // modulo y, y being odd
      if (x < one) continue;
      if (((uint128{x} << (k / 2)) % y << (k - k / 2)) % y != 1) s.expect(false, [] { return "not solved"; });
      ++almost_ties;
      const auto field = static_cast<std::uint64_t>(f.bias) << f.fraction_bits;
      compare_stochastic(s, operation::div, f, {f, f, f}, {field | (x - one), field | (y - one), 0}, mode,
                         static_cast<std::uint32_t>(random.next()));
    }
    INFO(describe(f));
    CHECK(s.failures() == "");
    CHECK(almost_ties > 100);
  }
}

// Squares and the numbers next to them, whose roots the processor, which gives a first guess, rounds to whole numbers.
TEST_CASE("roots next to whole numbers") {
  std::vector<rounding> modes = deterministic_roundings();
  sequence random{22};
  for (const format& f : {binary32, format{8, 31, 127}, format{8, 47, 127}, binary64}) {
    sweep s;
    for (int i = 0; i < 1000; ++i) {
      const double root = std::ldexp(static_cast<double>(random.next() >> 38), random.between(-30, 0));
      const std::uint64_t square = encode(f, root * root).code;
      for (const std::uint64_t x : {square - 1, square, square + 1}) {
        compare_with_oracle(s, operation::sqrt, f, {x, 0, 0}, modes);
        compare_stochastic(s, operation::sqrt, f, {f, f, f}, {x, 0, 0}, stochastic(stochastic_definition::c, 32), 0);
      }
    }
    INFO(describe(f));
    CHECK(s.failures() == "");
  }
}

// Products of a float64 and a float16 that are a tie but for their last bits, with addends at and below these.
TEST_CASE("ties of products of 62, 63 and 64 bits, with an addend far below") {
  const std::vector<rounding> modes = deterministic_roundings();
  const operand_formats from{binary64, float16, binary64};
  for (const format& f : {bfloat16, cbfloat16, float16, tf32, binary32}) {
    sweep s;
    sequence random{23};
    for (const int units : {-4, -3, -2, -1, 1, 2, 3, 4})
      for (int i = 0; i < 20; ++i) {
        const product_near_tie p{[&] { return random.next(); }, f.precision(), units};
        const std::uint64_t x = encode(binary64, random.one_in(2) ? p.x : -p.x).code;
        const std::uint64_t y = encode(float16, p.y).code;
        for (const int exponent : {-50, -61, -62, -63, -64, -65, -66, -90, -126, -127, -128, -200})
          for (const double z : {std::ldexp(1.0, exponent), -std::ldexp(1.0, exponent)}) {
            const codes operands{x, y, std::bit_cast<std::uint64_t>(z)};
            compare_with_oracle(s, operation::fma, f, from, operands, modes);
            compare_stochastic(s, operation::fma, f, from, operands, stochastic(stochastic_definition::c, 8), 0);
          }
      }
    INFO(describe(f));
    CHECK(s.failures() == "");
  }
}

// Sums, products and conversions that are all but a tie, with the bit that is beyond it at every distance.
TEST_CASE("results that are all but a tie of definition C") {
  const auto code = [](double x) { return std::bit_cast<std::uint64_t>(x); };
  const operand_formats from{binary64, binary64, binary64};
  for (const int bits : {1, 8, 32}) {
    const rounding mode = stochastic(stochastic_definition::c, bits);
    for (const format& f : {float16, bfloat16, binary32, binary64}) {
      sweep s;
      for (int more = 1; more <= 53; ++more)  // 53 is a tie
        for (const bool odd : {false, true}) {
          const double part = std::ldexp(1 + (more == 53 ? 0 : std::ldexp(1.0, -more)) + (odd ? 2 : 0), -bits - 1);
          const double tail = part * std::ldexp(1.0, -f.fraction_bits);
          compare_stochastic(s, operation::add, f, from, {code(1.0), code(tail), 0}, mode, 0);
          compare_stochastic(s, operation::sub, f, from, {code(4.0), code(tail), 0}, mode, 0);
          compare_stochastic(s, operation::fma, f, from, {code(tail), code(0.5), code(0.5)}, mode, 0);
          const double least = std::ldexp(part, f.min_quantum_exponent() / 2);
          const double scale = std::ldexp(1.0, f.min_quantum_exponent() - f.min_quantum_exponent() / 2);
          compare_stochastic(s, operation::mul, f, from, {code(least), code(scale), 0}, mode, 0);
          if (f != binary64) compare_stochastic(s, operation::convert, f, from, {code(least * scale), 0, 0}, mode, 0);
        }
      INFO(describe(f));
      CHECK(s.failures() == "");
    }
  }
}

// Random digits that just reach one and just do not, for results that are far longer than 128 bits.
TEST_CASE("all random bits of sums of operands far apart") {
  const rounding mode = stochastic(stochastic_definition::a, exact_probability);
  const auto run = [&](const format& to, const operand_formats& from, operation op, int count) {
    sweep s;
    operand_source source{op, to, from, 7};
    sequence random{8};
    int beyond_128_bits = 0;
    for (int i = 0; i < count; ++i) {
      const codes x = source.next();
      const oracle exact{op, to, values_of(from, x)};
      const std::array<unpacked, 3> operands{decode(from[0], x[0]), decode(from[1], x[1]), decode(from[2], x[2])};
      std::array<std::uint32_t, 140> words{};
      for (std::uint32_t& w : words) w = static_cast<std::uint32_t>(random.next());
      const auto compare = [&] {
        const random_input digits{words};
        const encoded got = library(op, to, operands, mode, digits);
        const encoded expected = exact(mode, digits);
        s.expect(same(got, expected), [&] { return describe(op, to, from, x, mode, got, expected); });
        return got.code;
      };
      compare();
      // The first digits at the edge: found by halving. Then the last digits decide, and then none.
      for (std::size_t word = 0; word < 6; ++word) {
        words[word] = 0;
        const std::uint64_t down = compare();
        std::uint32_t edge = 0;
        for (std::uint32_t bit = 0x80000000; bit != 0; bit >>= 1) {
          words[word] = edge | bit;
          if (exact(mode, random_input{words}).code == down) edge |= bit;
        }
        words[word] = edge;
        compare();
        if (word != 3) continue;
        std::fill(words.begin() + 4, words.end(), 0);
        const std::uint64_t zeros = compare();
        std::fill(words.begin() + 4, words.end(), 0xFFFFFFFF);
        if (compare() != zeros) ++beyond_128_bits;
      }
      words.fill(0xFFFFFFFF);
      compare();
      // The other directions do not care how many random bits there would be.
      for (const rounding& other : deterministic_roundings({.random_bits = exact_probability})) {
        const encoded got = library(op, to, operands, other);
        const encoded expected = exact(other);
        s.expect(same(got, expected), [&] { return describe(op, to, from, x, other, got, expected); });
      }
      const random_input one_word{static_cast<std::uint32_t>(random.next())};
      s.expect(same(library(op, to, operands, mode, one_word), exact(mode, one_word)), [] { return "one word"; });
    }
    INFO(describe(to) << ' ' << to_string(op));
    CHECK(s.failures() == "");
    return beyond_128_bits;
  };
  for (const operation op : {operation::add, operation::sub, operation::fma}) {
    CHECK(run(bfloat16, {bfloat16, bfloat16, bfloat16}, op, 800) > 30);
    run(float16, {float16, float16, float16}, op, 200);
    run(cbfloat16, {cbfloat16, cbfloat16, cbfloat16}, op, 200);
    run(float8_e4m3fn, {binary32, bfloat16, binary32}, op, 200);
    CHECK(run(binary64, {binary64, binary64, binary64}, op, 40) > 3);
  }
  for (const operation op : {operation::convert, operation::mul, operation::rem, operation::div, operation::sqrt}) {
    run(float16, {float16, float16, float16}, op, 100);
    run(bfloat16, {binary64, binary64, binary64}, op, 100);
    run(binary64, {binary64, binary64, binary64}, op, 40);
  }
}

TEST_CASE("every code of up to 8 bits, and every 17th of 16, to every format of the catalogue") {
  const std::vector<rounding> modes = deterministic_roundings();
  for (const catalog_entry& from : format_catalog())
    for (const catalog_entry& to : format_catalog()) {
      if (from.format.width() > 16) continue;
      sweep s;
      for (std::uint64_t code = 0; code <= from.format.code_mask(); code += from.format.width() > 8 ? 17 : 1) {
        const oracle exact{operation::convert, to.format, {value_of(from.format, code), {}, {}}};
        for (const rounding& mode : modes) {
          const encoded got = convert(to.format, from.format, code, mode);
          const encoded expected = exact(mode);
          s.expect(same(got, expected), [&] {
            return describe(operation::convert, to.format, {from.format, from.format, from.format}, {code, 0, 0}, mode,
                            got, expected);
          });
        }
      }
      INFO(from.name << " to " << to.name);
      CHECK(s.failures() == "");
    }
}

TEST_CASE("codes to integers") {
  const auto run = [](const format& from, const std::vector<std::uint64_t>& all) {
    std::vector<rounding> modes = deterministic_roundings();
    for (const auto definition : {stochastic_definition::a, stochastic_definition::b, stochastic_definition::c})
      for (const int bits : {1, 3, 32}) modes.push_back(stochastic(definition, bits));
    modes.push_back(stochastic(stochastic_definition::a, exact_probability));
    modes.push_back({.direction = direction::toward_positive, .daz = true});
    modes.push_back({.overflow = overflow_mode::saturate, .flush = flush::before_rounding});  // without effect
    sequence random{9};
    sweep s;
    for (const std::uint64_t code : all) {
      const exact_value x = value_of(from, code);
      for (const rounding& mode : modes) {
        const auto bits = static_cast<std::uint32_t>(random.next());
        const std::uint32_t r = mode.random_bits == exact_probability ? bits : bits >> (32 - mode.random_bits);
        const auto got32 = to_integer<std::int32_t>(from, code, mode, r);
        const auto got64 = to_integer<std::int64_t>(from, code, mode, r);
        const auto expected32 = oracle_to_integer(x, 32, mode, r);
        const auto expected64 = oracle_to_integer(x, 64, mode, r);
        const auto unsigned64 = to_integer<std::uint64_t>(from, code, mode, r);
        const auto expected = oracle_to_unsigned(x, 64, mode, r);
        s.expect(unsigned64.value == expected.value && unsigned64.flags == expected.flags,
                 [&] { return "unsigned " + describe(encoded{code}) + ' ' + std::to_string(unsigned64.value); });
        s.expect(got32.value == expected32.value && got32.flags == expected32.flags &&
                     got64.value == expected64.value && got64.flags == expected64.flags,
                 [&] {
                   return describe(from) + ' ' + describe(encoded{code}) + ' ' + describe(mode) + ": " +
                          std::to_string(got32.value) + ' ' + std::to_string(got64.value);
                 });
      }
    }
    INFO(describe(from));
    CHECK(s.failures() == "");
  };
  const auto codes_of = [](const format& f, std::uint64_t stride) {
    std::vector<std::uint64_t> all;
    for (std::uint64_t code = 0; code <= f.code_mask(); code += stride) all.push_back(code);
    return all;
  };
  for (const format& f : tiny_formats) run(f, codes_of(f, 1));
  for (const format& f : eight_bit_formats) run(f, codes_of(f, 1));
  run(float8_e8m0, codes_of(float8_e8m0, 1));
  for (const format& f : {float16, bfloat16, cbfloat16, dlfloat16}) run(f, codes_of(f, 3));
  // Halves and quarters, and the neighbours of the ends of both ranges, of float and double.
  std::vector<std::uint64_t> floats;
  std::vector<std::uint64_t> doubles;
  for (const double end : {0.0, 1.0, 2.0, 0x1p23, 0x1p24, 0x1p31, 0x1p32, 0x1p52, 0x1p53, 0x1p62, 0x1p63, 0x1p64})
    for (int quarters = -12; quarters <= 12; ++quarters)
      for (const double sign : {-1.0, 1.0}) {
        const double x = sign * (end + quarters / 4.0);
        for (const double y : {std::nextafter(x, -HUGE_VAL), x, std::nextafter(x, HUGE_VAL)})
          doubles.push_back(std::bit_cast<std::uint64_t>(y));
        const auto narrow = static_cast<float>(x);
        for (const float y : {std::nextafter(narrow, -HUGE_VALF), narrow, std::nextafter(narrow, HUGE_VALF)})
          floats.push_back(std::bit_cast<std::uint32_t>(y));
      }
  sequence random{10};
  for (int i = 0; i < 20000; ++i) {
    // Any fraction, and one with a few bits, in the binades that integers have.
    const std::uint64_t field = 1023 - 3 + static_cast<std::uint64_t>(random.below(70));
    const std::uint64_t fraction = random.next() >> 12;
    const std::uint64_t sign = random.next() >> 63 << 63;
    doubles.push_back(sign | field << 52 | (i % 2 == 0 ? fraction : fraction & ~(0xFFFFFFFFFFFFF >> random.below(53))));
  }
  doubles.push_back(0x7FF0000000000000);
  doubles.push_back(0xFFF0000000000000);
  doubles.push_back(0x7FF0000000000001);
  run(binary32, floats);
  run(binary64, doubles);
  CHECK(to_integer<std::int32_t>(float16, 0x7E00).value == 0);
  CHECK(to_integer<std::int32_t>(float16, 0xFC00).value == std::numeric_limits<std::int32_t>::min());
  CHECK(to_integer<std::int64_t>(bfloat16, 0xDF00).flags == status::none);  // -2^63
  CHECK(to_integer<std::int64_t>(bfloat16, 0x5F00).flags == status::invalid);
}

TEST_CASE("integers to codes") {
  std::vector<std::int64_t> integers{std::numeric_limits<std::int64_t>::min(),
                                     std::numeric_limits<std::int64_t>::max()};
  for (int bit = 0; bit < 63; ++bit)
    for (std::int64_t more = -3; more <= 3; ++more)
      for (const std::int64_t sign : {-1, 1}) integers.push_back(sign * ((std::int64_t{1} << bit) + more));
  sequence random{11};
  for (int i = 0; i < 2000; ++i) {
    const auto any = static_cast<std::int64_t>(random.next());
    integers.push_back(any >> random.below(64));
    // A few leading bits and zeros: exact values and ties.
    integers.push_back((any >> 52) * (std::int64_t{1} << random.below(50)));
  }
  std::vector<rounding> modes = deterministic_roundings();
  modes.push_back({.overflow = overflow_mode::saturate});
  for (const auto definition : {stochastic_definition::a, stochastic_definition::b, stochastic_definition::c})
    for (const int bits : {1, 13, 32}) modes.push_back(stochastic(definition, bits));
  modes.push_back(stochastic(stochastic_definition::a, exact_probability));
  for (const catalog_entry& to : format_catalog()) {
    sweep s;
    for (const std::int64_t n : integers)
      for (const rounding& mode : modes) {
        const auto bits = static_cast<std::uint32_t>(random.next());
        const std::uint32_t r = mode.random_bits == exact_probability ? bits : bits >> (32 - mode.random_bits);
        const encoded got = from_integer(to.format, n, mode, r);
        const encoded expected = oracle_round(to.format, value_of_integer(n), mode, r);
        s.expect(same(got, expected), [&] {
          return std::to_string(n) + ' ' + describe(mode) + ": " + describe(got) + ", expected " + describe(expected);
        });
      }
    INFO(to.name);
    CHECK(s.failures() == "");
  }
}

TEST_CASE("comparisons") {
  const auto compare = [](sweep& s, const format& f, std::uint64_t a, std::uint64_t b) {
    for (const bool daz : {false, true}) {
      exact_value x = value_of(f, a);
      exact_value y = value_of(f, b);
      for (exact_value* z : {&x, &y})
        if (daz && z->subnormal) *z = {.negative = z->negative};
      const std::partial_ordering order = oracle_compare(x, y);
      const bool unordered = order == std::partial_ordering::unordered;
      const comparison quiet = compare_quiet(f, a, b, daz);
      const comparison signaling = compare_signaling(f, a, b, daz);
      s.expect(quiet.order == order && signaling.order == order &&
                   quiet.flags == (x.signaling || y.signaling ? status::invalid : status::none) &&
                   signaling.flags == (unordered ? status::invalid : status::none),
               [&] { return describe(f) + ' ' + describe(encoded{a}) + ", " + describe(encoded{b}); });
    }
  };
  const auto all_pairs = [&](const format& f) {
    sweep s;
    for (std::uint64_t a = 0; a <= f.code_mask(); ++a)
      for (std::uint64_t b = 0; b <= f.code_mask(); ++b) compare(s, f, a, b);
    INFO(describe(f));
    CHECK(s.failures() == "");
  };
  for (const format& f : tiny_formats) all_pairs(f);
  for (const format& f : eight_bit_formats) all_pairs(f);
  all_pairs(float8_e8m0);
  for (const format& f : {float16, bfloat16, cbfloat16, dlfloat16, tf32, binary32, binary64}) {
    sweep s;
    operand_source source{operation::sub, f, {f, f, f}, 12};
    for (int i = 0; i < 20000; ++i) {
      const codes x = source.next();
      compare(s, f, x[0], x[1]);
      compare(s, f, x[0], x[0]);
      compare(s, f, x[0], x[0] ^ f.sign_mask());
      compare(s, f, x[0], x[0] ^ 1);
    }
    INFO(describe(f));
    CHECK(s.failures() == "");
  }
}
