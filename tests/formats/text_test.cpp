// Pins text.hpp: which texts are numbers; decimals rounded once even a hair beside a midpoint; every digit as printf
// gives it; and shortest decimals that read back for every code of the small formats, that are shortest and nearest by
// trying all shorter ones in 8 bits, and that are std::to_chars's for float and double.
#include <ulp/formats/text.hpp>

#include <bit>
#include <charconv>
#include <clocale>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "formats/sweep.hpp"
#include "support/catch.hpp"
#include "support/oracle.hpp"

namespace {

using namespace ulp;
using namespace ulp::test;

// Every digit as the C library prints it, without trailing zeros.
std::string printed(double x, bool keep_point = false) {
  std::string text(1500, '\0');
  text.resize(static_cast<std::size_t>(std::snprintf(text.data(), text.size(), "%.1080f", x)));
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.' && !keep_point) text.pop_back();
  return text;
}

// A decimal with a point, less one in its last digit and followed by nines: a hair less.
std::string hair_below(std::string text) {
  for (std::size_t i = text.size(); i-- > 0;) {
    if (text[i] == '.') continue;
    if (text[i] != '0') {
      --text[i];
      break;
    }
    text[i] = '9';
  }
  return text + std::string(60, '9');
}

std::string hair_above(const std::string& text) { return text + std::string(59, '0') + '1'; }

// Significant digits without zeros at the ends, and the power of ten of the first one.
struct decimal {
  std::string digits;
  int magnitude = 0;
  friend bool operator==(const decimal&, const decimal&) = default;
};

decimal parts_of(const std::string& text) {
  decimal d;
  const std::size_t e = text.find('e');
  int power = e == std::string::npos ? 0 : std::atoi(text.c_str() + e + 1);
  bool after_point = false;
  for (const char c : text.substr(0, e)) {
    if (c == '.') {
      after_point = true;
    } else if (c != '-') {
      if (after_point && d.digits.empty()) --power;
      if (!after_point && !d.digits.empty()) ++power;
      if (c != '0' || !d.digits.empty()) d.digits += c;
    }
  }
  d.digits.erase(d.digits.find_last_not_of('0') + 1);
  d.magnitude = power;
  return d;
}

encoded parsed(const format& to, const std::string& text, const rounding& mode = {}) {
  const auto x = parse_number(text);
  REQUIRE(x.has_value());
  return encode(to, *x, mode);
}

}  // namespace

TEST_CASE("texts that are numbers") {
  struct row {
    const char* text;
    double value;
  };
  for (const row& r : {row{"0", 0.0},
                       row{"-0", -0.0},
                       row{"+0.0", 0.0},
                       row{"-0e99", -0.0},
                       row{".5", 0.5},
                       row{"5.", 5.0},
                       row{"1", 1.0},
                       row{"+1.5", 1.5},
                       row{"-1.5e-7", -1.5e-7},
                       row{"1E3", 1000.0},
                       row{"1e+3", 1000.0},
                       row{"0001", 1.0},
                       row{"0.10", 0.1},
                       row{"1e0005", 1e5},
                       row{"010", 10.0},
                       row{"2^-24", 0x1p-24},
                       row{"-2^3", -8.0},
                       row{"2^+3", 8.0},
                       row{"2^0", 1.0},
                       row{"123456789012345678901234567890", 123456789012345678901234567890.0},
                       row{"inf", HUGE_VAL},
                       row{"-INF", -HUGE_VAL},
                       row{"+Infinity", HUGE_VAL}}) {
    INFO(r.text);
    const auto x = parse_number(r.text);
    REQUIRE(x.has_value());
    CHECK(encode(binary64, *x).code == std::bit_cast<std::uint64_t>(r.value));
  }
  for (const char* const text : {"nan", "NaN", "+nan"})
    CHECK(encode(float16, parse_number(text).value()).code == 0x7E00);
  CHECK(encode(float16, parse_number("-nan").value()).code == 0xFE00);
  CHECK_FALSE(parse_number("nan").value().signaling);
}

