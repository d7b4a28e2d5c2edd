// Pins codec.hpp against the oracle: every code of the small formats, every midpoint between adjacent codes and the
// float and double neighbours of both, in every rounding, flags included; specials, the ends of the ranges, overflow
// delivery, flushing and tininess; and a table of codes worked out by hand.
#include <ulp/formats/codec.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <sstream>
#include <vector>

#include "formats/operations.hpp"
#include "support/catch.hpp"
#include "support/oracle.hpp"

namespace {

using namespace ulp;
using namespace ulp::test;

// A rounding and the random bits it is given.
struct drawn {
  rounding mode;
  std::uint32_t random = 0;
};

std::vector<drawn> deterministic_modes(const rounding& base = {}) {
  std::vector<drawn> modes;
  for (const direction d : deterministic) {
    drawn m{base};
    m.mode.direction = d;
    modes.push_back(m);
  }
  return modes;
}

std::vector<drawn> stochastic_modes(stochastic_definition definition, std::initializer_list<int> bit_counts,
                                    const rounding& base = {}) {
  std::vector<drawn> modes;
  for (const int bits : bit_counts) {
    const std::uint32_t all = 0xFFFFFFFFu >> (32 - bits);
    for (const std::uint32_t random : {0u, all, all / 2, all / 2 + 1, 0x9E3779B9u & all}) {
      drawn m{base, random};
      m.mode.direction = direction::stochastic;
      m.mode.definition = definition;
      m.mode.random_bits = bits;
      modes.push_back(m);
    }
  }
  return modes;
}

void append(std::vector<drawn>& to, const std::vector<drawn>& more) { to.insert(to.end(), more.begin(), more.end()); }

// One operand as the library and as the oracle reads it.
struct operand {
  unpacked library;
  exact_value exact;
};

operand operand_of(float x) { return {decode(x), value_of(x)}; }
operand operand_of(double x) { return {decode(x), value_of(x)}; }
operand operand_of(const format& f, std::uint64_t code) { return {decode(f, code), value_of(f, code)}; }

void compare(sweep& s, const format& to, const operand& x, const std::vector<drawn>& modes) {
  const oracle exact{operation::convert, to, {x.exact, {}, {}}};
  for (const drawn& m : modes) {
    const encoded got = encode(to, x.library, m.mode, m.random);
    const encoded expected = m.mode.daz ? oracle_round(to, x.exact, m.mode, m.random) : exact(m.mode, m.random);
    s.expect(same(got, expected), [&] {
      std::ostringstream out;
      out << std::hexfloat << test::to_double(x.exact) << std::hex << " significand 0x" << x.exact.significand << " to "
          << describe(to) << ' ' << describe(m.mode) << " random 0x" << m.random << ": " << describe(got)
          << ", expected " << describe(expected);
      return out.str();
    });
  }
}

std::vector<named_format> all_formats() {
  std::vector<named_format> all{small_formats.begin(), small_formats.end()};
  all.insert(all.end(), formats_of_other_kinds.begin(), formats_of_other_kinds.end());
  return all;
}

format with_one_more_bit(format f) {
  ++f.fraction_bits;
  return f;
}

// Every `stride`th finite number of the format with one more fraction bit, both signs: the even codes are the numbers
// of `to`, the odd ones the midpoints. Each also with its neighbours as float and as double.
void compare_codes_and_midpoints(sweep& s, const format& to, const std::vector<drawn>& modes, std::uint64_t stride) {
  const format finer = with_one_more_bit(to);
  for (std::uint64_t code = 0; code <= finer.code_mask(); code += stride) {
    const operand x = operand_of(finer, code);
    if (x.exact.kind != number_class::finite && x.exact.kind != number_class::zero) continue;
    compare(s, to, x, modes);
    const double value = test::to_double(x.exact);
    const auto narrow = static_cast<float>(value);
    for (const double end : {-HUGE_VAL, HUGE_VAL}) {
      compare(s, to, operand_of(std::nextafter(narrow, static_cast<float>(end))), modes);
      compare(s, to, operand_of(std::nextafter(value, end)), modes);
    }
  }
}

// Zeros, infinities, NaNs of both kinds with payloads at every bit, subnormals of float and double, powers of two over
// double's whole range (so half the smallest subnormal, the largest finite number and beyond), and their neighbours.
std::vector<operand> range_ends_and_specials() {
  std::vector<operand> all;
  for (const std::uint64_t sign : {std::uint64_t{0}, std::uint64_t{1}}) {
    const auto add_float = [&](std::uint64_t code) { all.push_back(operand_of(binary32, sign << 31 | code)); };
    const auto add_double = [&](std::uint64_t code) { all.push_back(operand_of(binary64, sign << 63 | code)); };
    for (int bit = 0; bit < 23; ++bit)
      for (const std::uint64_t fraction : {std::uint64_t{1} << bit, (std::uint64_t{2} << bit) - 1}) {
        add_float(0x7F800000 | fraction);
        add_float(0x7FC00000 | fraction);
        add_float(fraction);
      }
    for (int bit = 0; bit < 52; ++bit)
      for (const std::uint64_t fraction : {std::uint64_t{1} << bit, (std::uint64_t{2} << bit) - 1}) {
        add_double(0x7FF0000000000000 | fraction);
        add_double(0x7FF8000000000000 | fraction);
        add_double(fraction);
      }
    for (std::uint64_t field = 0; field < 256; ++field)
      for (const std::uint64_t fraction : {0x0u, 0x1u, 0x400000u, 0x400001u, 0x600000u, 0x7FFFFFu})
        if (field < 255 || fraction == 0) add_float(field << 23 | fraction);
    for (std::uint64_t field = 0; field < 2048; ++field)
      for (const std::uint64_t fraction : {0x0ull, 0x1ull, 0x8000000000000ull, 0xC000000000000ull, 0xFFFFFFFFFFFFFull})
        if (field < 2047 || fraction == 0) add_double(field << 52 | fraction);
  }
  return all;
}

std::vector<drawn> with_saturation(std::vector<drawn> modes) {
  for (drawn& m : modes) m.mode.overflow = overflow_mode::saturate;
  return modes;
}

}  // namespace

