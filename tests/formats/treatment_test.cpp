// A treatment is a value: equal where all of it is, and usable where constants are needed.
#include "support/catch.hpp"

#include <ulp/formats/catalog.hpp>
#include <ulp/formats/treatment.hpp>

#include <type_traits>

using namespace ulp;

namespace {

constexpr treatment usual{float16};
constexpr treatment tensorwise{float16, {.overflow = overflow_mode::saturate}, scale_source::tensor};

}  // namespace

TEST_CASE("what is not said is nearest even, and no scale") {
  STATIC_REQUIRE(usual.rounding == rounding{});
  STATIC_REQUIRE(usual.scale == scale_source::none);
}

TEST_CASE("treatments are equal where format, rounding and scale source are") {
  STATIC_REQUIRE(usual == treatment{float16, {}, scale_source::none});
  STATIC_REQUIRE(usual != treatment{bfloat16});
  STATIC_REQUIRE(tensorwise != treatment{float16, {}, scale_source::tensor});
  STATIC_REQUIRE(tensorwise != treatment{float16, tensorwise.rounding, scale_source::run});
  STATIC_REQUIRE(tensorwise == treatment{float16, tensorwise.rounding, scale_source::tensor});
}

TEST_CASE("a treatment is copied without asking anybody") { STATIC_REQUIRE(std::is_trivially_copyable_v<treatment>); }
