// Pins how text is set on the page: which powers are raised, and which part of a long name goes.
#include "page/typeset.hpp"

#include "support/catch.hpp"

using namespace ulp;

TEST_CASE("powers in sentences are raised") {
  CHECK(typeset("2^-10") == "2⁻¹⁰");
  CHECK(typeset("from 2^16 to 2^0, norm x 10^13.") == "from 2¹⁶ to 2⁰, norm x 10¹³.");
  CHECK(typeset("mean scale ~2^17.48") == "mean scale ~2¹⁷˙⁴⁸");
  CHECK(typeset("[2^3, 2^4]") == "[2³, 2⁴]");
  CHECK(typeset("1234567890^1234567890") == "1234567890¹²³⁴⁵⁶⁷⁸⁹⁰");
}

TEST_CASE("what may be copied to a command line, and what is no power, stays") {
  for (const char* const text :
       {"init_scale=2^16 growth_interval=25", "give --factor 2^16", "(--scale 2^4)", "--set init_scale=2^16", "a2^3",
        "x_2^3", "2^", "^3", "2^x", "2^3x", "2^-", "N^2", "", "^"})
    CHECK(typeset(text) == text);
  CHECK(typeset("use --quiet: 2^3") == "use --quiet: 2^3");  // as if it were a value: harmless
}

TEST_CASE("names of axes are raised alike") {
  CHECK(power_of_two(-14) == "2⁻¹⁴");
  CHECK(power_of_two(-0.0) == "2⁰");
  CHECK(power_of_ten(5) == "10⁵");
}

TEST_CASE("a long name loses its middle, by characters") {
  CHECK(elided("abcdefghij", 10) == "abcdefghij");
  CHECK(elided("abcdefghijk", 10) == "abcd…ghijk");
  CHECK(elided("ääääääääääö", 5) == "ää…äö");
  CHECK(elided("", 5).empty());
  CHECK(elided("a\nb", 20) == "a\\x0Ab");
}

TEST_CASE("names below each other lose first what they have in common") {
  const std::vector<std::string> names{"fc", "model.layers.10.attn.weight", "model.layers.11.mlp.weight"};
  CHECK(elided(names, 22) == std::vector<std::string>{"fc", "…10.attn.weight", "…11.mlp.weight"});
  // One alone has nothing in common with others; nor have these.
  CHECK(elided(std::vector<std::string>{"fc", "model.layers.10.attn.weight"}, 11).back() == "model…eight");
  CHECK(elided(std::vector<std::string>{"abcdefghijk", "lmnopqrstuv"}, 7) ==
        std::vector<std::string>{"abc…ijk", "lmn…tuv"});
}