TEST_CASE("texts that are no numbers") {
  for (const char* const text :
       {"",      " ",       "-",         "+",     "+-1",   "--1",    "-+1",      ".",
        "-.",    "e5",      ".e5",       "1e",    "1e+",   "1e-",    "1e+-5",    "1e-+5",
        "1e++5", "1e5.0",   "1.2.3",     "1 ",    " 1",    "1f",     "0x10",     "1,5",
        "1_000", "2^",      "2^-",       "2^+-3", "2^1.5", "2^3 ",   "2^^3",     "3^2",
        "1e5e5", "infinit", "infinity!", "in",    "nano",  "nan(1)", "\xC2\xBD", "1e99999999999999999999x"}) {
    INFO(text);
    CHECK_FALSE(parse_number(text).has_value());
  }
  CHECK_FALSE(parse_number(std::string_view{"1\0", 2}).has_value());
}

TEST_CASE("decimals beside midpoints round once, in every direction") {
  for (const auto& [name, to] : small_formats) {
    INFO(name);
    format finer = to;
    ++finer.fraction_bits;
    sweep s;
    const std::uint64_t stride = to.width() > 8 ? 211 : 1;
    for (std::uint64_t code = 1; code <= finer.magnitude_mask(); code += stride) {
      const exact_value x = value_of(finer, code);
      if (x.kind != number_class::finite) continue;
      const std::string tie = printed(test::to_double(x), true);
      for (const std::string& text : {tie, hair_below(tie), hair_above(tie)})
        for (const char* const sign : {"", "-"}) {
          const std::string signed_text = sign + text;
          const auto number = parse_number(signed_text);
          for (const direction d : deterministic) {
            const rounding mode{.direction = d};
            const encoded expected = oracle_round_decimal(to, signed_text, mode);
            s.expect(number && same(encode(to, *number, mode), expected),
                     [&] { return signed_text + ' ' + to_string(mode) + " expected " + describe(expected); });
          }
        }
    }
    CHECK(s.failures() == "");
  }
}

TEST_CASE("decimals of all sizes read as the C library reads them") {
  sweep s;
  std::uint64_t bits = 2024;
  const auto below = [&bits](unsigned n) {
    bits = bits * 6364136223846793005 + 1442695040888963407;
    return static_cast<unsigned>((bits >> 33) % n);
  };
  for (int i = 0; i < 20000; ++i) {
    std::string text = below(2) == 0 ? "-" : "";
    const unsigned digits = 1 + below(40);
    const unsigned point = below(digits + 1);
    for (unsigned d = 0; d < digits; ++d) {
      if (d == point) text += '.';
      text += static_cast<char>('0' + below(10));
    }
    const int range = i % 2 == 0 ? 60 : 360;  // float's and double's
    text += 'e' + std::to_string(static_cast<int>(below(2 * static_cast<unsigned>(range))) - range);
    const double wide = std::strtod(text.c_str(), nullptr);
    const float narrow = std::strtof(text.c_str(), nullptr);
    const auto x = parse_number(text);
    s.expect(x && encode(binary64, *x).code == std::bit_cast<std::uint64_t>(wide) &&
                 encode(binary32, *x).code == std::bit_cast<std::uint32_t>(narrow),
             [&] { return text; });
  }
  CHECK(s.failures() == "");
}

