#include "support/oracle.hpp"

#include <bit>
#include <boost/multiprecision/cpp_int.hpp>
#include <cmath>
#include <stdexcept>
#include <string>

namespace ulp::test {
namespace {

using boost::multiprecision::cpp_int;

// numerator / denominator * 2^exponent, positive.
struct magnitude {
  cpp_int numerator;
  cpp_int denominator = 1;
  int exponent = 0;
};

cpp_int power_of_two(int n) {
  cpp_int power = 1;
  power <<= n;
  return power;
}

// Whether a < b.
bool less(const magnitude& a, const magnitude& b) {
  cpp_int left = a.numerator * b.denominator;
  cpp_int right = b.numerator * a.denominator;
  if (a.exponent > b.exponent) left <<= a.exponent - b.exponent;
  if (b.exponent > a.exponent) right <<= b.exponent - a.exponent;
  return left < right;
}

// k with 2^k <= x < 2^(k+1).
int binade(const magnitude& x) {
  const int guess = static_cast<int>(msb(x.numerator)) - static_cast<int>(msb(x.denominator)) + x.exponent;
  return less(x, {1, 1, guess}) ? guess - 1 : guess;
}

// The multiple `below` of a step at or below x, and how far x is above it: remainder / divisor of a step.
struct neighbours {
  cpp_int below;
  cpp_int remainder;
  cpp_int divisor;
};

neighbours on_grid(const magnitude& x, int step_exponent) {
  neighbours n;
  const int shift = x.exponent - step_exponent;
  n.divisor = shift < 0 ? cpp_int{x.denominator << -shift} : x.denominator;
  const cpp_int dividend = shift > 0 ? cpp_int{x.numerator << shift} : x.numerator;
  divide_qr(dividend, n.divisor, n.below, n.remainder);
  return n;
}

// IEEE P3109 interim report 4.0, 4.7.4, with v = remainder / divisor.
bool stochastic_up(const neighbours& n, const rounding& mode, std::uint32_t random) {
  const int bits = mode.random_bits;
  switch (mode.definition) {
    case stochastic_definition::a: return cpp_int{(n.remainder << bits) / n.divisor} + random >= power_of_two(bits);
    case stochastic_definition::b:
      return cpp_int{(n.remainder << (bits + 1)) / n.divisor} + 2 * cpp_int{random} + 1 >= power_of_two(bits + 1);
    case stochastic_definition::c: {
      cpp_int quotient;
      cpp_int rest;
      divide_qr(cpp_int{n.remainder << bits}, n.divisor, quotient, rest);
      rest *= 2;
      if (rest > n.divisor || (rest == n.divisor && bit_test(quotient, 0))) ++quotient;
      return quotient + random >= power_of_two(bits);
    }
  }
  throw std::logic_error("no such definition");
}

// The neighbour that the direction chooses, in steps.
cpp_int rounded(const neighbours& n, bool negative, const rounding& mode, std::uint32_t random) {
  if (n.remainder == 0) return n.below;
  const bool odd = bit_test(n.below, 0);
  const cpp_int twice = 2 * n.remainder;
  const int nearer = twice.compare(n.divisor);  // negative: the one below, 0: a tie
  bool up = false;
  switch (mode.direction) {
    case direction::nearest_even: up = nearer > 0 || (nearer == 0 && odd); break;
    case direction::nearest_away: up = nearer >= 0; break;
    case direction::toward_zero: break;
    case direction::toward_positive: up = !negative; break;
    case direction::toward_negative: up = negative; break;
    case direction::to_odd: up = !odd; break;
    case direction::stochastic: up = stochastic_up(n, mode, random); break;
  }
  return up ? cpp_int{n.below + 1} : n.below;
}

// The fields of a format's codes, put together.
struct fields {
  const format& in;

