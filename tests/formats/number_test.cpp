// Pins number.hpp and number_fmt.hpp: the operators are arithmetic.hpp's results to nearest (all pairs of formats up to
// 8 bits, samples of the others with cancellation and ties among them), the traits, conversions, literals and text.
#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <sstream>
#include <string>
#include <tuple>
#include <type_traits>
#include <ulp/formats/arithmetic.hpp>
#include <ulp/formats/number.hpp>
#include <ulp/formats/number_fmt.hpp>
#include <ulp/formats/text.hpp>
#include <unordered_set>
#include <vector>

#include "formats/sweep.hpp"
#include "support/catch.hpp"

using namespace ulp;
using namespace ulp::test;

namespace {

using all_types =
    std::tuple<float16_t, bfloat16_t, cbfloat16_t, tf32_t, float8_e4m3fn_t, float8_e5m2_t, float8_e4m3fnuz_t,
               float8_e5m2fnuz_t, float6_e3m2_t, float6_e2m3_t, float4_e2m1_t, dlfloat16_t, number<binary8p3se>,
               number<ending_below(float8_e4m3fnuz, 1)>, number<ending_below(float8_e4m3fn, 7)>,
               number<ending_below(float8_e5m2, 6)>, number<ending_below(binary8p4se, 3)>>;

template <class Check, class... T>
void for_each(std::tuple<T...>*, Check check) {
  (check(T{}), ...);
}
// check(T{}) for each value type.
template <class Check>
void for_all_types(Check check) {
  for_each(static_cast<all_types*>(nullptr), check);
}

template <class T>
T of(std::uint64_t code) {
  return T::from_code(code);
}

struct generator {
  std::uint64_t state;
  std::uint64_t operator()() {
    state = state * 6364136223846793005 + 1442695040888963407;
    return (state ^ (state >> 29)) * 0xBF58476D1CE4E5B9 >> 7;
  }
};

template <class T>
void compare_binary(sweep& s, T a, T b) {
  constexpr ulp::format f = T::definition;
  const auto check = [&](const char* name, T got, const encoded& expected) {
    s.expect(got.code() == expected.code, [&] {
      return std::string{name} + ' ' + describe(encoded{a.code()}) + ' ' + describe(encoded{b.code()}) + ": " +
             describe(encoded{got.code()}) + " for " + describe(expected);
    });
  };
  check("add", a + b, add(f, a.code(), b.code(), T::mode));
  check("sub", a - b, sub(f, a.code(), b.code(), T::mode));
  check("mul", a * b, mul(f, a.code(), b.code(), T::mode));
  check("div", a / b, div(f, a.code(), b.code(), T::mode));
  check("rem", remainder(a, b), rem(f, a.code(), b.code(), T::mode));
  const std::partial_ordering order = compare_quiet(f, a.code(), b.code(), T::mode.daz).order;
  s.expect((a < b) == (order < 0) && (a > b) == (order > 0) && (a == b) == (order == 0) && (a != b) == (order != 0) &&
               (a <= b) == (order <= 0) && (a >= b) == (order >= 0),
           [&] { return "order of " + describe(encoded{a.code()}) + ' ' + describe(encoded{b.code()}); });
}

template <class T>
void compare_fma(sweep& s, T a, T b, T c) {
  const encoded expected = ulp::fma(T::definition, a.code(), b.code(), c.code(), T::mode);
  const T got = fma(a, b, c);
  s.expect(got.code() == expected.code, [&] {
    return "fma " + describe(encoded{a.code()}) + ' ' + describe(encoded{b.code()}) + ' ' +
           describe(encoded{c.code()}) + ": " + describe(encoded{got.code()}) + " for " + describe(expected);
  });
}

// A kernel as it is written for float.
template <class T>
T dot(const std::vector<T>& x, const std::vector<T>& y) {
  T sum{0};
  for (std::size_t i = 0; i < x.size(); ++i) sum += x[i] * y[i];
  return sum;
}
template <class T>
T norm(const std::vector<T>& x) {
  using std::sqrt;
  T largest{0};
  for (const T& value : x) {
    using std::abs;
    if (abs(value) > largest) largest = abs(value);
  }
  if (largest == T(0)) return largest;
  T sum{0};
  for (T value : x) {
    value /= largest;
    sum += value * value;
  }
  return largest * sqrt(sum);
}

}  // namespace

