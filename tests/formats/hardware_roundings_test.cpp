// Pins hardware_roundings.hpp: which hardware rounds to which formats, what else is an error that says so, and what each preset
// does, by adding the random bits to the bits of a float.
#include <ulp/formats/hardware_roundings.hpp>

#include <bit>
#include <cstdint>
#include <set>
#include <string>

#include <ulp/formats/catalog.hpp>
#include <ulp/formats/codec.hpp>
#include <ulp/formats/names.hpp>

#include "formats/sweep.hpp"
#include "support/catch.hpp"

using namespace ulp;
using namespace ulp::test;

TEST_CASE("presets are for the formats that are documented") {
  struct row {
    const char* name;
    format to;
    int bits;
  };
  for (const row& r : {row{"nvidia", float16, 13}, row{"nvidia", bfloat16, 16}, row{"amd", float8_e4m3fn, 20},
                       row{"amd", float8_e4m3fnuz, 20}, row{"amd", float8_e5m2, 21}, row{"amd", float8_e5m2fnuz, 21}}) {
    INFO(r.name << ' ' << describe(r.to));
    const auto read = parse_rounding(r.name, r.to);
    REQUIRE(read.value.has_value());
    CHECK(read.error.empty());
    CHECK(*read.value ==
          rounding{.direction = direction::stochastic, .definition = stochastic_definition::a, .random_bits = r.bits});
    CHECK(parse_rounding(to_string(*read.value)) == *read.value);
  }
  CHECK(parse_rounding("nvidia", *find_format("e5m10")).value.has_value());
  CHECK(parse_rounding("nvidia", cbfloat16).error == "nvidia is documented for results in float16, bfloat16 only");
  CHECK(parse_rounding("amd", float16).error.find("float8_e4m3fn, float8_e4m3fnuz") != std::string::npos);
  CHECK(parse_rounding("sr:B,bits=8", cbfloat16).value == parse_rounding("sr:B,bits=8"));
  for (const char* const text : {"", "nvidi", "nvidia,bits=8", "Nvidia"}) {
    const auto read = parse_rounding(text, float16);
    CHECK_FALSE(read.value.has_value());
    CHECK(read.error.find("nvidia, amd") != std::string::npos);
  }
  CHECK(parse_rounding("sr:D", float16).error ==
        "'sr:D': stochastic takes A, B or C, and bits=1 to bits=32 or bits=all, each at most once");
}

TEST_CASE("the table of presets is consistent") {
  std::set<std::string> seen;
  for (const rounding_preset& p : rounding_presets()) {
    INFO(p.name << ' ' << p.to_name);
    CHECK(seen.insert(std::string{p.name} + ' ' + std::string{p.to_name}).second);
    REQUIRE(find_entry(p.to_name) != nullptr);
    CHECK(find_entry(p.to_name)->format == p.to);
    CHECK_FALSE(p.source.empty());
    CHECK_FALSE(parse_rounding(p.name).has_value());  // no other rounding has that name
  }
}

// "Adds the random bits to the mantissa and truncates": for normal results N is all that a float has more than the
// result, and the sum's own carry does the rest.
TEST_CASE("a preset adds its random bits to those of the float") {
  for (const rounding_preset& p : rounding_presets()) {
    INFO(p.name << ' ' << p.to_name);
    const int n = p.rounding.random_bits;
    CHECK(n == binary32.fraction_bits - p.to.fraction_bits);
    sweep s;
    std::uint64_t state = 7;
    const auto next = [&state] { return static_cast<std::uint32_t>((state = state * 6364136223846793005 + 1) >> 32); };
    for (int i = 0; i < 100000; ++i) {
      const std::uint32_t sign = next() & 0x80000000;
      const int exponent = p.to.emin() + static_cast<int>(next() % static_cast<unsigned>(p.to.emax() - p.to.emin()));
      const std::uint32_t bits = sign | static_cast<std::uint32_t>(exponent + 127) << 23 | (next() & 0x7FFFFF);
      const std::uint32_t random = next() >> (32 - n);
      const std::uint32_t sum = (bits + random) >> n << n;
      s.expect(encode(p.to, std::bit_cast<float>(bits), p.rounding, random).code ==
                   encode(p.to, std::bit_cast<float>(sum)).code,
               [&] { return std::to_string(bits) + ' ' + std::to_string(random); });
    }
    CHECK(s.failures() == "");
  }
}