TEST_CASE("codes worked out by hand") {
  struct row {
    double x;
    std::uint64_t code;
    status flags = status::none;
  };
  const auto check = [](const format& to, const rounding& mode, std::initializer_list<row> rows) {
    for (const row& r : rows) {
      INFO(describe(to) << ' ' << std::hexfloat << r.x);
      CHECK(encode(to, r.x, mode).code == r.code);
      CHECK(encode(to, r.x, mode).flags == r.flags);
      CHECK(oracle_round(to, value_of(r.x), mode).code == r.code);
      CHECK(oracle_round(to, value_of(r.x), mode).flags == r.flags);
    }
  };
  const status inexact = status::inexact;
  const status over = status::overflow | status::inexact;
  const status under = status::underflow | status::inexact;
  check(cbfloat16, {},
        {{1.0, 0x3E00},
         {-2.0, 0xC000},
         {0.1, 0x3733, inexact},
         {1.0 / 3, 0x3AAB, inexact},
         {3.14159265358979311600, 0x4124, inexact},
         {65504, 0x5E00, inexact},
         {65472, 0x5DFF},
         {0x1p31, 0x7C00},
         {4290774016, 0x7DFF, inexact},
         {4290772992, 0x7DFF},
         {4292870143, 0x7DFF, inexact},
         {4292870144, 0x7E00, over},
         {0x1p-30, 0x0200},
         {0x1p-30 * (1 - 0x1p-10), 0x0200, under},    // to 10 bits it is exact, so tiny after rounding
         {0x1p-30 * (1 - 0x1p-12), 0x0200, inexact},  // tiny before rounding only
         {0x1p-30 * (1 - 0x1p-9), 0x01FF},
         {0x1p-39, 0x0001},
         {0x1p-40, 0x0000, under},
         {0x1p-40 * (1 + 0x1p-20), 0x0001, under},
         {1 + 0x1p-10, 0x3E00, inexact},
         {1 + 3 * 0x1p-10, 0x3E02, inexact},
         {0x1p-14, 0x2200},
         {0x1p-24, 0x0E00},
         {1e-8, 0x08AF, inexact},
         {1e-12, 0x0001, under}});
  check(float16, {}, {{65519.99, 0x7BFF, inexact}, {65520, 0x7C00, over}, {0x1p-25, 0, under}, {-0.0, 0x8000}});
  check(float8_e4m3fn, {}, {{448, 0x7E}, {464, 0x7E, inexact}, {464.1, 0x7F, over}, {-480, 0xFF, over}});
  check(float8_e4m3fn, {.overflow = overflow_mode::saturate}, {{-480, 0xFE, over}, {HUGE_VAL, 0x7E, over}});
  check(float8_e4m3fn, {.overflow = overflow_mode::saturate_finite},
        {{-480, 0xFE, over}, {HUGE_VAL, 0x7F, status::invalid}});
  check(float16, {.overflow = overflow_mode::saturate_finite},
        {{1e6, 0x7BFF, over}, {-1e300, 0xFBFF, over}, {HUGE_VAL, 0x7C00}, {-HUGE_VAL, 0xFC00}});
  check(float8_e4m3fn, {}, {{HUGE_VAL, 0x7F, status::invalid}});
  check(float8_e5m2, {.direction = direction::toward_negative},
        {{61440, 0x7B, inexact},
         {65536, 0x7B, over},
         {-61440, 0xFC, over},
         {57345, 0x7B, inexact},
         {1e-9, 0, under},
         {-1e-9, 0x81, under}});
  check(float8_e5m2, {.direction = direction::to_odd},
        {{1.01, 0x3D, inexact}, {1.26, 0x3D, inexact}, {1e9, 0x7B, over}, {1e-9, 1, under}});
}