  std::uint64_t top_exponent() const { return (std::uint64_t{1} << in.exponent_bits) - 1; }
  std::uint64_t top_fraction() const { return (std::uint64_t{1} << in.fraction_bits) - 1; }
  std::uint64_t code(bool negative, std::uint64_t exponent, std::uint64_t fraction) const {
    return (std::uint64_t{negative} << (in.exponent_bits + in.fraction_bits)) | (exponent << in.fraction_bits) |
           fraction;
  }
  std::uint64_t infinity(bool negative) const { return code(negative, top_exponent(), 0); }
  std::uint64_t quiet_nan(bool negative, std::uint64_t payload) const {
    if (in.top == specials::nan_all_ones) return code(negative, top_exponent(), top_fraction());
    const std::uint64_t quiet = std::uint64_t{1} << (in.fraction_bits - 1);
    const std::uint64_t kept = in.fraction_bits > 1 ? payload >> (64 - (in.fraction_bits - 1)) : 0;
    return code(negative, top_exponent(), quiet | kept);
  }
  std::uint64_t largest(bool negative) const {
    if (in.top == specials::nan_all_ones) return code(negative, top_exponent(), top_fraction() - 1);
    return code(negative, top_exponent() - 1, top_fraction());
  }
};

magnitude magnitude_of(const exact_value& x) {
  if (!x.more) return {x.significand, 1, x.exponent};
  return {(cpp_int{x.significand} << 200) + 1, 1, x.exponent - 200};
}

// Where a value beyond the largest finite number goes.
std::uint64_t overflowed(const fields& f, bool negative, const rounding& mode) {
  bool finite = mode.overflow == overflow_delivery::saturate;
  switch (mode.direction) {
    case direction::toward_zero:
    case direction::to_odd: finite = true; break;
    case direction::toward_positive: finite = finite || negative; break;
    case direction::toward_negative: finite = finite || !negative; break;
    case direction::nearest_even:
    case direction::nearest_away:
    case direction::stochastic: break;
  }
  if (finite) return f.largest(negative);
  return f.in.top == specials::ieee ? f.infinity(negative) : f.quiet_nan(negative, 0);
}

encoded round_finite(const format& to, bool negative, const magnitude& x, const rounding& mode, std::uint32_t random) {
  const fields f{to};
  const int emin = 1 - to.bias;
  const magnitude smallest_normal{1, 1, emin};

  // To the format's precision, as if exponents had no end.
  int k = binade(x);
  neighbours n = on_grid(x, k - to.fraction_bits);
  cpp_int result = rounded(n, negative, mode, random);
  if (less(magnitude_of(value_of(to, f.largest(false))), {result, 1, k - to.fraction_bits}))
    return {overflowed(f, negative, mode), status::overflow | status::inexact};

  const bool tiny_before = less(x, smallest_normal);
  const bool tiny_after = less({result, 1, k - to.fraction_bits}, smallest_normal);
  if (tiny_before) {
    k = emin;
    n = on_grid(x, k - to.fraction_bits);
    result = rounded(n, negative, mode, random);
  }
  const bool subnormal_result = less({result, 1, k - to.fraction_bits}, smallest_normal);
  if ((mode.flush == flush::before_rounding && tiny_before) || (mode.flush == flush::after_rounding && tiny_after) ||
      (mode.flush == flush::result && subnormal_result))
    return {f.code(negative, 0, 0), status::underflow | status::inexact};

  status flags = status::none;
  if (n.remainder != 0) {
    flags = status::inexact;
    if (mode.tininess == tininess::before_rounding ? tiny_before : tiny_after) flags |= status::underflow;
  }
  const auto significand = static_cast<std::uint64_t>(result);
  if (subnormal_result) return {f.code(negative, 0, significand), flags};
  const std::uint64_t one = std::uint64_t{1} << to.fraction_bits;
  if (significand == 2 * one) return {f.code(negative, static_cast<std::uint64_t>(k + 1 + to.bias), 0), flags};
  return {f.code(negative, static_cast<std::uint64_t>(k + to.bias), significand - one), flags};
}

}  // namespace

exact_value value_of(const format& from, std::uint64_t code) {
  const fields f{from};
  exact_value x;
  x.negative = ((code >> (from.exponent_bits + from.fraction_bits)) & 1) != 0;
  const std::uint64_t exponent = (code >> from.fraction_bits) & f.top_exponent();
  const std::uint64_t fraction = code & f.top_fraction();
  if (exponent == f.top_exponent()) {
    if (from.top == specials::nan_all_ones && fraction == f.top_fraction()) {
      x.kind = number_class::nan;
      return x;
    }
    if (from.top == specials::ieee) {
      x.kind = fraction == 0 ? number_class::infinity : number_class::nan;
      x.signaling = fraction != 0 && (fraction >> (from.fraction_bits - 1)) == 0;
      // The quiet bit falls out at the top.
      x.significand = fraction << (63 - (from.fraction_bits - 1)) << 1;
      return x;
    }
  }
  if (exponent == 0 && fraction == 0) return x;
  x.kind = number_class::finite;
  x.subnormal = exponent == 0;
  x.significand = exponent == 0 ? fraction : fraction + (std::uint64_t{1} << from.fraction_bits);
  x.exponent = (exponent == 0 ? 1 : static_cast<int>(exponent)) - from.bias - from.fraction_bits;
  return x;
}

exact_value value_of(float x) {
  return value_of(format{.exponent_bits = 8, .fraction_bits = 23, .bias = 127}, std::bit_cast<std::uint32_t>(x));
}

exact_value value_of(double x) {
  return value_of(format{.exponent_bits = 11, .fraction_bits = 52, .bias = 1023}, std::bit_cast<std::uint64_t>(x));
}

double to_double(const exact_value& x) {
  const double sign = x.negative ? -1.0 : 1.0;
  switch (x.kind) {
    case number_class::zero: return sign * 0.0;
    case number_class::finite: return sign * std::ldexp(static_cast<double>(x.significand), x.exponent);
    case number_class::infinity: return sign * HUGE_VAL;
    case number_class::nan: return std::nan("");
  }
  throw std::logic_error("no such kind");
}

encoded oracle_round(const format& to, const exact_value& x, const rounding& mode, std::uint32_t random) {
  const fields f{to};
  switch (x.kind) {
    case number_class::zero: return {f.code(x.negative, 0, 0), status::none};
    case number_class::nan:
      return {f.quiet_nan(x.negative, x.significand), x.signaling ? status::invalid : status::none};
    case number_class::infinity:
      if (mode.overflow == overflow_delivery::saturate)
        return {f.largest(x.negative), status::overflow | status::inexact};
      if (to.top == specials::ieee) return {f.infinity(x.negative), status::none};
      return {f.quiet_nan(x.negative, 0), status::invalid};
    case number_class::finite: break;
  }
  if (mode.daz && x.subnormal) return {f.code(x.negative, 0, 0), status::none};
  return round_finite(to, x.negative, magnitude_of(x), mode, random);
}

encoded oracle_round_decimal(const format& to, std::string_view decimal, const rounding& mode, std::uint32_t random) {
  const bool negative = decimal.starts_with('-');
  if (negative) decimal.remove_prefix(1);
  const std::size_t e = decimal.find('e');
  int power = e == std::string_view::npos ? 0 : std::stoi(std::string{decimal.substr(e + 1)});
  std::string digits{decimal.substr(0, e)};
  if (const std::size_t point = digits.find('.'); point != std::string::npos) {
    digits.erase(point, 1);
    power -= static_cast<int>(digits.size() - point);
  }
  digits.erase(0, digits.find_first_not_of('0'));  // cpp_int would read octal
  magnitude x{cpp_int{digits}, 1, 0};
  const cpp_int scale = pow(cpp_int{10}, static_cast<unsigned>(std::abs(power)));
  (power < 0 ? x.denominator : x.numerator) *= scale;
  return round_finite(to, negative, x, mode, random);
}

}  // namespace ulp::test