TEST_CASE("operators give the results of arithmetic.hpp") {
  for_all_types([]<class T>(T) {
    constexpr ulp::format f = T::definition;
    sweep s;
    generator next{7};
    const auto is_beyond = [&](std::uint64_t code) {
      const std::uint64_t magnitude = code & f.magnitude_mask();
      return magnitude > f.max_finite_code() && magnitude <= f.last_number_code();
    };
    if constexpr (f.width() <= 8) {
      for (std::uint64_t a = 0; a <= f.code_mask(); ++a)
        for (std::uint64_t b = 0; b <= f.code_mask(); ++b) {
          compare_binary(s, of<T>(a), of<T>(b));
          compare_fma(s, of<T>(a), of<T>(b), of<T>(next()));
        }
    }
    for (int i = 0; i < 150000; ++i) {
      const T a = of<T>(next());
      // Of equal size and of any; sums near the negative product.
      const T b = i % 4 == 0 ? of<T>((a.code() ^ f.sign_mask()) + next() % 8) : of<T>(next());
      compare_binary(s, a, b);
      compare_fma(s, a, b, of<T>(next()));
      compare_fma(s, a, b, of<T>((a * b).code() + next() % 4 - 2));
      compare_fma(s, a, b, of<T>(((a * b).code() ^ f.sign_mask()) + next() % 4 - 2));
      compare_fma(s, a, of<T>(b.code() & 0xF), of<T>(next() & 0xF));
    }
    for (std::uint64_t a = 0; a <= f.code_mask(); a += f.width() > 16 ? 7 : 1) {
      s.expect(sqrt(of<T>(a)).code() == ulp::sqrt(f, a, T::mode).code, [&] { return "sqrt " + describe(encoded{a}); });
      // Exactly what the value is.
      s.expect(std::bit_cast<std::uint64_t>(static_cast<double>(of<T>(a))) ==
                       std::bit_cast<std::uint64_t>(to_double(f, a)) &&
                   (isnan(of<T>(a)) || T(static_cast<double>(of<T>(a))).code() == a || is_beyond(a)) &&
                   (isnan(of<T>(a)) || T(static_cast<float>(of<T>(a))).code() == a || is_beyond(a)),
               [&] { return "value of " + describe(encoded{a}); });
    }
    INFO(describe(f));
    CHECK(s.failures() == "");
  });
}

namespace {

template <class T, class Number>
void compare_conversion(sweep& s, Number x) {
  for (const Number y : {x, std::nextafter(x, Number{HUGE_VALF}), std::nextafter(x, -Number{HUGE_VALF})}) {
    const encoded expected = encode(T::definition, y, T::mode);
    s.expect(T(y).code() == expected.code, [&] {
      std::ostringstream out;
      out << std::hexfloat << y << ": " << describe(encoded{T(y).code()}) << " for " << describe(expected);
      return out.str();
    });
  }
}

// Every number of the format and every midpoint, or many of them, their neighbours, and numbers of any size.
template <class T>
sweep compare_conversions() {
  sweep s;
  generator next{11};
  ulp::format midpoints = T::definition;
  ++midpoints.fraction_bits;
  const std::uint64_t stride = midpoints.width() > 17 ? 61 : 1;
  for (std::uint64_t code = 0; code <= midpoints.code_mask(); code += stride) {
    compare_conversion<T>(s, to_double(midpoints, code));
    compare_conversion<T>(s, to_float(midpoints, code));
  }
  for (int i = 0; i < 100000; ++i) {
    const std::uint64_t bits = next() << 8 ^ next();
    compare_conversion<T>(s, std::bit_cast<double>(bits));
    compare_conversion<T>(s, std::bit_cast<float>(static_cast<std::uint32_t>(bits >> 20)));
  }
  return s;
}

}  // namespace

