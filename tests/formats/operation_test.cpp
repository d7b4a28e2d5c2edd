// Pins that an operation chosen by name is the function of that name, and what exact_result says.
#include <ulp/formats/operation.hpp>

#include <ulp/formats/arithmetic.hpp>
#include <ulp/formats/catalog.hpp>
#include <ulp/formats/names.hpp>
#include <ulp/formats/text.hpp>

#include <array>
#include <utility>
#include <vector>

#include <ulp/formats/vectors.hpp>

#include "formats/sweep.hpp"
#include "support/catch.hpp"
#include "support/oracle.hpp"

using namespace ulp;
using namespace ulp::test;

TEST_CASE("operations are read by their names, and two by TestFloat's") {
  REQUIRE(operation_names().size() == 24);
  for (const std::string_view name : operation_names()) {
    const auto op = parse_operation(name);
    REQUIRE(op);
    CHECK(to_string(*op) == name);
  }
  CHECK(parse_operation("mulAdd") == operation::fma);
  CHECK(parse_operation("roundToInt") == operation::rint);
  CHECK_FALSE(parse_operation(""));
  CHECK_FALSE(parse_operation("ad"));
  CHECK_FALSE(parse_operation("ADD"));
  CHECK(operand_count(operation::sqrt) == 1);
  CHECK(operand_count(operation::convert) == 1);
  CHECK(operand_count(operation::rem) == 2);
  CHECK(operand_count(operation::fma) == 3);
}

TEST_CASE("formats without sign and zero have conversions only") {
  CHECK(is_defined(operation::convert, float8_e8m0, float16));
  CHECK(is_defined(operation::convert, float16, float8_e8m0));
  CHECK_FALSE(is_defined(operation::add, float8_e8m0, float8_e8m0));
  CHECK_FALSE(is_defined(operation::mul, float16, float8_e8m0));
  CHECK(is_defined(operation::fma, float8_e4m3fnuz, float16));
}

TEST_CASE("the addend of mac has the format of the result, all other operands that of the operands") {
  for (const int i : {0, 1, 2}) {
    CHECK(operand_format(operation::mac, float32, float16, i) == (i == 2 ? float32 : float16));
    CHECK(operand_width(operation::mac, float32, float16, i) == (i == 2 ? 32 : 16));
    CHECK(operand_format(operation::fma, float32, float16, i) == float16);
  }
}

TEST_CASE("an operation is the function of its name") {
  const rounding up{.direction = direction::toward_positive, .daz = true, .tininess = tininess::before_rounding};
  const std::uint64_t codes[] = {0x0001, 0x3C00, 0x3C01, 0xC248, 0x7BFF, 0x7C00, 0xFE00, 0x8000};
  std::size_t wrong = 0;
  for (const rounding& mode : {rounding{}, up})
    for (const std::uint64_t a : codes)
      for (const std::uint64_t b : codes)
        for (const std::uint64_t c : codes) {
          const auto x = decode(float16, a);
          const auto y = decode(float16, b);
          const auto is = [&](operation op, const encoded& expected) {
            const encoded e = evaluate(op, bfloat16, float16, {a, b, c}, mode);
            wrong += e.code != expected.code || e.flags != expected.flags ? 1 : 0;
          };
          is(operation::add, add(bfloat16, x, y, mode));
          is(operation::sub, sub(bfloat16, x, y, mode));
          is(operation::mul, mul(bfloat16, x, y, mode));
          is(operation::div, div(bfloat16, x, y, mode));
          is(operation::rem, rem(bfloat16, x, y, mode));
          is(operation::sqrt, ulp::sqrt(bfloat16, x, mode));
          is(operation::fma, ulp::fma(bfloat16, x, y, decode(float16, c), mode));
          is(operation::convert, encode(bfloat16, x, mode));
        }
  CHECK(wrong == 0);
}

