// Which way each kind of conversion takes, as the plan says it, on every level that this processor has.
#include "support/catch.hpp"

#include <ulp/formats/catalog.hpp>

#include "formats/bulk/conversion_plan.hpp"

#include <string>

using namespace ulp;
using namespace ulp::detail;

namespace {

constexpr element_source floats{binary32, true, false};
constexpr element_source doubles{binary64, false, true};
constexpr element_source float16_codes{float16, true, true};
constexpr element_source wide_codes{{.exponent_bits = 11, .fraction_bits = 20, .bias = 1100}, false, false};

std::string told(const format& to, const conversion& how, const element_source& from, const kernels* loops,
                 bool counting = false, bool to_floats = false) {
  return to_string(plan_conversion(to, how, from, loops, counting, to_floats));
}
// After the level's name.
std::string way_of(const format& to, const conversion& how, const element_source& from, bool counting = false) {
  const std::string all = told(to, how, from, &baseline_kernels, counting);
  return all.substr(all.find(": ") + 2);
}
rounding stochastic(int bits, stochastic_definition definition = stochastic_definition::a) {
  return {.direction = direction::stochastic, .definition = definition, .random_bits = bits};
}

}  // namespace

TEST_CASE("floats stay floats, in 32 bits where these suffice") {
  CHECK(way_of(float16, {}, floats) == "floats, lanes of 32 bits, plain");
  CHECK(way_of(float16, {.scale = 1024}, floats) == "floats, lanes of 32 bits, plain");
  CHECK(way_of(float16, {}, floats, true) == "floats, lanes of 32 bits, counted");
  CHECK(way_of(float16, {.rounding = {.flush = flush::result}}, floats) == "floats, lanes of 32 bits");
  CHECK(way_of(float16, {}, float16_codes) == "floats, lanes of 32 bits, plain");
  // 32 random bits behind the 10 that stay of 24 are too many.
  CHECK(way_of(float16, {.rounding = stochastic(8)}, floats) == "floats, lanes of 32 bits, plain");
  CHECK(way_of(float16, {.rounding = stochastic(32, stochastic_definition::b)}, floats) == "floats, lanes of 64 bits");
}

TEST_CASE("doubles become floats where that loses nothing") {
  CHECK(way_of(float16, {}, doubles) == "doubles as floats, lanes of 32 bits, plain");
  CHECK(way_of(float16, {.rounding = {.daz = true}}, doubles) == "doubles, lanes of 64 bits");
  CHECK(way_of(binary32, {}, doubles) == "doubles, lanes of 64 bits");
  CHECK(way_of(float16, {.rounding = stochastic(20)}, doubles) == "doubles, lanes of 64 bits");
}

TEST_CASE("a factor that is no power of two makes products of floats, and codec's work of doubles") {
  CHECK(way_of(float16, {.scale = 3}, floats) == "products, lanes of 64 bits");
  CHECK(way_of(float16, {.scale = 3}, doubles) == "singly, for the factor");
  CHECK(way_of(float16, {.scale = 0.1}, floats) == "singly, for the factor");
}

TEST_CASE("what no loop does is said") {
  CHECK(told(float16, {}, floats, nullptr) == "codec: singly, as asked for");
  CHECK(told(float16, {}, wide_codes, &baseline_kernels) == "codec: singly, for the elements");
  CHECK(told(float8_e8m0, {}, floats, &baseline_kernels) == "codec: singly, for the format or the rounding");
  CHECK(told(float16, {.rounding = stochastic(exact_probability)}, floats, &baseline_kernels) ==
        "codec: singly, for the format or the rounding");
}

TEST_CASE("levels with quicker loops take them") {
  for (const kernels* const loops : kernels_here()) {
    const std::string level{loops->name};
    CAPTURE(level);
    CHECK(told(float16, {}, floats, loops) ==
          level + ": floats, lanes of 32 bits" + (loops->quick != nullptr ? ", quick" : ", plain"));
    CHECK(told(float16, {}, floats, loops, true) ==
          level + ": floats, lanes of 32 bits" + (loops->quick != nullptr ? ", quick" : "") + ", counted");
    const bool has_groups = loops->stochastic != nullptr;
    CHECK(told(float16, {.rounding = stochastic(16)}, floats, loops) ==
          level + ": floats, lanes of 32 bits" + (has_groups ? ", in groups" : ", plain"));
    CHECK(told(float16, {.rounding = stochastic(32)}, floats, loops) ==
          level + (has_groups ? ": floats, lanes of 32 bits, in groups" : ": floats, lanes of 64 bits"));
  }
}

TEST_CASE("floats become floats without codes where results are normal floats, or on float's own grid") {
  for (const kernels* const loops : kernels_here()) {
    if (loops->round == nullptr) continue;
    const std::string level = std::string{loops->name} + ": ";
    CAPTURE(level);
    const auto to_floats = [&](const format& to, const conversion& how, bool counting = false) {
      return told(to, how, floats, loops, counting, true);
    };
    CHECK(to_floats(float16, {}) == level + "floats, lanes of 32 bits, quick, to floats");
    CHECK(to_floats(float16, {.scale = 1024}) == level + "floats, lanes of 32 bits, quick, to floats");
    CHECK(to_floats(bfloat16, {}) == level + "floats, lanes of 32 bits, quick, to floats");
    CHECK(to_floats(float16, {.rounding = stochastic(16)}) == level + "floats, lanes of 32 bits, in groups, to floats");
    CHECK(to_floats(bfloat16, {.scale = 0x1p-40}) == level + "floats, lanes of 32 bits, plain");
    CHECK(to_floats(float16, {}, true) == level + "floats, lanes of 32 bits, quick, counted");
    CHECK(to_floats(float16, {.rounding = stochastic(16, stochastic_definition::b)}) ==
          level + "floats, lanes of 32 bits, in groups");
    // Its smallest numbers are no normal floats, or it has larger ones.
    CHECK(to_floats({.exponent_bits = 7, .fraction_bits = 7, .bias = 124}, {}).find("to floats") == std::string::npos);
    CHECK(to_floats({.exponent_bits = 9, .fraction_bits = 7, .bias = 255}, {}).find("to floats") == std::string::npos);
  }
}