TEST_CASE("conversion is a constant expression") {
  STATIC_REQUIRE(encode(float16, 65504.0f).code == 0x7BFF);
  STATIC_REQUIRE(encode(cbfloat16, 0.1).code == 0x3733);
  STATIC_REQUIRE(ulp::to_double(cbfloat16, 0x3733) == 0.0999755859375);
  STATIC_REQUIRE(ulp::to_float(float16, 0x0001) == 0x1p-24f);
}

TEST_CASE("every code decodes to its exact value and encodes back to itself") {
  sweep s;
  const auto round_trip = [&s](const format& f) {
    for (std::uint64_t code = 0; code <= f.code_mask(); ++code) {
      const exact_value x = value_of(f, code);
      const unpacked u = decode(f, code);
      bool agrees = u.kind == x.kind && u.negative == x.negative && u.subnormal == x.subnormal &&
                    u.signaling == x.signaling && !u.sticky;
      std::uint64_t back = code;
      if (x.kind == number_class::finite) {
        const double value = test::to_double(x);
        agrees = agrees && u.significand >> 63 == 1 && ulp::to_double(f, code) == value &&
                 std::ldexp(static_cast<double>(u.significand), u.exponent - 63) == std::abs(value) &&
                 to_float(f, code) == static_cast<float>(value);
      }
      if (x.kind == number_class::nan) {
        agrees = agrees && u.significand == x.significand && std::isnan(to_float(f, code)) &&
                 std::isnan(ulp::to_double(f, code));
        if (f.top == specials::ieee) back |= f.quiet_bit();
      }
      // Bits above the code are not read.
      agrees = agrees && decode(f, code | ~f.code_mask()).kind == u.kind;
      for (const direction d : deterministic) {
        const encoded e = encode(f, u, {.direction = d, .flush = flush::never});
        const bool is_beyond = x.kind == number_class::finite && (code & f.magnitude_mask()) > f.max_finite_code();
        agrees = agrees && (is_beyond ? same(e, oracle_round(f, x, {.direction = d}))
                                      : e.code == back && e.flags == (u.signaling ? status::invalid : status::none));
      }
      s.expect(agrees, [&] { return describe(f) + ' ' + describe(encoded{code}); });
    }
  };
  for (const named_format& f : all_formats()) round_trip(f.format);
  round_trip(tf32);
  CHECK(s.failures() == "");
  CHECK(s.compared() == 4 * 65536 + 11 * 256 + 2 * 64 + 2 * 16 + 524288);
}

