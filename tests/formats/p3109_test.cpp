// IEEE P3109's formats by their names, every code of them against the report's formula: of K bits and precision P a
// magnitude c is (c mod 2^(P-1) + 2^(P-1) [c >= 2^(P-1)]) 2^(max(c div 2^(P-1), 1) - 2^(K-P-1) - P + 1), the code 2^(K-1) is
// NaN, and in the extended domain 2^(K-1) - 1 and 2^K - 1 are the infinities.
#include <cmath>
#include <cstdint>
#include <string>

#include <ulp/formats/catalog.hpp>
#include <ulp/formats/codec.hpp>
#include <ulp/formats/names.hpp>

#include "formats/sweep.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"
#include "support/npz.hpp"

using namespace ulp;
using namespace ulp::test;

namespace {

std::string name_of(int bits, int precision, const char* kind) {
  return "binary" + std::to_string(bits) + "p" + std::to_string(precision) + kind;
}

double number_of(int bits, int precision, bool extended, std::uint64_t code) {
  const std::uint64_t sign = std::uint64_t{1} << (bits - 1);
  if (code == sign) return std::nan("");
  const std::uint64_t magnitude = code % sign;
  const std::uint64_t one = std::uint64_t{1} << (precision - 1);
  const auto exponent = static_cast<int>(magnitude / one);
  double x = std::ldexp(static_cast<double>(magnitude % one + (exponent > 0 ? one : 0)),
                        std::max(exponent, 1) - (1 << (bits - precision - 1)) - precision + 1);
  if (extended && magnitude == sign - 1) x = HUGE_VAL;
  return code >= sign ? -x : x;
}

bool same_number(double a, double b) { return a == b || (a != a && b != b); }

}  // namespace

TEST_CASE("P3109's formats decode as the report says") {
  sweep s;
  int formats = 0;
  for (int bits = 4; bits <= 16; ++bits)
    for (int precision = 2; precision <= bits - 2; ++precision) {
      if (bits - precision > 11 || (bits - precision == 11 && precision > 52)) continue;
      for (const bool extended : {false, true}) {
        const std::string name = name_of(bits, precision, extended ? "se" : "sf");
        const parsed<format> read = parse_format(name);
        INFO(name << ' ' << read.error);
        REQUIRE(read.value);
        const format f = *read.value;
        ++formats;
        CHECK(f.is_valid());
        CHECK(f.width() == bits);
        CHECK(find_format(to_string(f)) == f);
        CHECK(f.has_infinity() == extended);
        CHECK_FALSE(f.has_negative_zero());
        for (std::uint64_t code = 0; code <= f.code_mask(); ++code) {
          const double expected = number_of(bits, precision, extended, code);
          s.expect(same_number(to_double(f, code), expected),
                   [&] { return name + ' ' + std::to_string(code) + ": " + std::to_string(to_double(f, code)); });
          // And back; NaN to the one that there is.
          s.expect(encode(f, expected).code == code, [&] { return name + ' ' + std::to_string(code) + " back"; });
        }
      }
    }
  CHECK(s.failures() == "");
  CHECK(formats == 2 * (1 + 2 + 3 + 4 + 5 + 6 + 7 + 8 + 9 + 10 + 10 + 10 + 10));
}

