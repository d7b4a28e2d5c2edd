// number<format, rounding>: a value type with the operators of float, for any format of the catalogue that has zero and
// sign.
//
// Each operation is the exact result rounded once by the type's rounding: where none is given to nearest, to even or as
// the format's own definition says (default_direction), overflow giving infinity, NaN where the format has none, the largest
// finite number where it has neither. With number<float8_e4m3fn, rounding{.overflow = overflow_mode::saturate}> it
// ends at 448. Types of other roundings are other types, converted explicitly. No flags and no stochastic rounding: those
// are arithmetic.hpp's. Under DAZ subnormal numbers are operands and compare as zeros, and are otherwise what they are.
// Text is read and printed in the format's own rounding whatever the type's, so that it reads back. Nothing depends on
// the processor's floating-point state. Conversions are explicit. Trivially copyable, the size of its code; a default
// initialised number has, like a float, no value, number{} is zero. constexpr except for text; nothing throws, and only
// text allocates.
#ifndef ULP_FORMATS_NUMBER_HPP
#define ULP_FORMATS_NUMBER_HPP

#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <limits>
#include <string_view>
#include <type_traits>

#include <ulp/formats/arithmetic.hpp>
#include <ulp/formats/catalog.hpp>
#include <ulp/formats/detail/literal.hpp>
#include <ulp/formats/detail/nearest.hpp>
#include <ulp/formats/functions.hpp>

namespace ulp {

namespace detail {

template <int width>
using smallest_code = std::conditional_t<
    width <= 8, std::uint8_t,
    std::conditional_t<width <= 16, std::uint16_t, std::conditional_t<width <= 32, std::uint32_t, std::uint64_t>>>;

// The largest n with 10^n <= x, and the least with 10^n >= x. In double, far more precise than the formats.
constexpr int decimal_exponent_up_to(double x) noexcept {
  constexpr int most = std::numeric_limits<double>::max_exponent10;
  int n = 0;
  for (double power = 1; n < most && power * 10 <= x; power *= 10) ++n;
  for (double power = 1; power > x; power /= 10) --n;
  return n;
}
constexpr int decimal_exponent_from(double x) noexcept {
  int n = 0;
  for (double power = 1; power < x; power *= 10) ++n;
  for (double power = 1; power / 10 >= x; power /= 10) --n;
  return n;
}
// The largest n with 10^n finite, and the least with 10^n normal.
constexpr int highest_decimal_exponent(const format& f) noexcept {
  return decimal_exponent_up_to(to_double(f, f.max_finite_code()));
}
constexpr int lowest_decimal_exponent(const format& f) noexcept {
  return decimal_exponent_from(to_double(f, f.min_normal_code()));
}

std::ostream& print(std::ostream& out, const format& in, std::uint64_t code);
// Sets failbit and leaves `code` alone if the next word is not a number.
std::istream& scan(std::istream& in, const format& to, std::uint64_t& code);

}  // namespace detail

// What number<> can be of.
template <format F>
concept arithmetic_format = F.is_valid() && (F.has_sign) && F.has_zero();

// What it can round by: everything but stochastic rounding, which takes random bits.
template <rounding R>
concept arithmetic_rounding = R.is_valid() && R.direction != direction::stochastic;

template <format F, rounding R = rounding{.direction = default_direction(F)}>
requires arithmetic_format<F> && arithmetic_rounding<R>
class number {
 public:
  using code_type = detail::smallest_code<F.width()>;
  static constexpr ulp::format definition = F;
  // The rounding of all its operations.
  static constexpr rounding mode = R;

  number() = default;

  // Rounds; exact where the value is one of the format's.
  explicit constexpr number(float x) noexcept : code_(narrow(of_number(x))) {}
  explicit constexpr number(double x) noexcept : code_(narrow(of_number(x))) {}
  template <std::integral Int>
  requires(sizeof(Int) <= 8) explicit constexpr number(Int n) noexcept : code_(narrow(of_integer(n))) {}
  explicit number(long double) = delete;  // by way of double it would be rounded twice
  template <format G, rounding S>
  explicit constexpr number(number<G, S> x) noexcept : code_(narrow(convert(F, G, x.code(), mode).code)) {}