TEST_CASE("operations on integers, comparisons and mixed formats equal the oracle") {
  std::vector<std::uint64_t> codes{0x0000, 0x0001, 0x03FF, 0x0400, 0x3800, 0x3801, 0x3C00, 0x3E00, 0x4100,
                                   0x4248, 0x63FF, 0x6400, 0x7BFF, 0x7C00, 0x7C01, 0x7E00, 0x7DFF, 0x5A41};
  for (std::size_t i = codes.size(); i-- > 0;) codes.push_back(codes[i] | 0x8000);
  std::size_t wrong = 0;
  const auto is = [&](operation op, const format& to, const format& from, const operand_codes& x, const rounding& mode,
                      const encoded& expected) {
    const encoded got = evaluate(op, to, from, x, mode);
    if (got.code == expected.code && got.flags == expected.flags) return;
    if (++wrong <= 5) UNSCOPED_INFO(to_string(op) << ' ' << x[0] << ' ' << x[1] << ": " << got.code);
  };
  for (const direction way : deterministic)
    for (const bool daz : {false, true}) {
      const rounding mode{.direction = way, .daz = daz};
      for (std::uint64_t a = 0; a < 0x10000; ++a) {
        const exact_value x = value_of(float16, a);
        for (const int bits : {32, 64}) {
          const auto n = oracle_to_integer(x, bits, mode);
          const auto u = oracle_to_unsigned(x, bits, mode);
          is(bits == 32 ? operation::to_i32 : operation::to_i64, float16, float16, {a}, mode,
             {static_cast<std::uint64_t>(n.value) & mask_of_bits(bits), n.flags});
          is(bits == 32 ? operation::to_ui32 : operation::to_ui64, float16, float16, {a}, mode, {u.value, u.flags});
        }
      }
      // bfloat16 goes beyond all integers: every exponent, beside the ends of their ranges too.
      for (std::uint64_t a = 0; a < 0x10000; a += 3)
        for (const int bits : {32, 64}) {
          const auto n = oracle_to_integer(value_of(bfloat16, a), bits, mode);
          const auto u = oracle_to_unsigned(value_of(bfloat16, a), bits, mode);
          is(bits == 32 ? operation::to_i32 : operation::to_i64, bfloat16, bfloat16, {a}, mode,
             {static_cast<std::uint64_t>(n.value) & mask_of_bits(bits), n.flags});
          is(bits == 32 ? operation::to_ui32 : operation::to_ui64, bfloat16, bfloat16, {a}, mode, {u.value, u.flags});
        }
      for (const operation op : {operation::from_ui32, operation::from_ui64, operation::from_i32, operation::from_i64})
        for_each_vector(op, float16, float16, 1, 0, [&](std::span<const operand_codes> some) {
          for (const operand_codes& v : some) {
            const exact_value x = op == operation::from_i32   ? value_of_integer(static_cast<std::int32_t>(v[0]))
                                  : op == operation::from_i64 ? value_of_integer(static_cast<std::int64_t>(v[0]))
                                                              : value_of_unsigned(v[0]);
            is(op, float16, float16, v, mode, oracle_round(float16, x, mode));
            is(op, binary32, binary32, v, mode, oracle_round(binary32, x, mode));
          }
        });
      for (const std::uint64_t a : codes)
        for (const std::uint64_t b : codes) {
          const auto as_compared = [&](std::uint64_t code) {
            exact_value v = value_of(float16, code);
            return daz && v.subnormal ? exact_value{.negative = v.negative} : v;
          };
          const exact_value x = as_compared(a);
          const exact_value y = as_compared(b);
          const auto order = oracle_compare(x, y);
          const bool nan = x.kind == number_class::nan || y.kind == number_class::nan;
          const status quiet = x.signaling || y.signaling ? status::invalid : status::none;
          const status signaling = nan ? status::invalid : status::none;
          const auto truth = [](bool holds, status flags) { return encoded{holds ? 1u : 0u, flags}; };
          is(operation::eq, float16, float16, {a, b}, mode, truth(order == 0, quiet));
          is(operation::le_quiet, float16, float16, {a, b}, mode, truth(order <= 0, quiet));
          is(operation::lt_quiet, float16, float16, {a, b}, mode, truth(order < 0, quiet));
          is(operation::eq_signaling, float16, float16, {a, b}, mode, truth(order == 0, signaling));
          is(operation::le, float16, float16, {a, b}, mode, truth(order <= 0, signaling));
          is(operation::lt, float16, float16, {a, b}, mode, truth(order < 0, signaling));
        }
    }
  CHECK(wrong == 0);
}