TEST_CASE("numbers beyond every format round as the true ones") {
  for (const format& to : {float16, bfloat16, cbfloat16, float8_e4m3fn, float8_e5m2, binary64})
    for (const direction d : deterministic) {
      const rounding mode{.direction = d};
      const exact_value huge{.kind = number_class::finite, .significand = 3, .exponent = 40000};
      exact_value minute = huge;
      minute.exponent = -40000;
      for (const bool negative : {false, true}) {
        const std::string sign = negative ? "-" : "";
        exact_value x = huge;
        x.negative = negative;
        for (const char* const text : {"1e7000", "1e99999999999999999999", "2^40000", "2^99999999999999999999"})
          CHECK(same(parsed(to, sign + text, mode), oracle_round(to, x, mode)));
        CHECK(same(parsed(to, sign + "1" + std::string(7000, '0'), mode), oracle_round(to, x, mode)));
        x = minute;
        x.negative = negative;
        for (const char* const text : {"1e-7000", "1e-99999999999999999999", "2^-40000", "2^-99999999999999999999"})
          CHECK(same(parsed(to, sign + text, mode), oracle_round(to, x, mode)));
        CHECK(same(parsed(to, sign + "0." + std::string(7000, '0') + "1", mode), oracle_round(to, x, mode)));
      }
    }
  // Zeros before the digits make no number small, nor does an exponent that takes them back make it large.
  CHECK(encode(float16, parse_number(std::string(9000, '0') + "1").value()).code == 0x3C00);
  CHECK(encode(float16, parse_number("0." + std::string(9000, '0') + "1e9001").value()).code == 0x3C00);
  CHECK(encode(float16, parse_number("1" + std::string(9000, '0') + "e-9000").value()).code == 0x3C00);
}

TEST_CASE("every digit") {
  CHECK(exact_decimal(decode(cbfloat16, 0x3733)) == "0.0999755859375");
  CHECK(exact_decimal(decode(-0.0)) == "-0");
  CHECK(exact_decimal(decode(0.0)) == "0");
  CHECK(exact_decimal(decode(-HUGE_VAL)) == "-inf");
  CHECK(exact_decimal(decode(HUGE_VAL)) == "inf");
  CHECK(exact_decimal(decode(std::nan(""))) == "nan");
  sweep s;
  for (const auto& [name, f] : small_formats)
    for (std::uint64_t code = 0; code <= f.code_mask(); code += f.width() > 8 ? 7 : 1) {
      const exact_value x = value_of(f, code);
      if (x.kind != number_class::finite) continue;
      s.expect(exact_decimal(decode(f, code)) == printed(test::to_double(x)), [&] { return describe(encoded{code}); });
    }
  for (const double x : {1.7976931348623157e308, 0x1p-1074, 2.2250738585072014e-308, 0.1, 123456789.0, 1e22, -3.5e-300})
    s.expect(exact_decimal(decode(x)) == printed(x), [&] { return printed(x); });
  CHECK(s.failures() == "");
}

TEST_CASE("the shortest decimal of every code reads back") {
  CHECK(shortest_decimal(float16, 0x2E66) == "0.1");
  CHECK(shortest_decimal(float16, 0x7BFF) == "65500");
  CHECK(shortest_decimal(float16, 0x0001) == "6e-8");
  CHECK(shortest_decimal(float16, 0x8000) == "-0");
  CHECK(shortest_decimal(float16, 0xFC00) == "-inf");
  CHECK(shortest_decimal(float16, 0x7E00) == "nan");
  CHECK(shortest_decimal(cbfloat16, 0x7DFF) == "4290000000");
  sweep s;
  for (const auto& [name, f] : small_formats)
    for (std::uint64_t code = 0; code <= f.code_mask(); ++code) {
      const exact_value x = value_of(f, code);
      const std::string text = shortest_decimal(f, code);
      if (x.kind == number_class::finite)
        s.expect(oracle_round_decimal(f, text).code == code && parsed(f, text).code == code, [&] { return text; });
      else if (x.kind != number_class::nan)
        s.expect(parsed(f, text).code == code, [&] { return text; });
    }
  CHECK(s.failures() == "");
}