  // Bits above the width of the format are ignored.
  [[nodiscard]] static constexpr number from_code(ulp::code bits) noexcept {
    number x{};
    x.code_ = narrow(bits & F.code_mask());
    return x;
  }
  [[nodiscard]] constexpr code_type code() const noexcept { return code_; }

  // To float rounded to nearest even, which is exact for all formats of the catalogue but float64; to double exactly.
  explicit constexpr operator float() const noexcept { return to_float(F, code_); }
  explicit constexpr operator double() const noexcept { return to_double(F, code_); }
  // Toward zero as from float, but defined for everything: the nearest end of the range beyond it, 0 for NaN.
  template <std::integral Int>
  requires(sizeof(Int) <= 8 && !std::same_as<Int, bool>) explicit constexpr operator Int() const noexcept {
    using limits = std::numeric_limits<Int>;
    const unpacked x = decode(F, code_);
    if constexpr (std::is_unsigned_v<Int>)
      if (x.kind == number_class::zero || x.negative) return 0;
    if (x.kind == number_class::infinity || (x.kind == number_class::finite && x.exponent >= 63)) {
      if constexpr (std::is_unsigned_v<Int> && sizeof(Int) == 8)
        if (x.kind == number_class::finite && x.exponent == 63) return x.significand;
      return x.negative ? limits::min() : limits::max();
    }
    const std::int64_t n = to_integer<std::int64_t>(F, code_, {.direction = direction::toward_zero}).value;
    if (n < 0) return n < static_cast<std::int64_t>(limits::min()) ? limits::min() : static_cast<Int>(n);
    return static_cast<std::uint64_t>(n) > static_cast<std::uint64_t>(limits::max()) ? limits::max()
                                                                                     : static_cast<Int>(n);
  }
  explicit constexpr operator bool() const noexcept { return *this != number{}; }

  friend constexpr number operator+(number a, number b) noexcept { return from_code(narrow(sum(a.code_, b.code_))); }
  friend constexpr number operator-(number a, number b) noexcept { return a + (is_nan(b) ? b : -b); }
  friend constexpr number operator*(number a, number b) noexcept {
    if constexpr (has_shortcut) return from_code(narrow(shortcut::mul(a.code_, b.code_)));
    return from_code(narrow(mul(F, a.code_, b.code_, mode).code));
  }
  friend constexpr number operator/(number a, number b) noexcept {
    if constexpr (has_shortcut) return from_code(narrow(shortcut::div(a.code_, b.code_)));
    return from_code(narrow(div(F, a.code_, b.code_, mode).code));
  }
  constexpr number& operator+=(number b) noexcept { return *this = *this + b; }
  constexpr number& operator-=(number b) noexcept { return *this = *this - b; }
  constexpr number& operator*=(number b) noexcept { return *this = *this * b; }
  constexpr number& operator/=(number b) noexcept { return *this = *this / b; }
  constexpr number& operator++() noexcept { return *this += number(1); }
  constexpr number& operator--() noexcept { return *this -= number(1); }
  constexpr number operator++(int) noexcept {
    const number before = *this;
    ++*this;
    return before;
  }
  constexpr number operator--(int) noexcept {
    const number before = *this;
    --*this;
    return before;
  }
  constexpr number operator+() const noexcept { return *this; }
  // Changes the sign of NaN too; the one NaN and the one zero of fnuz formats stay.
  constexpr number operator-() const noexcept {
    if (!F.has_negative_zero() && (code_ & F.magnitude_mask()) == 0) return *this;
    return from_code(narrow(code_ ^ F.sign_mask()));
  }

  friend constexpr bool operator==(number a, number b) noexcept {
    return compare_quiet(F, a.code_, b.code_, R.daz).order == std::partial_ordering::equivalent;
  }
  friend constexpr std::partial_ordering operator<=>(number a, number b) noexcept {
    return compare_quiet(F, a.code_, b.code_, R.daz).order;
  }

