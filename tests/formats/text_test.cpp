// Pins text.hpp: which texts are numbers; decimals rounded once even a hair beside a midpoint, stochastically too; every
// digit as printf gives it, in hexadecimal too; shortest decimals that read back for every code of the small formats,
// that are shortest and nearest by trying all shorter ones in 8 bits, that are shortest by trying shorter ones in 16,
// and that are std::to_chars's for float and double; and the other forms, which read back exactly.
#include <ulp/formats/text.hpp>

#include <bit>
#include <charconv>
#include <clocale>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
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

encoded read(const format& to, const std::string& text, const rounding& mode = {}) {
  const auto result = parse(to, text, mode);
  REQUIRE(result.has_value());
  return *result;
}

std::vector<named_format> all_formats() {
  std::vector<named_format> all(small_formats.begin(), small_formats.end());
  all.insert(all.end(), formats_of_other_kinds.begin(), formats_of_other_kinds.end());
  return all;
}

// The rounding that a format prescribes, as a reader knows it.
rounding own_rounding(const format& f) {
  return {.direction = f == dlfloat16 ? direction::nearest_away : direction::nearest_even};
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
                       row{"+Infinity", HUGE_VAL},
                       row{"0x1p0", 1.0},
                       row{"0x1.94p-14", 0x1.94p-14},
                       row{"-0X1.8P+3", -12.0},
                       row{"0x.8p1", 1.0},
                       row{"0x10.p-4", 1.0},
                       row{"0x00ffp0", 255.0},
                       row{"0x0.0000000001p+40", 1.0},
                       row{"-0x0p5", -0.0},
                       row{"0x123456789abcdef0123p0", 0x123456789abcdef0123p0},
                       row{"1b", 1.0},
                       row{"101b", 5.0},
                       row{"1.0101b*2^-14", 0x1.5p-14},
                       row{"-1.1B*2^+3", -12.0},
                       row{".1b", 0.5},
                       row{"10.b", 2.0},
                       row{"0001.0b*2^3", 8.0},
                       row{"0b", 0.0},
                       row{"-0.0b*2^9", -0.0}}) {
    INFO(r.text);
    const auto x = parse_number(r.text);
    REQUIRE(x.has_value());
    CHECK(encode(binary64, *x).code == std::bit_cast<std::uint64_t>(r.value));
  }
  for (const char* const text : {"nan", "NaN", "+nan"})
    CHECK(encode(float16, parse_number(text).value()).code == 0x7E00);
  CHECK(encode(float16, parse_number("-nan").value()).code == 0xFE00);
  CHECK_FALSE(parse_number("nan").value().signaling);
  // Exponents at and beyond the ends of long.
  for (const char* const huge : {"1e9223372036854775807", "1e9223372036854775808", "0x10p9223372036854775807",
                                 "11b*2^9223372036854775807", "2^99999999999999999999"})
    CHECK(encode(float16, parse_number(huge).value()).code == float16.infinity_code());
  for (const char* const tiny : {"0.01e-9223372036854775808", "1e-9223372036854775809", "0.1b*2^-9223372036854775808",
                                 "0x0.1p-9223372036854775808", "2^-99999999999999999999"})
    CHECK(encode(float16, parse_number(tiny).value()).code == 0);
}

TEST_CASE("texts that are no numbers") {
  for (const char* const text :
       {"",          " ",        "-",         "+",      "+-1",    "--1",      "-+1",      ".",
        "-.",        "e5",       ".e5",       "1e",     "1e+",    "1e-",      "1e+-5",    "1e-+5",
        "1e++5",     "1e5.0",    "1.2.3",     "1 ",     " 1",     "1f",       "0x10",     "1,5",
        "1_000",     "2^",       "2^-",       "2^+-3",  "2^1.5",  "2^3 ",     "2^^3",     "3^2",
        "1e5e5",     "infinit",  "infinity!", "in",     "nano",   "nan(1)",   "\xC2\xBD", "1e99999999999999999999x",
        "0x3C01",    "0x",       "0xp3",      "0x.p3",  "0x1p",   "0x1p+",    "0x1p+-3",  "0x1.8",
        "0x1.8.8p3", "0x1gp3",   "0x1p1.5",   "0x1p3f", "0x-1p3", "x1p3",     "b",        ".b",
        "2b",        "1.2b",     "1bb",       "1b2",    "1b*",    "1b*2",     "1b*2^",    "1b*2^-",
        "1b*3^2",    "1b*2^1.5", "1b *2^3",   "0b1",    "1e5b",   "1.1b*2^3 "}) {
    INFO(text);
    CHECK_FALSE(parse_number(text).has_value());
  }
  CHECK_FALSE(parse_number(std::string_view{"1\0", 2}).has_value());
}