TEST_CASE("float and double become what encode makes of them") {
  for_all_types([]<class T>(T) {
    INFO(describe(T::definition));
    CHECK(compare_conversions<T>().failures() == "");
    CHECK(compare_conversions<number<T::definition, rounding{.direction = direction::nearest_away}>>().failures() ==
          "");
  });
  // Below float's smallest normal number; no sign of zero; one exponent bit more than float.
  CHECK(compare_conversions<number<format{.exponent_bits = 8, .fraction_bits = 7, .bias = 135}>>().failures() == "");
  CHECK(compare_conversions<number<format{.exponent_bits = 9, .fraction_bits = 6, .bias = 255}>>().failures() == "");
  CHECK(compare_conversions<number<format{.exponent_bits = 4, .fraction_bits = 3, .bias = 11, .top = specials::none}>>()
            .failures() == "");
}

TEST_CASE("the rounding is a part of the type") {
  constexpr rounding saturating{.overflow = overflow_mode::saturate};
  constexpr rounding away{.direction = direction::nearest_away};
  constexpr rounding truncating{.direction = direction::toward_zero};
  constexpr rounding down_without_subnormals{
      .direction = direction::toward_negative, .flush = flush::after_rounding, .daz = true};
  static_assert(std::is_same_v<number<float16>, number<float16, rounding{}>>);
  static_assert(std::is_same_v<dlfloat16_t, number<dlfloat16, away>>);
  using types =
      std::tuple<number<float8_e4m3fn, saturating>, number<float8_e5m2, saturating>, number<float6_e2m3, away>,
                 number<float8_e5m2, away>, number<float8_e4m3fnuz, away>, number<float8_e5m2, truncating>,
                 number<float8_e4m3fn, truncating>, number<float6_e3m2, rounding{.direction = direction::to_odd}>,
                 number<float8_e5m2, rounding{.direction = direction::toward_positive}>,
                 number<float8_e4m3fn, down_without_subnormals>, number<float8_e5m2, rounding{.flush = flush::result}>,
                 number<float8_e5m2, rounding{.daz = true}>, number<float16, saturating>, number<float16, away>,
                 number<bfloat16, truncating>, number<dlfloat16, rounding{}>>;
  for_each(static_cast<types*>(nullptr), []<class T>(T) {
    constexpr ulp::format f = T::definition;
    static_assert(sizeof(T) == sizeof(typename T::code_type) && std::is_trivial_v<T>);
    sweep s;
    generator next{11};
    for (std::uint64_t a = 0; f.width() <= 8 && a <= f.code_mask(); ++a)
      for (std::uint64_t b = 0; b <= f.code_mask(); ++b) {
        compare_binary(s, of<T>(a), of<T>(b));
        compare_fma(s, of<T>(a), of<T>(b), of<T>(next()));
      }
    for (int i = 0; i < 50000; ++i) {
      const T a = of<T>(next());
      const T b = i % 4 == 0 ? of<T>((a.code() ^ f.sign_mask()) + next() % 8) : of<T>(next());
      compare_binary(s, a, b);
      compare_fma(s, a, b, of<T>(((a * b).code() ^ f.sign_mask()) + next() % 4 - 2));
      const double x = std::ldexp(static_cast<double>(next() % 4096) - 2048, static_cast<int>(next() % 60) - 40);
      s.expect(T(x).code() == encode(f, x, T::mode).code &&
                   T(static_cast<float>(x)).code() == encode(f, static_cast<float>(x), T::mode).code &&
                   T(a.code()).code() == from_integer(f, a.code(), T::mode).code &&
                   sqrt(a).code() == ulp::sqrt(f, a.code(), T::mode).code,
               [&] { return "conversion " + std::to_string(x); });
      s.expect(!(a == b) || std::hash<T>{}(a) == std::hash<T>{}(b),
               [&] { return "hash " + describe(encoded{a.code()}); });
    }
    INFO(describe(f) << ' ' << describe(T::mode));
    CHECK(s.failures() == "");
  });

  using ending = number<float8_e4m3fn, saturating>;
  static_assert(ending(1000.0f) == std::numeric_limits<ending>::max() && ending(448) * ending(2) == ending(448));
  static_assert(isnan(float8_e4m3fn_t(448) * float8_e4m3fn_t(2)));
  static_assert(float16_t(0.3).code() == 0x34CD && number<float16, truncating>(0.3).code() == 0x34CC);
  // Types of different roundings do not mix unless they are converted, each by its own rounding.
  static_assert(!std::is_convertible_v<float8_e4m3fn_t, ending> && !std::is_convertible_v<ending, float8_e4m3fn_t>);
  static_assert(ending(float16_t(1000)) == ending(448) && isnan(float8_e4m3fn_t(float16_t(1000))));
  static_assert(float8_e4m3fn_t(ending(448)) == float8_e4m3fn_t(448));
  static_assert(std::numeric_limits<number<float16, truncating>>::round_style == std::round_toward_zero);
  static_assert(std::numeric_limits<number<float16, saturating>>::is_iec559 == false);
  static_assert(std::numeric_limits<float16_t>::is_iec559 && std::numeric_limits<float16_t>::round_error() == 0.5_f16);
  // What is no rounding of values.
  constexpr auto takes = []<rounding R>() {
    return requires { typename number<float16, R>; };
  };
  static_assert(takes.operator()<rounding{}>() && !takes.operator()<rounding{.direction = direction::stochastic}>() &&
                !takes.operator()<rounding{.random_bits = 40}>());
  // Text is in the format's own rounding: it reads back.
  const auto near = number<float16, truncating>::from_code(0x34CD);
  CHECK(fmt::format("{}", near) == "0.3");
  std::istringstream in{"0.3"};
  number<float16, truncating> read{};
  in >> read;
  CHECK(read == near);
}