TEST_CASE("no shorter decimal reads back, and none as short is nearer, in 8 bits") {
  for (const format& f : {float8_e4m3fn, float8_e5m2}) {
    struct best {
      int digits = 0;
      double distance = HUGE_VAL;
    };
    std::vector<best> by_code(128);
    for (int n = 1, first = 1; n <= 4; ++n, first *= 10)
      for (int digits = first; digits < 10 * first; ++digits)
        for (int power = -12; power <= 5; ++power) {
          const std::string text = std::to_string(digits) + 'e' + std::to_string(power);
          const std::uint64_t code = oracle_round_decimal(f, text).code;
          if (code == 0 || code > f.max_finite_code()) continue;
          best& b = by_code[code];
          const double distance = std::abs(std::strtod(text.c_str(), nullptr) - test::to_double(value_of(f, code)));
          if (b.digits == 0) b.digits = n;
          if (b.digits == n) b.distance = std::min(b.distance, distance);
        }
    for (std::uint64_t code = 1; code <= f.max_finite_code(); ++code) {
      const std::string text = shortest_decimal(f, code);
      INFO(text);
      const double value = test::to_double(value_of(f, code));
      REQUIRE(by_code[code].digits != 0);
      CHECK(static_cast<int>(parts_of(text).digits.size()) == by_code[code].digits);
      CHECK(std::abs(std::strtod(text.c_str(), nullptr) - value) <= by_code[code].distance + 1e-14 * value);
      CHECK(shortest_decimal(f, f.sign_mask() | code) == "-" + text);
    }
  }
}

TEST_CASE("shortest decimals of float and double are std::to_chars's") {
  sweep s;
  const auto agrees = [&s](auto x, const format& f, std::uint64_t code) {
    char buffer[64];
    const auto end = std::to_chars(buffer, buffer + sizeof buffer, x, std::chars_format::scientific).ptr;
    const std::string expected(buffer, end);
    const std::string got = shortest_decimal(f, code);
    const decimal ours = parts_of(got);
    const decimal theirs = parts_of(expected);
    // Of two equally near ones either will do.
    const std::string exact = parts_of(printed(x)).digits;
    const bool tie = exact.back() == '5' && exact.size() == theirs.digits.size() + 1;
    const bool as_long = ours.digits.size() == theirs.digits.size() && ours.magnitude == theirs.magnitude;
    s.expect(ours == theirs || (tie && as_long && oracle_round_decimal(f, got).code == code),
             [&] { return got + ", expected " + expected; });
  };
  for (std::uint32_t bits = 1; bits < 0x7F800000; bits += 500009) agrees(std::bit_cast<float>(bits), binary32, bits);
  for (std::uint64_t bits = 1; bits < 0x7FF0000000000000; bits += 0x00712345678ABCDF)
    agrees(std::bit_cast<double>(bits), binary64, bits);
  for (int power = -149; power <= 127; ++power) {  // the gap below is half the gap above
    const float x = std::ldexp(1.0f, power);
    agrees(x, binary32, std::bit_cast<std::uint32_t>(x));
  }
  CHECK(s.failures() == "");
}

// Locales that are not installed are passed over.
TEST_CASE("text does not depend on the locale") {
  const std::string before = std::setlocale(LC_ALL, nullptr);
  for (const char* const locale : {"de_DE.UTF-8", "tr_TR.UTF-8", "tr_TR.ISO-8859-9"}) {
    if (std::setlocale(LC_ALL, locale) == nullptr) continue;
    const auto half = parse_number("1.5E0");
    const auto comma = parse_number("1,5");
    const auto infinity = parse_number("INFINITY");
    const std::string digits = exact_decimal(decode(1234567.5));
    const std::string shortest = shortest_decimal(float16, 0x2E66);
    std::setlocale(LC_ALL, before.c_str());
    INFO(locale);
    CHECK((half && encode(float16, *half).code == 0x3E00));
    CHECK_FALSE(comma.has_value());
    CHECK((infinity && infinity->kind == number_class::infinity));
    CHECK(digits == "1234567.5");
    CHECK(shortest == "0.1");
  }
  std::setlocale(LC_ALL, before.c_str());
}