TEST_CASE("decode ignores bits above the code") {
  for (const named_format& f : small_formats)
    CHECK(decode(f.format, ~f.format.code_mask() | 1).significand == decode(f.format, 1).significand);
}

TEST_CASE("codes, midpoints and their neighbours round as by definition, deterministic directions") {
  const auto run = [](const format& to, std::uint64_t stride) {
    sweep s;
    compare_codes_and_midpoints(s, to, deterministic_modes(), stride);
    CHECK(s.failures() == "");
  };
  for (const named_format& f : all_formats()) run(f.format, 1);
  run(tf32, 1);
}

TEST_CASE("codes, midpoints and their neighbours round as by definition, stochastic") {
  using enum stochastic_definition;
  using definitions = std::initializer_list<stochastic_definition>;
  const auto run = [](const format& to, std::uint64_t stride, definitions chosen) {
    sweep s;
    for (const stochastic_definition d : chosen)
      compare_codes_and_midpoints(s, to, stochastic_modes(d, {1, 3, 8, 13, 32}), stride);
    CHECK(s.failures() == "");
  };
  for (const named_format& f : all_formats())
    if (f.format.width() <= 8) run(f.format, 1, {a, b, c});
  run(dlfloat16, 3, {a});
  for (const format& f : {float16, bfloat16, cbfloat16}) run(f, 1, {a});
  run(tf32, 7, {a});
}

// Midpoints and their neighbours leave most random bits unread. Here significands end any number of bits below the last
// kept one, with and without a little more, and random values are those just at the edge between down and up.
TEST_CASE("the edge between down and up in stochastic rounding") {
  for (const named_format& f : all_formats()) {
    const format& to = f.format;
    sweep s;
    std::uint64_t bits = 0x123456789ABCDEF;
    for (int i = 0; i < 3000; ++i) {
      bits = bits * 6364136223846793005 + 1442695040888963407;
      const int lowest = to.min_quantum_exponent() - 3;
      const int exponent = lowest + static_cast<int>((bits >> 33) % static_cast<unsigned>(to.emax() + 2 - lowest));
      const int kept = to.fraction_bits + i % (53 - to.fraction_bits);
      const double significand = 1 + std::ldexp(static_cast<double>(bits >> 12 >> (52 - kept) | 1), -kept);
      const double magnitude = std::ldexp(significand, exponent);
      const double step = std::ldexp(1.0, std::max(exponent, to.emin()) - to.fraction_bits);
      const double part = std::fmod(magnitude, step) / step;
      std::vector<drawn> modes;
      for (const auto d : {stochastic_definition::a, stochastic_definition::b, stochastic_definition::c})
        for (const int n : {1, 2, 3, 8, 13, 16, 31, 32}) {
          const auto all = std::int64_t{0xFFFFFFFF >> (32 - n)};
          const std::int64_t edge = all + 1 - static_cast<std::int64_t>(std::ldexp(part, n));
          const rounding mode{.direction = direction::stochastic, .definition = d, .random_bits = n};
          for (std::int64_t random = edge - 2; random <= edge + 1; ++random)
            if (random >= 0 && random <= all) modes.push_back({mode, static_cast<std::uint32_t>(random)});
        }
      operand x = operand_of(i % 2 == 0 ? magnitude : -magnitude);
      compare(s, to, x, modes);
      x.library.sticky = true;
      x.exact.more = true;
      compare(s, to, x, modes);
    }
    CHECK(s.failures() == "");
  }
}