TEST_CASE("classification and sign") {
  for_all_types([]<class T>(T) {
    constexpr ulp::format f = T::definition;
    sweep s;
    for (std::uint64_t a = 0; a <= f.code_mask(); a += f.width() > 16 ? 3 : 1) {
      const T x = of<T>(a);
      const unpacked u = decode(f, a);
      s.expect(isnan(x) == (u.kind == number_class::nan) && isinf(x) == (u.kind == number_class::infinity) &&
                   isfinite(x) == (u.kind == number_class::finite || u.kind == number_class::zero) &&
                   isnormal(x) == (u.kind == number_class::finite && !u.subnormal) && signbit(x) == u.negative &&
                   static_cast<bool>(x) == (u.kind != number_class::zero),
               [&] { return "class of " + describe(encoded{a}); });
      if (isnan(x)) continue;
      s.expect(static_cast<double>(-x) == -to_double(f, a) &&
                   static_cast<double>(abs(x)) == std::abs(to_double(f, a)) &&
                   static_cast<double>(copysign(x, T(-1))) == -std::abs(to_double(f, a)) &&
                   static_cast<double>(+x) == to_double(f, a),
               [&] { return "sign of " + describe(encoded{a}); });
    }
    INFO(describe(f));
    CHECK(s.failures() == "");
  });
  CHECK((-float8_e4m3fnuz_t{}).code() == 0);
  CHECK((-float16_t{}).code() == 0x8000);
}

TEST_CASE("a type of its code's size, with explicit conversions only") {
  for_all_types([]<class T>(T) {
    static_assert(std::is_trivial_v<T> && std::is_standard_layout_v<T>);
    static_assert(sizeof(T) == sizeof(typename T::code_type) && 8 * sizeof(T) >= T::definition.width());
    static_assert(std::is_constructible_v<T, float> && std::is_constructible_v<T, double> &&
                  std::is_constructible_v<T, int> && std::is_constructible_v<T, std::uint64_t>);
    static_assert(!std::is_convertible_v<float, T> && !std::is_convertible_v<double, T> &&
                  !std::is_convertible_v<int, T> && !std::is_convertible_v<T, float> &&
                  !std::is_convertible_v<T, double> && !std::is_convertible_v<T, int> &&
                  !std::is_convertible_v<T, bool>);
    static_assert(std::is_same_v<T, float8_e5m2_t> || !std::is_convertible_v<T, float8_e5m2_t>);
    static_assert(std::is_constructible_v<T, float8_e5m2_t> && std::is_constructible_v<float, T>);
    static_assert(std::three_way_comparable<T, std::partial_ordering>);
  });
  static_assert(sizeof(float16_t) == 2 && sizeof(float4_e2m1_t) == 1 && sizeof(tf32_t) == 4);
}

