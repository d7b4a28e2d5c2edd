// Pins that an operation chosen by name is the function of that name, and what exact_result says.
#include <ulp/formats/operation.hpp>

#include <ulp/formats/arithmetic.hpp>
#include <ulp/formats/catalog.hpp>
#include <ulp/formats/names.hpp>
#include <ulp/formats/text.hpp>

#include "support/catch.hpp"

using namespace ulp;

TEST_CASE("operations are read by their names, and fma by TestFloat's") {
  REQUIRE(operation_names().size() == 8);
  for (const std::string_view name : operation_names()) {
    const auto op = parse_operation(name);
    REQUIRE(op);
    CHECK(to_string(*op) == name);
  }
  CHECK(parse_operation("mulAdd") == operation::fma);
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

TEST_CASE("random bits reach the operation") {
  const rounding mode{.direction = direction::stochastic, .random_bits = 4};
  // 1 + 2^-12: a quarter of the step above 1.
  CHECK(evaluate(operation::add, float16, float16, {0x3C00, 0x0C00}, mode, 11).code == 0x3C00);
  CHECK(evaluate(operation::add, float16, float16, {0x3C00, 0x0C00}, mode, 12).code == 0x3C01);
}

TEST_CASE("exact results are what the operations round") {
  const auto exactly = [](operation op, const operand_codes& operands, bool daz = false) {
    return exact_decimal(exact_result(op, float16, operands, daz));
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

  CHECK_FALSE(exact_result(operation::sqrt, float16, {0x4400}).sticky);
  CHECK(exact_result(operation::sqrt, float16, {0x4000}).sticky);
  CHECK(exact_result(operation::div, float16, {0x3C00, 0x4200}).sticky);
  CHECK(exact_result(operation::add, binary32, {0x7F000000, 0x00000001}).sticky);
  CHECK_FALSE(exact_result(operation::mul, binary64, {0x3FF0000000000001, 0x3FF0000000000001}).sticky);
}