TEST_CASE("specials and the ends of the ranges") {
  std::vector<drawn> modes = deterministic_modes();
  append(modes, with_saturation(modes));
  const auto stochastic = stochastic_modes(stochastic_definition::a, {8, 32});
  append(modes, stochastic);
  append(modes, with_saturation(stochastic));
  const std::vector<operand> operands = range_ends_and_specials();
  const auto run = [&](const format& to) {
    sweep s;
    for (const operand& x : operands) compare(s, to, x, modes);
    CHECK(s.failures() == "");
  };
  for (const named_format& f : all_formats()) run(f.format);
  run(tf32);
}

TEST_CASE("formats at the ends of what a format may be") {
  std::vector<drawn> modes = deterministic_modes();
  append(modes, stochastic_modes(stochastic_definition::a, {32}));
  const std::vector<operand> operands = range_ends_and_specials();
  for (const format& to :
       {format{2, 1, 1}, format{2, 52, 1}, format{11, 1, 1023}, binary32, binary64,
        format{3, 2, 3, specials::nan_all_ones}, format{4, 3, 20}, format{4, 3, -5},
        format{11, 52, 1024, specials::nan_negative_zero}, format{2, 1, 1, specials::nan_negative_zero},
        format{11, 52, 1023, specials::none}, format{6, 9, 30, specials::none},
        format{3, 2, 3, specials::none, lowest_binade::normals_and_zero},
        format{2, 1, 1, specials::ieee, lowest_binade::normals_and_zero}}) {
    sweep s;
    for (const operand& x : operands) compare(s, to, x, modes);
    CHECK(s.failures() == "");
  }
}

TEST_CASE("a format without sign takes no negative number, with subnormals either") {
  for (const specials top : {specials::ieee, specials::nan_all_ones, specials::none}) {
    const format f{.exponent_bits = 4, .fraction_bits = 4, .bias = 7, .top = top, .has_sign = false};
    REQUIRE(f.is_valid());
    const std::uint64_t code = f.has_nan() ? f.nan_code() : f.max_finite_code();
    for (const double x : {-1.0, -1e-9, -0x1p-8, -1e9}) {
      const encoded got = encode(f, x);
      CHECK(got.code == code);
      CHECK(got.flags == status::invalid);
    }
    CHECK(encode(f, -0.0).code == 0);
    CHECK(encode(f, 1.0).code == 0x70);
  }
}

TEST_CASE("NaN payloads convert between formats") {
  sweep s;
  for (const named_format& from : all_formats())
    for (const format& to :
         {float16, bfloat16, cbfloat16, tf32, float8_e4m3fn, float8_e5m2, float8_e4m3fnuz, float8_e5m2fnuz, float6_e3m2,
          float6_e2m3, float4_e2m1, float8_e8m0, dlfloat16, binary32, binary64})
      for (std::uint64_t code = 0; code <= from.format.code_mask(); ++code)
        if (value_of(from.format, code).kind == number_class::nan)
          compare(s, to, operand_of(from.format, code), {drawn{}});
  CHECK(s.failures() == "");
  // As vcvtps2ph: quieted, the leading payload bits kept.
  CHECK(encode(float16, std::bit_cast<float>(0x7FA02000u)).code == 0x7F01);
  CHECK(encode(float16, std::bit_cast<float>(0xFF800001u)).code == 0xFE00);
  CHECK(encode(float16, std::bit_cast<float>(0xFF800001u)).flags == status::invalid);
  CHECK(encode(float8_e4m3fn, std::bit_cast<float>(0xFF800001u)).code == 0xFF);
}