TEST_CASE("numeric_limits") {
  using half = std::numeric_limits<float16_t>;
  static_assert(half::is_specialized && half::is_iec559 && half::digits == 11 && half::digits10 == 3);
  static_assert(half::max_digits10 == 5 && half::min_exponent == -13 && half::max_exponent == 16);
  static_assert(half::min_exponent10 == -4 && half::max_exponent10 == 4);
  static_assert(half::max() == 65504_f16 && half::lowest() == -65504_f16 && half::min() == 0x1p-14_f16);
  static_assert(half::denorm_min() == 0x1p-24_f16 && half::epsilon() == 0x1p-10_f16);
  static_assert(half::infinity().code() == 0x7C00 && half::quiet_NaN().code() == 0x7E00);
  static_assert(half::signaling_NaN().code() == 0x7D00);

  using brain = std::numeric_limits<bfloat16_t>;
  static_assert(!brain::is_iec559 && brain::digits == 8 && brain::digits10 == 2 && brain::max_digits10 == 4);
  static_assert(brain::min_exponent10 == -37 && brain::max_exponent10 == 38);
  using cerebras = std::numeric_limits<cbfloat16_t>;
  static_assert(cerebras::max() == 4290772992_cb16 && cerebras::min() == 0x1p-30_cb16 && cerebras::digits == 10);
  static_assert(cerebras::min_exponent10 == -9 && cerebras::max_exponent10 == 9);

  using fn = std::numeric_limits<float8_e4m3fn_t>;
  static_assert(!fn::has_infinity && fn::has_quiet_NaN && !fn::has_signaling_NaN && fn::max() == 448_e4m3fn);
  static_assert(fn::infinity() == float8_e4m3fn_t{} && fn::max_exponent == 9 && fn::max_exponent10 == 2);
  using fnuz = std::numeric_limits<float8_e4m3fnuz_t>;
  static_assert(fnuz::max() == 240_e4m3fnuz && fnuz::denorm_min() == 0x1p-10_e4m3fnuz);
  using four = std::numeric_limits<float4_e2m1_t>;
  static_assert(four::max() == 6_e2m1 && four::denorm_min() == 0.5_e2m1 && !four::has_quiet_NaN);
  static_assert(four::max_exponent10 == 0 && four::min_exponent10 == 0 && four::digits10 == 0);
  using ibm = std::numeric_limits<dlfloat16_t>;
  static_assert(ibm::has_denorm == std::denorm_absent && ibm::max() == 8573157376_dl16);
  static_assert(ibm::min() == 0x1.008p-31_dl16 && ibm::denorm_min() == ibm::min());

  static_assert(!std::is_constructible_v<float16_t, long double>);
  // The same as float's where the format is float's.
  using single = std::numeric_limits<number<binary32>>;
  using theirs = std::numeric_limits<float>;
  static_assert(single::digits10 == theirs::digits10 && single::max_digits10 == theirs::max_digits10);
  static_assert(single::min_exponent == theirs::min_exponent && single::max_exponent == theirs::max_exponent);
  static_assert(single::min_exponent10 == theirs::min_exponent10 && single::max_exponent10 == theirs::max_exponent10);
  static_assert(static_cast<float>(single::epsilon()) == theirs::epsilon());
  static_assert(std::numeric_limits<number<binary64>>::max_exponent10 == 308);
  static_assert(std::numeric_limits<number<binary64>>::min_exponent10 == -307);
  // From 2^4 on, of which the least power of ten is 100; from 10 on, itself a power of ten; up to 14/256.
  static_assert(std::numeric_limits<number<format{4, 3, -3}>>::min_exponent10 == 2);
  constexpr format from_ten{4, 2, -3, specials::nan_all_ones, lowest_binade::normals_and_zero};
  static_assert(std::numeric_limits<number<from_ten>>::min_exponent10 == 1);
  static_assert(std::numeric_limits<number<format{3, 2, 11}>>::max_exponent10 == -2);
  SUCCEED();
}