  // As in <cmath>; found by argument-dependent lookup, beside `using std::sqrt` and the like in generic code. Functions
  // that would be rounded twice by way of double are not here: no exp, log, trigonometry.
  friend constexpr number fma(number a, number b, number c) noexcept {
    if constexpr (has_shortcut) return from_code(narrow(shortcut::fma(a.code_, b.code_, c.code_)));
    return from_code(narrow(ulp::fma(F, a.code_, b.code_, c.code_, mode).code));
  }
  friend constexpr number sqrt(number x) noexcept { return from_code(narrow(ulp::sqrt(F, x.code_, mode).code)); }
  friend constexpr number remainder(number a, number b) noexcept {
    return from_code(narrow(rem(F, a.code_, b.code_, mode).code));
  }
  // What functions.hpp says of these names; nearbyint is rint.
  friend constexpr number nextafter(number a, number b) noexcept { return of(ulp::nextafter(F, a.code_, b.code_)); }
  friend constexpr number min(number a, number b) noexcept { return of(ulp::min(F, a.code_, b.code_)); }
  friend constexpr number max(number a, number b) noexcept { return of(ulp::max(F, a.code_, b.code_)); }
  friend constexpr number fmin(number a, number b) noexcept { return of(ulp::fmin(F, a.code_, b.code_)); }
  friend constexpr number fmax(number a, number b) noexcept { return of(ulp::fmax(F, a.code_, b.code_)); }
  friend constexpr number scalbn(number x, int n) noexcept { return of(ulp::scalbn(F, x.code_, n, mode)); }
  friend constexpr number ldexp(number x, int n) noexcept { return scalbn(x, n); }
  friend constexpr number frexp(number x, int* exponent) noexcept {
    const fraction_and_exponent parts = ulp::frexp(F, x.code_, mode);
    *exponent = parts.exponent;
    return of(parts.fraction);
  }
  friend constexpr number logb(number x) noexcept { return of(ulp::logb(F, x.code_, mode)); }
  friend constexpr int ilogb(number x) noexcept { return ulp::ilogb(F, x.code_, R.daz).value; }
  friend constexpr number floor(number x) noexcept { return of(ulp::floor(F, x.code_, mode)); }
  friend constexpr number ceil(number x) noexcept { return of(ulp::ceil(F, x.code_, mode)); }
  friend constexpr number trunc(number x) noexcept { return of(ulp::trunc(F, x.code_, mode)); }
  friend constexpr number round(number x) noexcept { return of(ulp::round(F, x.code_, mode)); }
  friend constexpr number roundeven(number x) noexcept { return of(ulp::roundeven(F, x.code_, mode)); }
  friend constexpr number rint(number x) noexcept { return of(ulp::rint(F, x.code_, mode)); }
  friend constexpr number nearbyint(number x) noexcept { return rint(x); }
  friend constexpr bool isnan(number x) noexcept { return is_nan(x); }
  friend constexpr bool isinf(number x) noexcept {
    return F.has_infinity() && (x.code_ & F.magnitude_mask()) == F.infinity_code();
  }
  friend constexpr bool isfinite(number x) noexcept { return !is_nan(x) && !isinf(x); }
  friend constexpr bool isnormal(number x) noexcept {
    const std::uint64_t magnitude = x.code_ & F.magnitude_mask();
    return magnitude >= F.min_normal_code() && magnitude <= F.last_number_code();
  }
  friend constexpr bool signbit(number x) noexcept { return (x.code_ & F.sign_mask()) != 0; }
  friend constexpr number abs(number x) noexcept { return signbit(x) ? -x : x; }
  friend constexpr number copysign(number x, number sign) noexcept { return signbit(x) == signbit(sign) ? x : -x; }

  // The shortest decimal that reads back as this number, whatever the stream's precision and floatfield.
  friend std::ostream& operator<<(std::ostream& out, number x) { return detail::print(out, F, x.code_); }
  // A word as text.hpp's parse_number reads it, rounded once; failing, zero.
  friend std::istream& operator>>(std::istream& in, number& x) {
    std::uint64_t code = 0;
    detail::scan(in, F, code);
    x.code_ = narrow(code);
    return in;
  }