TEST_CASE("every flush, DAZ, tininess, overflow and direction of the formats of at most 8 bits") {
  std::vector<drawn> modes;
  for (const auto overflow : {overflow_mode::ieee, overflow_mode::saturate, overflow_mode::saturate_finite})
    for (const auto how : {flush::never, flush::before_rounding, flush::after_rounding, flush::result})
      for (const bool daz : {false, true})
        for (const auto tiny : {tininess::after_rounding, tininess::before_rounding}) {
          const rounding base{.overflow = overflow, .flush = how, .daz = daz, .tininess = tiny};
          append(modes, deterministic_modes(base));
          for (const auto d : {stochastic_definition::a, stochastic_definition::b, stochastic_definition::c})
            append(modes, stochastic_modes(d, {3}, base));
        }
  for (const format& to : {float8_e4m3fn, float8_e5m2, float8_e4m3fnuz, float8_e5m2fnuz, float6_e3m2, float6_e2m3,
                           float4_e2m1, float8_e8m0}) {
    sweep s;
    compare_codes_and_midpoints(s, to, modes, 1);
    CHECK(s.failures() == "");
  }
}

// The places where after-rounding and before-rounding differ: between the largest subnormal and the smallest normal
// number, at a quarter of a step and finer, where rounding to the format's precision may carry and the subnormal grid
// not, and the other way round.
TEST_CASE("tininess and flushing just below the smallest normal number") {
  std::vector<drawn> modes;
  for (const auto how : {flush::never, flush::before_rounding, flush::after_rounding, flush::result})
    for (const auto tiny : {tininess::after_rounding, tininess::before_rounding}) {
      const rounding base{.flush = how, .tininess = tiny};
      append(modes, deterministic_modes(base));
      append(modes, stochastic_modes(stochastic_definition::a, {1, 3, 8}, base));
    }
  for (const named_format& f : all_formats()) {
    sweep s;
    const double step = std::ldexp(1.0, f.format.min_quantum_exponent());
    const double smallest_normal = std::ldexp(1.0, f.format.emin());
    for (int i = 0; i <= 64; ++i)
      for (const double sign : {1.0, -1.0}) {
        const double x = sign * (smallest_normal - i * step / 32);
        for (const double y : {std::nextafter(x, 0.0), x, std::nextafter(x, sign * HUGE_VAL)})
          compare(s, f.format, operand_of(y), modes);
      }
    CHECK(s.failures() == "");
  }
}

TEST_CASE("a sticky bit stands for a little more") {
  std::vector<drawn> modes = deterministic_modes();
  for (const auto d : {stochastic_definition::a, stochastic_definition::b, stochastic_definition::c})
    append(modes, stochastic_modes(d, {1, 8, 32}));
  for (const named_format& f : all_formats()) {
    sweep s;
    const format finer = with_one_more_bit(f.format);
    for (std::uint64_t code = 1; code <= finer.code_mask(); code += f.format.width() > 8 ? 37 : 1) {
      operand x = operand_of(finer, code);
      if (x.exact.kind != number_class::finite) continue;
      x.library.sticky = true;
      x.exact.more = true;
      compare(s, f.format, x, modes);
    }
    CHECK(s.failures() == "");
  }
}

TEST_CASE("scaling by a power of two is exact and leaves specials alone") {
  CHECK(encode(float16, scaled(decode(0x1p-149f), 149)).code == 0x3C00);
  CHECK(encode(float16, scaled(decode(-3.0f), -20)).code == encode(float16, -3.0f * 0x1p-20f).code);
  CHECK(encode(float16, scaled(decode(-0.0f), 9)).code == 0x8000);
  CHECK(encode(float16, scaled(decode(std::numeric_limits<float>::infinity()), -200)).code == 0x7C00);
}

TEST_CASE("to_float rounds to nearest even where float is too narrow") {
  sweep s;
  std::uint64_t bits = 1;
  for (int i = 0; i < 200000; ++i) {
    bits = bits * 6364136223846793005 + 1442695040888963407;
    // Exponents around both ends of float's range and in its middle.
    const std::uint64_t code = (bits & 0x800FFFFFFFFFFFFF) | (std::uint64_t{860} + (bits >> 40) % 300) << 52;
    const float expected = static_cast<float>(std::bit_cast<double>(code));
    s.expect(std::bit_cast<std::uint32_t>(to_float(binary64, code)) == std::bit_cast<std::uint32_t>(expected),
             [&] { return describe(encoded{code}); });
  }
  CHECK(s.failures() == "");
}