TEST_CASE("decimals beside midpoints round once, in every direction") {
  for (const auto& [name, to] : all_formats()) {
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

// v, the discarded part, just below, at and just above each multiple of 2^-6, with tails that 64 bits cannot hold.
TEST_CASE("decimals round stochastically by all their digits") {
  for (const auto& [name, to] : all_formats()) {
    INFO(name);
    format finer = to;
    finer.fraction_bits += 6;
    sweep s;
    const std::uint64_t stride = finer.magnitude_mask() / 700 + 1;
    for (std::uint64_t code = 1; code < finer.magnitude_mask(); code += stride) {
      const exact_value x = value_of(finer, code);
      if (x.kind != number_class::finite) continue;
      const std::string tie = printed(test::to_double(x), true);
      for (const std::string& text : {tie, hair_below(tie), hair_above(tie)})
        for (const stochastic_definition d :
             {stochastic_definition::a, stochastic_definition::b, stochastic_definition::c})
          for (const int bits : {1, 5, 13, 32}) {
            const rounding mode{.direction = direction::stochastic, .definition = d, .random_bits = bits};
            // The random values around the one from which on the number goes up.
            const std::uint64_t end = std::uint64_t{1} << bits;
            const std::uint64_t part = bits > 6 ? (64 - code % 64) << (bits - 6) : (64 - code % 64) >> (6 - bits);
            for (const std::uint64_t random : {part - 2, part - 1, part, part + 1}) {
              if (random >= end) continue;
              const auto r = static_cast<std::uint32_t>(random);
              const encoded expected = oracle_round_decimal(to, text, mode, r);
              const auto got = parse(to, text, mode, r);
              s.expect(got && same(*got, expected),
                       [&] { return text + ' ' + to_string(mode) + " R " + std::to_string(random); });
            }
          }
    }
    CHECK(s.failures() == "");
  }
}

TEST_CASE("a tail of 64 bits decides a stochastic rounding") {
  // 1 + 2^-10 (1 - 2^-62): with 32 bits the largest R takes it up, the one below does not.
  const rounding mode{.direction = direction::stochastic, .definition = stochastic_definition::a, .random_bits = 32};
  const std::string text = "0x1.003fffffffffffffffp0";
  CHECK(parse(float16, text, mode, 0U)->code == 0x3C00);
  CHECK(parse(float16, text, mode, 1U)->code == 0x3C01);
  // 2^-100 in 2^-24 steps: 76 bits, all of which have to be ones.
  const rounding all{.direction = direction::stochastic, .random_bits = exact_probability};
  const std::uint32_t ones[] = {0xFFFFFFFF, 0xFFFFFFFF, 0xFFF00000};
  const std::uint32_t not_quite[] = {0xFFFFFFFF, 0xFFFFFFFF, 0xFFE00000};
  CHECK(parse(float16, "2^-100", all, random_input{std::span<const std::uint32_t>{ones}})->code == 1);
  CHECK(parse(float16, "2^-100", all, random_input{std::span<const std::uint32_t>{not_quite}})->code == 0);
  CHECK(discarded_bits(float16, *parse_number("2^-100")) == 76);
  CHECK_FALSE(parse_number("0x1.0000000000000000000000000000001p0")->sticky);  // 125 bits
  CHECK(parse_number("0x1.00000000000000000000000000000001p0")->low == 0);
  CHECK(parse_number("0x1.00000000000000000000000000000001p0")->sticky);
}

TEST_CASE("parse rounds as the format prescribes where nothing is said") {
  const std::string tie = "1.0009765625";  // halfway between 1 and 1 + 2^-9
  CHECK(parse(cbfloat16, tie)->code == 0x3E00);
  CHECK(parse(dlfloat16, tie)->code == 0x3E01);
  CHECK(parse(dlfloat16, tie, {})->code == 0x3E00);
  CHECK(parse(float16, "1e5")->flags == (status::overflow | status::inexact));
  CHECK(parse(float16, "1e5", {.overflow = overflow_mode::saturate})->code == 0x7BFF);
  CHECK_FALSE(parse(float16, "one").has_value());
  CHECK_FALSE(parse(float16, "one", {}).has_value());
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
        for (const char* const text : {"1e7000", "1e99999999999999999999", "2^40000", "2^99999999999999999999",
                                       "0x1p40000", "0xfp99999999999999999999", "1.1b*2^40000"})
          CHECK(same(read(to, sign + text, mode), oracle_round(to, x, mode)));
        CHECK(same(read(to, sign + "1" + std::string(7000, '0'), mode), oracle_round(to, x, mode)));
        x = minute;
        x.negative = negative;
        for (const char* const text : {"1e-7000", "1e-99999999999999999999", "2^-40000", "2^-99999999999999999999",
                                       "0x1p-40000", "0xfp-99999999999999999999", "1.1b*2^-40000"})
          CHECK(same(read(to, sign + text, mode), oracle_round(to, x, mode)));
        CHECK(same(read(to, sign + "0." + std::string(7000, '0') + "1", mode), oracle_round(to, x, mode)));
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
  // 2^127 + 1: all of the 128 bits that are held.
  CHECK(
      exact_decimal({.kind = number_class::finite, .exponent = 127, .significand = std::uint64_t{1} << 63, .low = 1}) ==
      "170141183460469231731687303715884105729");
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
  // From 10^16 on with an exponent.
  CHECK(shortest_decimal(binary64, std::bit_cast<std::uint64_t>(1e15)) == "1000000000000000");
  CHECK(shortest_decimal(binary64, std::bit_cast<std::uint64_t>(1e16)) == "1e16");
  CHECK(shortest_decimal(float16, 0xFC00) == "-inf");
  CHECK(shortest_decimal(float16, 0x7E00) == "nan");
  CHECK(shortest_decimal(cbfloat16, 0x7DFF) == "4290000000");
  CHECK(shortest_decimal(float8_e4m3fnuz, 0x80) == "nan");
  CHECK(shortest_decimal(float8_e4m3fnuz, 0x7F) == "240");
  CHECK(shortest_decimal(float6_e3m2, 0x1F) == "28");  // 30 would overflow
  CHECK(shortest_decimal(float4_e2m1, 0x07) == "6");
  CHECK(shortest_decimal(float8_e8m0, 0x00) == "6e-39");
  CHECK(shortest_decimal(dlfloat16, 0x7FFE) == "8570000000");
  CHECK(shortest_decimal(dlfloat16, 0x8000) == "-0");
  sweep s;
  for (const auto& [name, named] : all_formats())
    for (std::uint64_t code = 0; code <= named.code_mask(); ++code) {
      const format f = ending_below(named, 0);
      const exact_value x = value_of(f, code);
      const std::string text = shortest_decimal(named, code);
      const rounding mode = own_rounding(f);
      if (x.kind == number_class::finite)
        s.expect(oracle_round_decimal(f, text, mode).code == code && read(f, text, mode).code == code,
                 [&] { return text; });
      else if (x.kind != number_class::nan)
        s.expect(read(f, text).code == code, [&] { return text; });
    }
  CHECK(s.failures() == "");
}

TEST_CASE("no shorter decimal reads back, and none as short is nearer, in up to 8 bits") {
  for (const auto& [name, f] : all_formats()) {
    if (f.width() > 8) continue;
    INFO(name);
    struct best {
      int digits = 0;
      double distance = HUGE_VAL;
    };
    std::vector<best> by_code(f.max_finite_code() + 1);
    const int lowest =
        static_cast<int>(std::floor(std::log10(test::to_double(value_of(f, f.min_positive_code()))))) - 1;
    const int highest = static_cast<int>(std::ceil(std::log10(test::to_double(value_of(f, f.max_finite_code())))));
    const int most_digits = f == float8_e8m0 ? 2 : 4;
    for (int n = 1, first = 1; n <= most_digits; ++n, first *= 10)
      for (int digits = first; digits < 10 * first; ++digits)
        for (int power = lowest; power <= highest; ++power) {
          const std::string text = std::to_string(digits) + 'e' + std::to_string(power - n + 1);
          const encoded e = oracle_round_decimal(f, text);
          if ((e.code == 0 && f.has_zero()) || any(e.flags, status::overflow)) continue;
          best& b = by_code[e.code];
          const double distance = std::abs(std::strtod(text.c_str(), nullptr) - test::to_double(value_of(f, e.code)));
          if (b.digits == 0) b.digits = n;
          if (b.digits == n) b.distance = std::min(b.distance, distance);
        }
    for (std::uint64_t code = f.min_positive_code(); code <= f.max_finite_code(); ++code) {
      const std::string text = shortest_decimal(f, code);
      INFO(text);
      const double value = test::to_double(value_of(f, code));
      REQUIRE(by_code[code].digits != 0);
      CHECK(static_cast<int>(parts_of(text).digits.size()) == by_code[code].digits);
      CHECK(std::abs(std::strtod(text.c_str(), nullptr) - value) <= by_code[code].distance + 1e-14 * value);
      if (f.has_sign) CHECK(shortest_decimal(f, f.sign_mask() | code) == "-" + text);
    }
  }
}

TEST_CASE("no decimal is shorter than the shortest of the code it rounds to, in 16 bits") {
  for (const auto& [name, f] : all_formats()) {
    if (f.width() <= 8) continue;
    INFO(name);
    sweep s;
    const int lowest = static_cast<int>(std::floor(std::log10(test::to_double(value_of(f, f.min_positive_code())))));
    const int highest = static_cast<int>(std::ceil(std::log10(test::to_double(value_of(f, f.max_finite_code())))));
    for (int n = 1, first = 1; n <= 4; ++n, first *= 10)
      for (int digits = first; digits < 10 * first; digits += n < 4 ? 1 : 17)
        for (int power = lowest; power <= highest; power += highest - lowest > 20 ? 3 : 1) {
          const std::string text = std::to_string(digits) + 'e' + std::to_string(power - n + 1);
          const encoded e = oracle_round_decimal(f, text, own_rounding(f));
          if (e.code == 0 || any(e.flags, status::overflow)) continue;
          s.expect(parts_of(shortest_decimal(f, e.code)).digits.size() <= static_cast<std::size_t>(n),
                   [&] { return text + ' ' + shortest_decimal(f, e.code); });
        }
    CHECK(s.failures() == "");
  }
}

TEST_CASE("hexadecimal and binary forms are exact and read back") {
  CHECK(hexadecimal(decode(0x1.94p-14)) == "0x1.94p-14");
  CHECK(hexadecimal(decode(8.0)) == "0x1p+3");
  CHECK(hexadecimal(decode(0x1p-1074)) == "0x1p-1074");
  CHECK(hexadecimal(decode(-0.0)) == "-0x0p+0");
  CHECK(hexadecimal(decode(-HUGE_VAL)) == "-inf");
  CHECK(hexadecimal(decode(std::nan(""))) == "nan");
  CHECK(binary_scientific(decode(0x1.5p-14)) == "1.0101b*2^-14");
  CHECK(binary_scientific(decode(-8.0)) == "-1.0b*2^3");
  CHECK(binary_scientific(decode(0.0)) == "0.0b");
  CHECK(binary_scientific(decode(HUGE_VAL)) == "inf");
  const auto equal = [](const unpacked& x, const unpacked& y) {
    return x.kind == y.kind && x.negative == y.negative && x.exponent == y.exponent && x.significand == y.significand &&
           x.low == y.low && x.sticky == y.sticky;
  };
  sweep s;
  for (const auto& [name, f] : all_formats())
    for (std::uint64_t code = 0; code <= f.code_mask(); ++code) {
      unpacked x = decode(f, code);
      x.subnormal = false;
      if (x.kind == number_class::nan) continue;
      const std::string hex = hexadecimal(x);
      const std::string binary = binary_scientific(x);
      s.expect(equal(*parse_number(hex), x) && equal(*parse_number(binary), x) &&
                   equal(*parse_number(exact_decimal(x)), x) && read(ending_below(f, 0), hex).code == code,
               [&] { return hex + ' ' + binary; });
      if (x.kind == number_class::infinity) continue;
      char expected[64];
      std::snprintf(expected, sizeof expected, "%a", test::to_double(value_of(f, code)));
      s.expect(hex == expected, [&] { return hex + ", expected " + expected; });
    }
  CHECK(s.failures() == "");
  // All 128 bits.
  for (const char* const text :
       {"0x1.23456789abcdef0123456789abcdef02p-1070", "-0x1.fffffffffffffffffffffffffffffffep+9"})
    CHECK(hexadecimal(*parse_number(text)) == text);
  const std::string long_binary = "1." + std::string(126, '0') + "1b*2^-3";
  CHECK(binary_scientific(*parse_number(long_binary)) == long_binary);
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