 private:
  // Tininess shows in flags only.
  static constexpr bool has_shortcut =
      detail::has_shortcut(F) && (R.direction == direction::nearest_even || R.direction == direction::nearest_away) &&
      R.overflow == overflow_mode::ieee && R.flush == flush::never && !R.daz;
  using shortcut = detail::nearest<F, R.direction>;

  static constexpr number of(const encoded& e) noexcept { return from_code(e.code); }
  static constexpr code_type narrow(std::uint64_t code) noexcept { return static_cast<code_type>(code); }
  static constexpr bool is_nan(number x) noexcept {
    if (F.nan_is_negative_zero()) return x.code_ == F.sign_mask();
    return F.has_nan() &&
           (x.code_ & F.magnitude_mask()) > (F.has_infinity() ? F.infinity_code() : F.last_number_code());
  }
  static constexpr std::uint64_t sum(std::uint64_t a, std::uint64_t b) noexcept {
    if constexpr (has_shortcut) return shortcut::add(a, b);
    return add(F, a, b, mode).code;
  }
  template <class Number>
  static constexpr std::uint64_t of_number(Number x) noexcept {
    if constexpr (has_shortcut)
      if constexpr (shortcut::template takes<Number>()) return shortcut::of_number(x);
    return encode(F, x, mode).code;
  }
  template <std::integral Int>
  static constexpr std::uint64_t of_integer(Int n) noexcept {
    return from_integer(F, n, mode).code;
  }

  code_type code_;
};

using float16_t = number<float16>;
using bfloat16_t = number<bfloat16>;
using cbfloat16_t = number<cbfloat16>;
using tf32_t = number<tf32>;
using float8_e4m3fn_t = number<float8_e4m3fn>;
using float8_e5m2_t = number<float8_e5m2>;
using float8_e4m3fnuz_t = number<float8_e4m3fnuz>;
using float8_e5m2fnuz_t = number<float8_e5m2fnuz>;
using float6_e3m2_t = number<float6_e3m2>;
using float6_e2m3_t = number<float6_e2m3>;
using float4_e2m1_t = number<float4_e2m1>;
using dlfloat16_t = number<dlfloat16>;

// 1.5_f16, 1e-8_bf16, 0x1.8p-3_cb16, 3_e4m3fn: read exactly and rounded once, at compile time.
inline namespace literals {
consteval float16_t operator""_f16(const char* text) { return detail::literal<float16_t>(text); }
consteval bfloat16_t operator""_bf16(const char* text) { return detail::literal<bfloat16_t>(text); }
consteval cbfloat16_t operator""_cb16(const char* text) { return detail::literal<cbfloat16_t>(text); }
consteval tf32_t operator""_tf32(const char* text) { return detail::literal<tf32_t>(text); }
consteval float8_e4m3fn_t operator""_e4m3fn(const char* text) { return detail::literal<float8_e4m3fn_t>(text); }
consteval float8_e5m2_t operator""_e5m2(const char* text) { return detail::literal<float8_e5m2_t>(text); }
consteval float8_e4m3fnuz_t operator""_e4m3fnuz(const char* text) { return detail::literal<float8_e4m3fnuz_t>(text); }
consteval float8_e5m2fnuz_t operator""_e5m2fnuz(const char* text) { return detail::literal<float8_e5m2fnuz_t>(text); }
consteval float6_e3m2_t operator""_e3m2(const char* text) { return detail::literal<float6_e3m2_t>(text); }
consteval float6_e2m3_t operator""_e2m3(const char* text) { return detail::literal<float6_e2m3_t>(text); }
consteval float4_e2m1_t operator""_e2m1(const char* text) { return detail::literal<float4_e2m1_t>(text); }
consteval dlfloat16_t operator""_dl16(const char* text) { return detail::literal<dlfloat16_t>(text); }
}  // namespace literals

}  // namespace ulp

