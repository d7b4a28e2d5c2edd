// Pins what the checker for other people's functions compares and reports, and that threads do not change it.
#include <ulp/formats/check.hpp>

#include <atomic>
#include <bit>
#include <limits>
#include <span>
#include <sstream>
#include <stdexcept>
#include <vector>

#include <ulp/formats/arithmetic.hpp>
#include <ulp/formats/catalog.hpp>
#include <ulp/formats/functions.hpp>
#include <ulp/formats/names.hpp>

#include "support/catch.hpp"

using namespace ulp;

namespace {

// The usual hand-written conversion of float codes; right.
std::uint16_t to_bfloat16(std::uint32_t x) {
  if ((x & 0x7FFFFFFF) > 0x7F800000) return static_cast<std::uint16_t>(x >> 16 | 0x40);
  return static_cast<std::uint16_t>((x + 0x7FFF + (x >> 16 & 1)) >> 16);
}

encoded add_float16(std::uint64_t a, std::uint64_t b) { return add(float16, a, b); }

}  // namespace

TEST_CASE("what is right agrees, whatever the callable looks like") {
  const auto converted = check(operation::convert, bfloat16, binary32, check_inputs::level_2, to_bfloat16);
  CHECK(converted.agrees());
  CHECK(converted.compared > 20'000);
  CHECK_FALSE(converted.flags);
  CHECK(converted.text().find(" inputs, all agree\n") != std::string::npos);

  const auto added = check(operation::add, float16, check_inputs::level_1, add_float16);
  CHECK(added.agrees());
  CHECK(added.flags);

  // A signed code is taken as its bits.
  const auto signed_codes = [](std::int16_t a) { return static_cast<std::int16_t>(a); };
  CHECK(check(operation::convert, float16, check_inputs::all, signed_codes).agrees());
  const auto generic = [](auto a, auto b, auto c) { return evaluate(operation::fma, bfloat16, bfloat16, {a, b, c}); };
  CHECK(check(operation::fma, bfloat16, check_inputs::level_1, generic).agrees());
}

TEST_CASE("functions from and to integers, and comparisons, are checked as they are written") {
  const auto from = [](std::int32_t n) { return from_integer(float16, n); };
  CHECK(check(operation::from_i32, float16, check_inputs::level_2, from).agrees());
  const auto less = [](std::uint16_t a, std::uint16_t b) { return compare_quiet(float16, a, b).order < 0; };
  CHECK(check(operation::lt, float16, check_inputs::level_1, less).agrees());
  const auto less_as_integers = [](std::uint16_t a, std::uint16_t b) { return a < b; };
  CHECK_FALSE(check(operation::lt, float16, check_inputs::level_1, less_as_integers).agrees());

  // As x86 does it: the least integer where there is none.
  const auto to = [](std::uint16_t a) -> std::int32_t {
    const auto n = to_integer<std::int32_t>(bfloat16, a);
    return n.flags == status::invalid ? std::numeric_limits<std::int32_t>::min() : n.value;
  };
  CHECK(check(operation::to_i32, bfloat16, check_inputs::all, to).agrees());
  CHECK_FALSE(check(operation::to_i32, bfloat16, check_inputs::all, to, {.nan_codes = true}).agrees());
  const auto wrong = [&](std::uint16_t a) { return a == 0x4010 ? 3 : to(a); };  // 2.25
  CHECK(check(operation::to_i32, bfloat16, check_inputs::all, wrong).text() ==
        "to_i32 to bfloat16, nearest-even: 65,536 inputs, 1 disagrees:\n"
        "input 16,400\n"
        "  operands  4010 = 2.25\n"
        "  exactly   2.25\n"
        "  expected  00000002 = 2\n"
        "  got       00000003 = 3\n");
  // Flags of integers: inexact where it is asked for.
  const auto exact = [](std::uint16_t a) { return rint(float16, a); };
  CHECK(check(operation::rint, float16, check_inputs::all, exact, {.exact = true}).agrees());
  CHECK_FALSE(check(operation::rint, float16, check_inputs::all, exact).agrees());
  CHECK_THROWS_AS(check(operation::rint, float16, bfloat16, check_inputs::level_1, exact), std::invalid_argument);

  const auto product = [](std::uint16_t a, std::uint16_t b, std::uint32_t c) {
    return fma(binary32, decode(float16, a), decode(float16, b), decode(binary32, c));
  };
  CHECK(check(operation::mac, binary32, float16, check_inputs::level_1, product).agrees());
}

TEST_CASE("stochastic rounding gets its random bits after the operands") {
  for (const int bits : {4, 32, exact_probability}) {
    const rounding mode{.direction = direction::stochastic, .random_bits = bits};
    const auto mine = [&](std::uint16_t a, std::uint16_t b, std::uint32_t random) {
      return mul(float16, a, b, mode, random);
    };
    const auto report = check(operation::mul, float16, check_inputs::level_1, mine, {.rounding = mode, .seed = 7});
    CHECK(report.agrees());
    const auto deaf = [&](std::uint16_t a, std::uint16_t b, std::uint32_t) { return mul(float16, a, b, mode, 0); };
    CHECK_FALSE(check(operation::mul, float16, check_inputs::level_1, deaf, {.rounding = mode}).agrees());
  }
}

TEST_CASE("recorded random bits are used as they are, and again where they end") {
  const rounding mode{.direction = direction::stochastic, .random_bits = 3};
  const std::vector<std::uint32_t> recorded{7, 0, 5, 2, 2};
  std::atomic<std::uint64_t> wrong{0};
  // The inputs are all codes in order: the operand is the index.
  const auto mine = [&](std::uint16_t a, std::uint32_t random) {
    if (random != recorded[a % recorded.size()]) ++wrong;
    return encode(float8_e5m2, decode(float16, a), mode, random);
  };
  CHECK(check(operation::convert, float8_e5m2, float16, check_inputs::all, mine, {.rounding = mode, .random = recorded})
            .agrees());
  CHECK(wrong == 0);
  const std::vector<std::uint32_t> large{7, 8};
  CHECK_THROWS_WITH(
      check(operation::convert, float8_e5m2, float16, check_inputs::all, mine, {.rounding = mode, .random = large}),
      "ulp::check: the recorded random number 1, 8, is not below 2^3");
}

TEST_CASE("a batch is a block of inputs, and its report that of single ones") {
  const auto hasty = [](std::uint32_t x) { return static_cast<std::uint16_t>((x + 0x8000) >> 16); };
  const auto single = check(operation::convert, bfloat16, binary32, check_inputs::level_2, hasty, {.keep = 5});
  CHECK(single.disagreeing > 0);
  for (const std::size_t block : {std::size_t{1}, std::size_t{7}, std::size_t{1} << 14, std::size_t{1} << 22})
    for (const unsigned threads : {1u, 3u}) {
      CAPTURE(block, threads);
      std::atomic<std::uint64_t> inputs{0};
      std::atomic<bool> shapes{true};
      const auto batch = [&](std::span<const operand_codes> operands, std::span<const std::uint32_t> random,
                             std::span<encoded> results) {
        inputs += operands.size();
        if (operands.size() > block || results.size() != operands.size() || !random.empty()) shapes = false;
        for (std::size_t i = 0; i < operands.size(); ++i)
          results[i].code = hasty(static_cast<std::uint32_t>(operands[i][0]));
      };
      const auto report = check_batch(operation::convert, bfloat16, binary32, check_inputs::level_2, batch,
                                      {.flags = false, .keep = 5, .threads = threads, .block = block});
      CHECK(report.text() == single.text());
      CHECK(inputs == single.compared);
      CHECK(shapes);
    }

  // Flags count, random bits come with the operands, and what is not written is wrong.
  const rounding mode{.direction = direction::stochastic, .random_bits = 8};
  const auto right = [&](std::span<const operand_codes> operands, std::span<const std::uint32_t> random,
                         std::span<encoded> results) {
    for (std::size_t i = 0; i < operands.size(); ++i)
      results[i] = mul(float16, operands[i][0], operands[i][1], mode, random[i]);
  };
  const auto level = check_inputs::level_1;
  CHECK(check_batch(operation::mul, float16, float16, level, right, {.rounding = mode, .seed = 3}).agrees());
  const auto without_flags = [&](auto operands, auto random, auto results) {
    right(operands, random, results);
    for (encoded& e : results) e.flags = status::none;
  };
  CHECK_FALSE(check_batch(operation::mul, float16, float16, level, without_flags, {.rounding = mode}).agrees());
  const auto idle = [](auto, auto, auto) {};
  const auto none = check_batch(operation::mul, float16, float16, level, idle, {.flags = false});
  CHECK(none.disagreeing == none.compared);
  CHECK_THROWS_AS(check_batch(operation::mul, float16, float16, level, {}), std::invalid_argument);
  CHECK_THROWS_AS(check_batch(operation::mul, float16, float16, level, right, {.rounding = mode, .block = 0}),
                  std::invalid_argument);
}

TEST_CASE("the first disagreements are reported in order, the same for every number of threads") {
  // Wrong where a factor is 1 and the last four bits of the addend are 0: 64 x 4 times, over several blocks of inputs.
  const auto mine = [](std::uint8_t a, std::uint8_t b, std::uint8_t c) {
    encoded e = fma(float6_e3m2, a, b, c);
    if (b == 0x0C && c % 16 == 0) e.code ^= 1;
    return e;
  };
  std::string text;
  for (const unsigned threads : {1u, 2u, 3u, 8u, 0u}) {
    const auto report = check(operation::fma, float6_e3m2, check_inputs::all, mine, {.keep = 3, .threads = threads});
    CHECK(report.compared == 1 << 18);
    CHECK(report.disagreeing == 256);
    REQUIRE(report.first.size() == 3);
    CHECK(report.first[0].index == 0x300);
    CHECK(report.first[0].operands == operand_codes{0x00, 0x0C, 0x00});
    CHECK(report.first[1].operands == operand_codes{0x00, 0x0C, 0x10});
    CHECK(report.first[2].operands == operand_codes{0x00, 0x0C, 0x20});
    CHECK(report.first[0].expected.code == 0x00);
    CHECK(report.first[0].got.code == 0x01);
    if (text.empty()) text = report.text();
    CHECK(report.text() == text);
  }
}

TEST_CASE("the report explains a disagreement") {
  // Half-way cases go up instead of to even.
  const auto mine = [](std::uint32_t x) -> std::uint16_t {
    if ((x & 0x7FFFFFFF) > 0x7F800000) return 0x7FC0;
    return static_cast<std::uint16_t>((x + 0x8000) >> 16);
  };
  const auto report = check(operation::convert, bfloat16, binary32, check_inputs::level_1, mine, {.keep = 1});
  REQUIRE(report.first.size() == 1);
  CHECK_FALSE(report.agrees());
  disagreement d{.index = 41, .operands = {0x3F808000}, .expected = {0x3F80, status::inexact}, .got = {0x3F81}};
  CHECK(to_string(operation::convert, bfloat16, binary32, {}, d, false) ==
        "  operands  3F808000 = 1.00390625\n"
        "  exactly   1.00390625\n"
        "  that is   half way between 3F80 and 3F81\n"
        "  expected  3F80 = 1\n"
        "  got       3F81 = 1.0078125\n");
  d.got = {0x23F81, status::none};
  CHECK(to_string(operation::convert, bfloat16, binary32, {}, d, true) ==
        "  operands  3F808000 = 1.00390625\n"
        "  exactly   1.00390625\n"
        "  that is   half way between 3F80 and 3F81\n"
        "  expected  3F80 = 1  (inexact)\n"
        "  got       23F81 = more than the 16 bits of a code  (no flags)\n");
  d = {.operands = {0x3C00, 0x4200}, .random = 5, .expected = {0x3555, status::inexact}, .got = {0x7C01}};
  const rounding stochastic{.direction = direction::stochastic, .random_bits = 12};
  CHECK(to_string(operation::div, float16, float16, stochastic, d, false) ==
        "  operands  3C00 = 1\n"
        "            4200 = 3\n"
        "  exactly   ~ 0.33333333333333333\n"
        "  that is   333/1000 of the way from 3555 to 3556\n"
        "  discarded 555 of 2^12 and a rest\n"
        "  random    005\n"
        "  expected  3555 = 0.333251953125\n"
        "  got       7C01 = signaling NaN\n");

  std::ostringstream out;
  out << report;
  CHECK(out.str() == report.text());
  CHECK(out.str().starts_with("convert to bfloat16 from float32, nearest-even: "));
  CHECK(out.str().find(" disagree, the first:\ninput ") != std::string::npos);
}

TEST_CASE("what lies half way is told from what lies 2^-100 beyond") {
  const auto place = [](double far) {
    const disagreement d{.operands = {std::bit_cast<std::uint64_t>(1 + 0x1p-11), std::bit_cast<std::uint64_t>(far)}};
    return to_string(operation::add, float16, binary64, {}, d, false);
  };
  CHECK(place(0).find("  that is   half way between 3C00 and 3C01\n") != std::string::npos);
  CHECK(place(0x1p-100).find("  that is   just beyond half way between 3C00 and 3C01\n") != std::string::npos);
  CHECK(place(-0x1p-40).find("  that is   just short of half way between 3C00 and 3C01\n") != std::string::npos);
}

TEST_CASE("the report names the format and the rounding that were used") {
  const format odd = *find_format("e4m3,bias=30,specials=none");
  const rounding mode{.direction = direction::toward_zero,
                      .overflow = overflow_mode::saturate,
                      .flush = flush::after_rounding,
                      .daz = true,
                      .tininess = tininess::before_rounding};
  const auto mine = [&](std::uint32_t x) { return encode(odd, decode(binary32, x), mode); };
  const auto report = check(operation::convert, odd, binary32, check_inputs::level_1, mine, {.rounding = mode});
  CHECK(
      report.text().starts_with("convert to e4m3,bias=30,specials=none from float32, toward-zero, saturating, ftz "
                                "after, daz, tininess before: "));
  CHECK(in_full({}) == "nearest-even");
  CHECK(in_full({.flush = flush::before_rounding}) == "nearest-even, ftz before");
  CHECK(in_full({.direction = direction::stochastic, .flush = flush::result}) == "stochastic:A,bits=32, ftz result");
}

TEST_CASE("long values are cut and marked") {
  const auto exactly = [](const format& f, operation op, const operand_codes& operands) {
    const std::string text = to_string(op, f, f, {}, {.operands = operands}, false);
    const std::size_t at = text.find("exactly") + 10;
    return text.substr(at, text.find('\n', at) - at);
  };
  CHECK(exactly(float16, operation::mul, {0x0001, 0x8001}) == "~ -3.5527136788005009e-15");
  CHECK(exactly(binary64, operation::convert, {0x7FEFFFFFFFFFFFFF}) == "~ 1.7976931348623157e308");
  CHECK(exactly(float16, operation::sqrt, {0x4000}) == "~ 1.4142135623730950");
  CHECK(exactly(float16, operation::add, {0x3C00, 0x0001}) == "~ 1.0000000596046447");
  CHECK(exactly(float16, operation::mul, {0x7BFF, 0x7BFF}) == "4290774016");
}

TEST_CASE("flags are compared where they are returned, unless they are not wanted") {
  const auto no_flags = [](std::uint64_t a, std::uint64_t b) -> encoded { return {add(float16, a, b).code, {}}; };
  CHECK_FALSE(check(operation::add, float16, check_inputs::level_1, no_flags).agrees());
  CHECK(check(operation::add, float16, check_inputs::level_1, no_flags, {.flags = false}).agrees());
}

TEST_CASE("a NaN agrees with every NaN, unless codes are asked for") {
  const auto other_nan = [](std::uint64_t a) {
    encoded e = ulp::sqrt(float16, a);
    if (decode(float16, e.code).kind == number_class::nan) e.code = 0xFFFF;
    return e;
  };
  CHECK(check(operation::sqrt, float16, check_inputs::all, other_nan).agrees());
  CHECK_FALSE(check(operation::sqrt, float16, check_inputs::all, other_nan, {.nan_codes = true}).agrees());
  CHECK(same_result(float8_e4m3fn, 0x7F, 0xFF));
  CHECK(same_result(float8_e4m3fn, 0x7F, 0x7F, true));
  CHECK_FALSE(same_result(float16, 0x7E00, 0x17E00));
  CHECK_FALSE(same_result(float16, 0x0000, 0x8000));
}

TEST_CASE("what cannot be checked is said") {
  const auto one = [](std::uint64_t a) { return a; };
  CHECK_THROWS_AS(check(operation::add, float16, check_inputs::level_1, one), std::invalid_argument);
  CHECK_THROWS_AS(check(operation::convert, float16, binary64, check_inputs::all, one), std::invalid_argument);
  CHECK_THROWS_AS(check(operation::sqrt, float8_e8m0, check_inputs::level_1, one), std::invalid_argument);
  const auto fails = [](std::uint64_t a) -> std::uint64_t {
    if (a == 0x1234) throw std::out_of_range("of mine");
    return a;
  };
  CHECK_THROWS_AS(check(operation::convert, float16, check_inputs::all, fails, {.threads = 3}), std::out_of_range);
  CHECK_FALSE(check_report{}.agrees());
}