TEST_CASE("mac adds in the format of the result") {
  std::size_t wrong = 0;
  for (const auto& [to, from] : {std::pair{binary32, float16}, std::pair{binary32, bfloat16},
                                 std::pair{float16, float8_e4m3fn}, std::pair{float16, float16}}) {
    std::size_t turn = 0;
    for_each_vector(operation::mac, to, from, 1, 0, [&](std::span<const operand_codes> some) {
      for (const operand_codes& v : some) {
        if (turn++ % 8 != 0) continue;
        const std::array<exact_value, 3> x{value_of(from, v[0]), value_of(from, v[1]), value_of(to, v[2])};
        const oracle exact{operation::mac, to, x};
        for (const direction way : deterministic) {
          const rounding mode{.direction = way};
          const encoded got = evaluate(operation::mac, to, from, v, mode);
          const encoded expected = exact(mode);
          wrong += got.code != expected.code || got.flags != expected.flags ? 1 : 0;
        }
      }
    });
    CHECK(turn > 50'000);
  }
  CHECK(wrong == 0);
}

TEST_CASE("rounding to an integer raises inexact where it is asked for") {
  const encoded half = evaluate(operation::rint, float16, float16, {0x3800});
  CHECK(half.code == 0);
  CHECK(half.flags == status::inexact);
  CHECK(without_inexact(operation::rint, half).flags == status::none);
  CHECK(without_inexact(operation::add, half).flags == status::inexact);
  const encoded large = evaluate(operation::to_i32, bfloat16, bfloat16, {0x7F00});
  CHECK(without_inexact(operation::to_i32, large).flags == status::invalid);
}

TEST_CASE("random bits reach the operation") {
  const rounding mode{.direction = direction::stochastic, .random_bits = 4};
  // 1 + 2^-12: a quarter of the step above 1.
  CHECK(evaluate(operation::add, float16, float16, {0x3C00, 0x0C00}, mode, 11).code == 0x3C00);
  CHECK(evaluate(operation::add, float16, float16, {0x3C00, 0x0C00}, mode, 12).code == 0x3C01);
}

TEST_CASE("exact results are what the operations round") {
  const auto exactly = [](operation op, const operand_codes& operands, bool daz = false) {
    return exact_decimal(exact_result(op, float16, float16, operands, daz));
  };
  CHECK(exactly(operation::add, {0x3C00, 0x0001}) == "1.000000059604644775390625");
  CHECK(exactly(operation::add, {0x3C00, 0x0001}, true) == "1");
  CHECK(exactly(operation::sub, {0x3C00, 0x3C01}) == "-0.0009765625");
  CHECK(exactly(operation::mul, {0x7BFF, 0xFBFF}) == "-4290774016");
  CHECK(exactly(operation::fma, {0x3C01, 0x3C01, 0xBC02}) == "0.00000095367431640625");
  CHECK(exactly(operation::rem, {0x4500, 0x4200}) == "-1");
  CHECK(exactly(operation::convert, {0xC248}) == "-3.140625");
  CHECK(exactly(operation::sqrt, {0x4400}) == "2");
  CHECK(exactly(operation::div, {0x3C00, 0x4400}) == "0.25");
  CHECK(exactly(operation::sub, {0x3C00, 0x3C00}) == "0");
  CHECK(exactly(operation::add, {0x8000, 0x8000}) == "-0");
  CHECK(exactly(operation::div, {0x3C00, 0x8000}) == "-inf");
  CHECK(exactly(operation::add, {0x7C00, 0xFC00}) == "nan");
  CHECK(exactly(operation::mul, {0x7C00, 0x0000}) == "nan");
  CHECK(exactly(operation::fma, {0x0000, 0x7C00, 0x3C00}) == "nan");
  CHECK(exactly(operation::rem, {0x3C00, 0xFC00}) == "1");
  CHECK(exactly(operation::sqrt, {0x8000}) == "-0");
  CHECK(exactly(operation::sqrt, {0xBC00}) == "nan");

  CHECK_FALSE(exact_result(operation::sqrt, float16, float16, {0x4400}).sticky);
  CHECK(exact_result(operation::sqrt, float16, float16, {0x4000}).sticky);
  CHECK(exact_result(operation::div, float16, float16, {0x3C00, 0x4200}).sticky);
  CHECK(exact_result(operation::add, binary32, binary32, {0x7F000000, 0x00000001}).sticky);
  CHECK_FALSE(exact_result(operation::mul, binary64, binary64, {0x3FF0000000000001, 0x3FF0000000000001}).sticky);
}