// Where a format has no infinity or NaN, those functions return 0, as the standard says of types without.
template <ulp::format F, ulp::rounding R>
class std::numeric_limits<ulp::number<F, R>> {
  using number = ulp::number<F, R>;
  static constexpr bool is_nearest =
      R.direction == ulp::direction::nearest_even || R.direction == ulp::direction::nearest_away;
  static constexpr number of(std::uint64_t code) noexcept { return number::from_code(code); }

 public:
  static constexpr bool is_specialized = true;
  static constexpr bool is_signed = true;
  static constexpr bool is_integer = false;
  static constexpr bool is_exact = false;
  static constexpr bool has_infinity = F.has_infinity();
  static constexpr bool has_quiet_NaN = F.has_nan();
  static constexpr bool has_signaling_NaN = F.top == ulp::specials::ieee && F.fraction_bits > 1;
  static constexpr std::float_denorm_style has_denorm = F.has_subnormals() ? std::denorm_present : std::denorm_absent;
  static constexpr bool has_denorm_loss = false;
  static constexpr std::float_round_style round_style =
      is_nearest                                       ? std::round_to_nearest
      : R.direction == ulp::direction::toward_zero     ? std::round_toward_zero
      : R.direction == ulp::direction::toward_positive ? std::round_toward_infinity
      : R.direction == ulp::direction::toward_negative ? std::round_toward_neg_infinity
                                                       : std::round_indeterminate;
  // The interchange formats, unless they saturate or flush.
  static constexpr bool is_iec559 = (F == ulp::float16 || F == ulp::binary32 || F == ulp::binary64) &&
                                    R.overflow == ulp::overflow_mode::ieee && R.flush == ulp::flush::never && !R.daz &&
                                    R.direction != ulp::direction::to_odd;
  static constexpr bool is_bounded = true;
  static constexpr bool is_modulo = false;
  static constexpr int radix = 2;
  static constexpr int digits = F.precision();
  // As the C standard defines them: floor((p-1) log10 2), ceil(1 + p log10 2), and the decimal exponents in range.
  static constexpr int digits10 = (F.precision() - 1) * 30103 / 100000;
  static constexpr int max_digits10 = 2 + F.precision() * 30103 / 100000;
  static constexpr int min_exponent = F.emin() + 1;
  static constexpr int max_exponent = F.emax() + 1;
  static constexpr int min_exponent10 = ulp::detail::lowest_decimal_exponent(F);
  static constexpr int max_exponent10 = ulp::detail::highest_decimal_exponent(F);
  static constexpr bool traps = false;
  static constexpr bool tinyness_before = R.tininess == ulp::tininess::before_rounding;

  static constexpr number min() noexcept { return of(F.min_normal_code()); }
  static constexpr number max() noexcept { return of(F.max_finite_code()); }
  static constexpr number lowest() noexcept { return of(F.max_finite_code() | F.sign_mask()); }
  static constexpr number epsilon() noexcept {
    return of(
        ulp::encode(
            F, {.kind = ulp::number_class::finite, .exponent = -F.fraction_bits, .significand = std::uint64_t{1} << 63})
            .code);
  }
  static constexpr number round_error() noexcept { return number(is_nearest ? 0.5f : 1.0f); }
  static constexpr number infinity() noexcept { return of(F.has_infinity() ? F.infinity_code() : 0); }
  static constexpr number quiet_NaN() noexcept { return of(F.has_nan() ? F.nan_code() : 0); }
  static constexpr number signaling_NaN() noexcept {
    return of(has_signaling_NaN ? F.infinity_code() | F.quiet_bit() >> 1 : 0);
  }
  static constexpr number denorm_min() noexcept { return of(F.min_positive_code()); }
};

// Equal numbers hash alike: both zeros, and under DAZ the subnormal numbers.
template <ulp::format F, ulp::rounding R>
struct std::hash<ulp::number<F, R>> {
  std::size_t operator()(ulp::number<F, R> x) const noexcept {
    const ulp::unpacked exact = ulp::decode(F, x.code());
    const bool zero = exact.kind == ulp::number_class::zero || (R.daz && exact.subnormal);
    return std::hash<std::uint64_t>{}(zero ? 0 : x.code());
  }
};

#endif