TEST_CASE("facts of P3109's formats") {
  CHECK(to_double(binary8p3se, binary8p3se.max_finite_code()) == 49152);
  CHECK(to_double(binary8p4se, binary8p4se.max_finite_code()) == 224);
  CHECK(to_double(binary8p5se, binary8p5se.max_finite_code()) == 15);
  CHECK(to_double(binary8p3se, 1) == 0x1p-17);
  CHECK(binary8p3se.infinity_code() == 0x7F);
  CHECK(binary8p3se.nan_code() == 0x80);
  CHECK(encode(binary8p4se, 1e9).code == 0x7F);
  CHECK(encode(binary8p4se, -1e9).code == 0xFF);
  CHECK(encode(binary8p4se, -1e9, {.overflow = overflow_mode::saturate}).code == 0xFE);
  CHECK(encode(binary8p4se, -0.0).code == 0);
  CHECK(find_format("Binary8p3se") == binary8p3se);
  CHECK(find_format("p3109_k6p3se") == find_format("binary6p3se"));
  CHECK(find_format("p3109_k8p3sf") == float8_e5m2fnuz);
  CHECK(find_format("e5m2,specials=p3109") == binary8p3se);
  CHECK(to_string(*find_format("binary6p3se")) == "binary6p3se");
  CHECK(to_string(*find_format("e3m2,specials=p3109,bias=3")) == "e3m2,bias=3,specials=p3109");
  CHECK(to_string(*find_format("binary8p4se,max=112")) == "binary8p4se,max=112");
  const auto error = [](const char* name) { return parse_format(name).error; };
  CHECK(
      error("binary8p3ue") ==
      "format 'binary8p3ue': P3109's formats without sign are not here, only the signed ones, binary<K>p<P>se and sf");
  CHECK(error("binary8p1uf").ends_with("binary<K>p<P>se and sf"));
  for (const char* const name : {"binary8p1se", "binary8p7sf", "binary16p2se", "p3109_p7", "binary8p9se"})
    CHECK(error(name).ends_with("those of precision 2..53 with 2..11 exponent bits, K - P, are here"));
  CHECK(error("binary8p3").starts_with("unknown format 'binary8p3'; near: binary8p3s"));
  CHECK(error("binary8p3se,bias=3").find("options but max=X follow e<E>m<M>") != std::string::npos);
}

// gfloat's encode_float: its roundings, each without saturation and with it.
TEST_CASE("P3109's formats are those of gfloat, code by code") {
  if (shared_dir().empty()) return;
  sweep s;
  for (const char* const kind : {"k8p3se", "k8p4se", "k8p5se", "k8p3sf", "k8p4sf", "k6p3sf", "k4p2sf"}) {
    const auto file =
        read_npz(shared_dir() / "golden" / "fp8" / "blocks" / ("gfloat_scalar_" + std::string{kind} + ".npz"));
    const format f = find_format("p3109_" + std::string{kind}).value();
    const auto table = file.at("table").as<float>();
    REQUIRE(table.size() == f.code_mask() + 1);
    for (std::uint64_t code = 0; code <= f.code_mask(); ++code)
      s.expect(same_number(to_double(f, code), static_cast<double>(table[code])), [&] { return std::string{kind}; });
    const auto x = file.at("x").as<float>();
    const auto codes = file.at("codes").as<std::uint8_t>();
    const auto error = file.at("error").as<std::uint8_t>();
    using enum direction;
    constexpr std::array ways{nearest_even, toward_zero, nearest_away, toward_positive, toward_negative, to_odd};
    for (std::size_t row = 0; row < 12; ++row)
      for (std::size_t i = 0; i < x.size(); ++i) {
        if (error[row * x.size() + i] != 0) continue;
        // What overflows to-odd is infinite there, and here the largest number.
        const double largest = to_double(f, f.max_finite_code());
        if (row == 10 && std::fabs(static_cast<double>(x[i])) > largest) continue;
        const rounding mode{.direction = ways[row / 2],
                            .overflow = row % 2 == 1 ? overflow_mode::saturate : overflow_mode::ieee};
        const std::uint64_t code = encode(f, x[i], mode).code;
        s.expect(code == codes[row * x.size() + i], [&] {
          return std::string{kind} + ' ' + describe(mode) + " row " + std::to_string(row) + ' ' + std::to_string(x[i]) +
                 ": " + std::to_string(code) + " for " + std::to_string(codes[row * x.size() + i]);
        });
      }
  }
  CHECK(s.failures() == "");
}
