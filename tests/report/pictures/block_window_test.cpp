// Pins what the picture of a format of blocks shows, and what is said of it.
#include <ulp/report/pictures/block_window.hpp>

#include "support/catch.hpp"

#include <cmath>
#include <string>

using namespace ulp;

namespace {

compared_blocks made(const std::string& name, block_basis basis) {
  compared_blocks of{.of = block_formats_named({name}, "").front(), .basis = basis, .counted = 1};
  of.exponents.by_exponent = {{-14, {3, 3}}, {-9, {10, 12}}, {7, {80, 80}}};
  of.exponents.numel = of.outcomes.numel = 100;
  of.exponents.zeros = of.outcomes.zero = 5;
  of.outcomes.underflow = {3, 3};
  of.outcomes.subnormal = {10, 12};
  of.outcomes.normal = {80, 82};
  of.has_outcomes = basis == block_basis::scale;
  return of;
}

}  // namespace

TEST_CASE("the window of a format of blocks is that of its elements, over the scale") {
  // float8_e4m3fn: 2^-9 is the least number, 2^-6 the least normal one, 464 the first that is beyond 448.
  const block_window window = block_window_of(made("mxfp8", block_basis::scale));
  REQUIRE(window.limits);
  CHECK(window.limits->nonzero == -10);
  CHECK(window.limits->overflow == Approx(std::log2(464.0)));
  CHECK(window.unit == "the block's scale");
  CHECK(window.low <= -14);
  CHECK(window.high > 9);
  CHECK(fate_text(window, -12) == "becomes zero");
  CHECK(fate_text(window, -8) == "subnormal");
  CHECK(fate_text(window, 0) == "normal");
  CHECK(fate_text(window, 8) == "partly normal, partly beyond the largest number");
  // float4_e2m1: halfway between 6 and 8.
  CHECK(block_window_of(made("mxfp4", block_basis::scale)).limits->overflow == Approx(std::log2(7.0)));
  // int8 stands for 64ths: nothing is subnormal, and 127.5 / 64 is beyond.
  const block_window integers = block_window_of(made("mxint8", block_basis::scale));
  CHECK(integers.limits->nonzero == -7);
  CHECK(integers.limits->normal == -7);
  CHECK(integers.limits->overflow == Approx(std::log2(127.5 / 64)));
}

TEST_CASE("without the scales of blocks no more is said than is certain") {
  compared_blocks bound = made("mxfp4", block_basis::tensor_scale);
  bound.why_open = "the input has no tables of such blocks (ulp record --blocks 32)";
  const block_window window = block_window_of(bound);
  CHECK(window.is_bound);
  CHECK(fate_text(window, -9) == "may become zero");
  CHECK(fate_text(window, 7) == "becomes zero in no block");
  CHECK_THAT(outcomes_text(bound), Contains("ulp record --blocks 32"));
  CHECK_THAT(outcomes_text(bound), Contains("at most 3.16 % become zero, of 95 nonzero values"));
  compared_blocks open = made("nvfp4", block_basis::amax);
  open.why_open = "its scales are no powers of two";
  CHECK_FALSE(block_window_of(open).limits);
  CHECK(fate_text(block_window_of(open), 0).empty());
  CHECK_THAT(outcomes_text(open),
             Contains("not counted, since its scales are no powers of two; ulp convert --to nvfp4"));
}

TEST_CASE("outcomes are told with what they are shares of") {
  CHECK(title_of(made("mxfp4", block_basis::scale)) ==
        "mxfp4 (torchao_mxe2m1_floor): float4_e2m1, a float8_e8m0 scale for 1 x 32, FLOOR");
  CHECK(
      outcomes_text(made("mxfp4", block_basis::scale)) ==
      "lost 3.16 %, subnormal [10.5, 12.6] %, normal [84.2, 86.3] %, saturated 0 % of 95 nonzero values; 5 zeros, 0 not "
      "finite");
}