TEST_CASE("literals are read exactly and rounded once") {
  static_assert((0.1_f16).code() == 0x2E66 && (1e-8_cb16).code() == 0x08AF && (65504_cb16).code() == 0x5E00);
  static_assert((65519.99999999999999999_f16).code() == 0x7BFF && (65520_f16).code() == 0x7C00);
  // Just above a tie by the 40th digit, and the tie.
  static_assert((1.000488281250000000000000000000000000000001_f16).code() == 0x3C01);
  static_assert((1.00048828125_f16).code() == 0x3C00);
  static_assert((0x1.8p-3_bf16).code() == 0x3E40 && (3'000_f16).code() == (3000_f16).code());
  static_assert((1e-400_f16).code() == 0 && (1e40_bf16).code() == 0x7F80 && (0.0_f16).code() == 0);
  static_assert((1e99999_f16).code() == 0x7C00 && (0.5e-99999_f16).code() == 0);
  static_assert((0x1p-24_f16).code() == 1 && (464_e4m3fn).code() == 0x7E && (465_e4m3fn).code() == 0x7F);
  static_assert((2.5_e2m1).code() == (2_e2m1).code() && (100_e2m1).code() == 7);
  // DLFloat16 rounds ties away.
  static_assert((0x1.001p0_dl16).code() == (0x1.002p0_dl16).code());
  static_assert(-(1.5_f16) == float16_t(-1.5));
  // Shortest decimals are literals of their numbers.
  sweep s;
  for (std::uint64_t code = 0; code <= float16.max_finite_code(); code += 5) {
    const std::string text = shortest_decimal(float16, code);
    s.expect(detail::literal<float16_t>(text.c_str()).code() == code, [&] { return text; });
  }
  for (std::uint64_t code = 0; code <= bfloat16.max_finite_code(); code += 97) {
    const std::string text = exact_decimal(decode(bfloat16, code));
    s.expect(detail::literal<bfloat16_t>(text.c_str()).code() == code, [&] { return text; });
  }
  CHECK(s.failures() == "");
}

TEST_CASE("integers") {
  static_assert(float16_t(-3) == -3_f16 && float16_t(true) == 1_f16 && float16_t('A') == 65_f16);
  static_assert(float16_t(65519) == 65504_f16 && isinf(float16_t(65520)));
  static_assert(bfloat16_t(std::numeric_limits<std::uint64_t>::max()) == 0x1p64_bf16);
  static_assert(bfloat16_t(std::numeric_limits<std::int64_t>::min()) == -0x1p63_bf16);
  static_assert(static_cast<int>(-2.75_f16) == -2 && static_cast<int>(2.75_f16) == 2 &&
                static_cast<int>(0.99_f16) == 0);
  static_assert(static_cast<std::uint8_t>(300_f16) == 255 && static_cast<std::int8_t>(-300_f16) == -128);
  static_assert(static_cast<unsigned>(-3_f16) == 0);
  static_assert(static_cast<int>(std::numeric_limits<bfloat16_t>::max()) == std::numeric_limits<int>::max());
  static_assert(static_cast<std::int64_t>(-0x1p63_bf16) == std::numeric_limits<std::int64_t>::min());
  static_assert(static_cast<std::int64_t>(0x1p63_bf16) == std::numeric_limits<std::int64_t>::max());
  static_assert(static_cast<std::uint64_t>(0x1p63_bf16) == std::uint64_t{1} << 63);
  static_assert(static_cast<std::uint64_t>(0x1.8p63_bf16) == std::uint64_t{3} << 62);
  static_assert(static_cast<std::uint64_t>(0x1p64_bf16) == std::numeric_limits<std::uint64_t>::max());
  static_assert(static_cast<int>(std::numeric_limits<float16_t>::quiet_NaN()) == 0);
  static_assert(static_cast<std::uint64_t>(-std::numeric_limits<float16_t>::infinity()) == 0);
  SUCCEED();
}

TEST_CASE("conversion between formats rounds once") {
  sweep s;
  for (std::uint64_t code = 0; code <= float16.code_mask(); ++code) {
    const float16_t x = of<float16_t>(code);
    s.expect(cbfloat16_t(x).code() == convert(cbfloat16, float16, code).code &&
                 float8_e4m3fn_t(x).code() == convert(float8_e4m3fn, float16, code).code &&
                 dlfloat16_t(x).code() == convert(dlfloat16, float16, code, dlfloat16_t::mode).code,
             [&] { return describe(encoded{code}); });
  }
  CHECK(s.failures() == "");
}

TEST_CASE("a kernel for float compiles with any of the types") {
  const std::vector<float> x{0.5f, -1.25f, 3.0f, 0.125f};
  const std::vector<float> y{2.0f, 4.0f, -0.5f, 8.0f};
  CHECK(dot(x, y) == -4.5f);
  for_all_types([&]<class T>(T) {
    const std::vector<T> a(x.begin(), x.end());
    const std::vector<T> b(y.begin(), y.end());
    INFO(describe(T::definition));
    if (T::definition.precision() >= 8) CHECK(static_cast<float>(norm(a)) == Approx(norm(x)).epsilon(0.01));
    if (T::definition.precision() >= 8) CHECK(dot(a, b) == T(-4.5));
  });
  float16_t n{41};
  CHECK(++n == 42_f16);
  CHECK(n-- == 42_f16);
  CHECK(n == 41_f16);
  n -= 1_f16;
  n *= 2_f16;
  n /= 5_f16;
  CHECK(n == 16_f16);
  static_assert(1.5_f16 + 2.25_f16 == 3.75_f16 && sqrt(2_f16).code() == 0x3DA8 && fma(2_f16, 3_f16, 1_f16) == 7_f16);
  static_assert(remainder(5_f16, 2_f16) == 1_f16);
}

TEST_CASE("equal numbers have equal hashes") {
  const std::hash<float16_t> hash;
  CHECK(hash(0_f16) == hash(-(0_f16)));
  CHECK(hash(1_f16) == hash(float16_t(1)));
  CHECK(hash(1_f16) != hash(2_f16));
  std::unordered_set<bfloat16_t> set{1_bf16, 2_bf16, bfloat16_t(1.0)};
  CHECK(set.size() == 2);
}

TEST_CASE("printing and reading") {
  std::ostringstream out;
  out << 0.1_f16 << ' ' << -(65504_f16) << ' ' << 1e-8_cb16 << ' ' << std::numeric_limits<bfloat16_t>::infinity();
  CHECK(out.str() == "0.1 -65500 1e-8 inf");
  CHECK(fmt::format("{} {:.5f} [{:>8}] {:e}", 0.1_f16, 0.1_f16, 0.5_e2m1, 448_e4m3fn) ==
        "0.1 0.09998 [     0.5] 4.480000e+02");
  CHECK(fmt::format("{}", std::numeric_limits<float16_t>::quiet_NaN()) == "nan");
  CHECK(fmt::format("[{:8}] [{:<8}] [{:*^8}] [{:08.3f}]", 0.1_f16, 0.1_f16, 0.1_f16, 0.1_f16) ==
        "[     0.1] [0.1     ] [**0.1***] [0000.100]");

  std::istringstream in("0.3 -inf 2^-24 0x1.8p3 x 1");
  bfloat16_t b{};
  in >> b;
  CHECK(b == 0.3_bf16);
  in >> b;
  CHECK(b == -std::numeric_limits<bfloat16_t>::infinity());
  float16_t h{};
  in >> h;
  CHECK(h.code() == 1);
  in >> h;
  CHECK(h == 12_f16);
  in >> h;
  CHECK(in.fail());
  CHECK(h.code() == 0);
  in.clear();
  in >> h;
  CHECK(h == 1_f16);
}
