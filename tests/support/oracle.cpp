#include "support/oracle.hpp"

#include <algorithm>
#include <bit>
#include <boost/multiprecision/cpp_int.hpp>
#include <cmath>
#include <optional>
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

std::strong_ordering compare(const magnitude& a, const magnitude& b) {
  cpp_int left = a.numerator * b.denominator;
  cpp_int right = b.numerator * a.denominator;
  if (a.exponent > b.exponent) left <<= a.exponent - b.exponent;
  if (b.exponent > a.exponent) right <<= b.exponent - a.exponent;
  return left.compare(right) <=> 0;
}

// k with 2^k <= x < 2^(k+1).
int binade(const magnitude& x) {
  const int guess = static_cast<int>(msb(x.numerator)) - static_cast<int>(msb(x.denominator)) + x.exponent;
  if (x.denominator == 1) return guess;
  return compare(x, {1, 1, guess}) < 0 ? guess - 1 : guess;
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

// The digits of R that count: word by word as far as v has any.
cpp_int first_words(const random_input& random, int words) {
  cpp_int digits = 0;
  for (int i = 0; i < words; ++i) digits = (digits << 32) + random.word(static_cast<std::uint32_t>(i));
  return digits;
}

// IEEE P3109 interim report 4.0, 4.7.4, with v = remainder / divisor; v + R >= 1 where R has all the digits of v.
bool stochastic_up(const neighbours& n, const rounding& mode, const random_input& random) {
  const int bits = mode.random_bits;
  if (bits == exact_probability) {
    const int words = static_cast<int>(msb(n.divisor)) / 32 + 1;
    return (n.remainder << (32 * words)) + first_words(random, words) * n.divisor >= n.divisor << (32 * words);
  }
  switch (mode.definition) {
    case stochastic_definition::a:
      return cpp_int{(n.remainder << bits) / n.divisor} + random.value() >= power_of_two(bits);
    case stochastic_definition::b:
      return cpp_int{(n.remainder << (bits + 1)) / n.divisor} + 2 * cpp_int{random.value()} + 1 >=
             power_of_two(bits + 1);
    case stochastic_definition::c: {
      cpp_int quotient;
      cpp_int rest;
      divide_qr(cpp_int{n.remainder << bits}, n.divisor, quotient, rest);
      rest *= 2;
      if (rest > n.divisor || (rest == n.divisor && bit_test(quotient, 0))) ++quotient;
      return quotient + random.value() >= power_of_two(bits);
    }
  }
  throw std::logic_error("no such definition");
}

using side = oracle::place::side;

side side_of(const neighbours& n) {
  if (n.remainder == 0) return side::equal;
  const int nearer = cpp_int{2 * n.remainder}.compare(n.divisor);
  return nearer < 0 ? side::below_half : nearer == 0 ? side::half : side::above_half;
}

oracle::place place_of(const magnitude& x, int step_exponent) {
  const int below_step = step_exponent - x.exponent;
  if (x.denominator == 1 && below_step > 0) {  // the same without a division
    oracle::place p{step_exponent, static_cast<std::uint64_t>(x.numerator >> below_step), side::equal};
    const int last = static_cast<int>(lsb(x.numerator));
    if (last >= below_step) return p;
    if (!bit_test(x.numerator, static_cast<unsigned>(below_step - 1)))
      p.above = side::below_half;
    else
      p.above = last == below_step - 1 ? side::half : side::above_half;
    return p;
  }
  const neighbours n = on_grid(x, step_exponent);
  return {step_exponent, static_cast<std::uint64_t>(n.below), side_of(n)};
}

// Whether the direction, not the stochastic one, chooses the neighbour above.
bool goes_up(const oracle::place& p, bool negative, direction d) {
  if (p.above == side::equal) return false;
  const bool odd = p.below % 2 == 1;
  switch (d) {
    case direction::nearest_even: return p.above == side::above_half || (p.above == side::half && odd);
    case direction::nearest_away: return p.above != side::below_half;
    case direction::toward_zero: return false;
    case direction::toward_positive: return !negative;
    case direction::toward_negative: return negative;
    case direction::to_odd: return !odd;
    case direction::stochastic: break;
  }
  throw std::logic_error("not a deterministic direction");
}

// significand * 2^exponent, of so few bits that one comparison is cheap.
struct small_magnitude {
  std::uint64_t significand = 0;
  int exponent = 0;
};

bool less(const small_magnitude& a, const small_magnitude& b) {
  if (a.significand == 0 || b.significand == 0) return a.significand < b.significand;
  const int top_of_a = 64 - std::countl_zero(a.significand) + a.exponent;
  const int top_of_b = 64 - std::countl_zero(b.significand) + b.exponent;
  if (top_of_a != top_of_b) return top_of_a < top_of_b;
  return a.significand << std::countl_zero(a.significand) < b.significand << std::countl_zero(b.significand);
}

// The fields of a format's codes, put together.
struct fields {
  const format& in;

  bool subnormals() const { return in.bottom == lowest_binade::subnormals; }
  bool zero_exists() const { return in.bottom != lowest_binade::normals_without_zero; }
  bool nan_exists() const { return in.top != specials::none; }
  int smallest_binade() const { return subnormals() ? 1 - in.bias : -in.bias; }
  std::uint64_t top_exponent() const { return (std::uint64_t{1} << in.exponent_bits) - 1; }
  std::uint64_t top_fraction() const { return (std::uint64_t{1} << in.fraction_bits) - 1; }
  std::uint64_t code(bool negative, std::uint64_t exponent, std::uint64_t fraction) const {
    return (std::uint64_t{negative && in.has_sign} << (in.exponent_bits + in.fraction_bits)) |
           (exponent << in.fraction_bits) | fraction;
  }
  std::uint64_t infinity(bool negative) const {
    return code(negative, top_exponent(), in.top == specials::ieee ? 0 : top_fraction());
  }
  bool negative_zero_is_nan() const {
    return in.top == specials::nan_negative_zero || in.top == specials::nan_negative_zero_and_infinity;
  }
  bool infinity_exists() const {
    return in.top == specials::ieee || in.top == specials::nan_negative_zero_and_infinity;
  }
  std::uint64_t largest(bool negative) const { return last(negative) - in.withheld; }
  // The last number that there is, delivered or not.
  std::uint64_t last(bool negative) const {
    switch (in.top) {
      case specials::ieee: return code(negative, top_exponent() - 1, top_fraction());
      case specials::nan_all_ones:
      case specials::nan_negative_zero_and_infinity:
        // Below the code of all ones: without a fraction that is the exponent below.
        return in.fraction_bits == 0 ? code(negative, top_exponent() - 1, 0)
                                     : code(negative, top_exponent(), top_fraction() - 1);
      case specials::nan_negative_zero:
      case specials::none: break;
    }
    return code(negative, top_exponent(), top_fraction());
  }
  encoded nan(bool negative, std::uint64_t payload, status flags) const {
    switch (in.top) {
      case specials::ieee: {
        const std::uint64_t quiet = std::uint64_t{1} << (in.fraction_bits - 1);
        const std::uint64_t kept = in.fraction_bits > 1 ? payload >> (64 - (in.fraction_bits - 1)) : 0;
        return {code(negative, top_exponent(), quiet | kept), flags};
      }
      case specials::nan_all_ones: return {code(negative, top_exponent(), top_fraction()), flags};
      case specials::nan_negative_zero:
      case specials::nan_negative_zero_and_infinity: return {code(true, 0, 0), flags};
      case specials::none: break;
    }
    return {largest(false), flags | status::invalid};
  }
  encoded zero(bool negative, status flags) const {
    if (!zero_exists()) return {0, status::underflow | status::inexact};
    return {code(negative && !negative_zero_is_nan(), 0, 0), flags};
  }
  // Where an overflow goes that does not stay finite.
  std::uint64_t beyond(bool negative) const {
    switch (in.top) {
      case specials::ieee:
      case specials::nan_negative_zero_and_infinity: return infinity(negative);
      case specials::nan_all_ones:
      case specials::nan_negative_zero: return nan(negative, 0, status::none).code;
      case specials::none: break;
    }
    return largest(negative);
  }
};

magnitude magnitude_of(const exact_value& x) {
  if (!x.more) return {x.significand, 1, x.exponent};
  return {(cpp_int{x.significand} << 200) + 1, 1, x.exponent - 200};
}

// Where a value beyond the largest finite number goes.
std::uint64_t overflowed(const fields& f, bool negative, const rounding& mode) {
  bool finite = mode.overflow != overflow_mode::ieee;
  switch (mode.direction) {
    case direction::toward_zero:
    case direction::to_odd: finite = true; break;
    case direction::toward_positive: finite = finite || negative; break;
    case direction::toward_negative: finite = finite || !negative; break;
    case direction::nearest_even:
    case direction::nearest_away:
    case direction::stochastic: break;
  }
  return finite ? f.largest(negative) : f.beyond(negative);
}

encoded infinite(const fields& f, bool negative, const rounding& mode, status flags) {
  const bool saturates = mode.overflow == overflow_mode::saturate;
  if (flags != status::none) return {saturates ? f.largest(negative) : f.beyond(negative), flags};  // x / 0
  if (negative && !f.in.has_sign) return f.nan(true, 0, status::invalid);
  if (saturates || !f.nan_exists()) return {f.largest(negative), status::overflow | status::inexact};
  return {f.beyond(negative), f.infinity_exists() ? status::none : status::invalid};
}

// The two grids on which a result can lie.
struct places {
  bool tiny = false;
  oracle::place unbounded;
  oracle::place subnormal;  // where tiny
};

places places_of(const format& to, const magnitude& x) {
  const fields f{to};
  const int k = binade(x);
  places p{k < f.smallest_binade(), place_of(x, k - to.fraction_bits), {}};
  if (p.tiny) p.subnormal = place_of(x, f.smallest_binade() - to.fraction_bits);
  return p;
}

// What is delivered for a finite result, `up` and `up_when_subnormal` telling which neighbours were chosen.
encoded deliver(const format& to, bool negative, const places& at, const rounding& mode, bool up,
                bool up_when_subnormal) {
  const fields f{to};
  if (negative && !to.has_sign) return f.nan(true, 0, status::invalid);
  const small_magnitude smallest_normal{1, f.smallest_binade()};
  const auto value = [&](std::uint64_t positive_code) {
    const exact_value x = value_of(to, positive_code);
    return small_magnitude{x.significand, x.exponent};
  };

  const small_magnitude rounded{at.unbounded.below + (up ? 1 : 0), at.unbounded.step};
  if (less(value(f.largest(false)), rounded))
    return {overflowed(f, negative, mode), status::overflow | status::inexact};
  const bool tiny_after = less(rounded, smallest_normal);
  const bool tiny = mode.tininess == tininess::before_rounding ? at.tiny : tiny_after;
  if (!f.subnormals()) {
    const std::uint64_t smallest = f.zero_exists() ? 1 : 0;
    if (less(rounded, value(smallest))) return f.zero(negative, status::underflow | status::inexact);
  }

  const bool on_subnormal_grid = at.tiny && f.subnormals();
  const oracle::place& place = on_subnormal_grid ? at.subnormal : at.unbounded;
  const small_magnitude result =
      on_subnormal_grid ? small_magnitude{place.below + (up_when_subnormal ? 1 : 0), place.step} : rounded;
  const bool subnormal_result = less(result, smallest_normal);
  if (f.subnormals() &&
      ((mode.flush == flush::before_rounding && at.tiny) || (mode.flush == flush::after_rounding && tiny_after) ||
       (mode.flush == flush::result && subnormal_result)))
    return f.zero(negative, status::underflow | status::inexact);

  status flags = status::none;
  if (place.above != side::equal) {
    flags = status::inexact;
    if (tiny) flags |= status::underflow;
  }
  if (result.significand == 0) return f.zero(negative, flags);
  if (subnormal_result) return {f.code(negative, 0, result.significand), flags};
  // Into [2^fraction_bits, 2^(fraction_bits + 1)): a carry has at most doubled it.
  const std::uint64_t one = std::uint64_t{1} << to.fraction_bits;
  const bool carried = result.significand == 2 * one;
  const int exponent = result.exponent + to.fraction_bits + (carried ? 1 : 0);
  return {f.code(negative, static_cast<std::uint64_t>(exponent + to.bias), carried ? 0 : result.significand - one),
          flags};
}

encoded round_finite(const format& to, bool negative, const magnitude& x, const rounding& mode,
                     const random_input& random) {
  const places at = places_of(to, x);
  const auto up = [&](const oracle::place& p) {
    if (mode.direction == direction::stochastic)
      return p.above != side::equal && stochastic_up(on_grid(x, p.step), mode, random);
    return goes_up(p, negative, mode.direction);
  };
  return deliver(to, negative, at, mode, up(at.unbounded), at.tiny && up(at.subnormal));
}

// An operand or an exact result. A NaN result of an operation that had none among its operands is canonical.
struct number {
  number_class kind = number_class::zero;
  bool negative = false;
  bool cancelled = false;  // zero, as the sum of opposite signs
  status flags = status::none;
  std::uint64_t payload = 0;
  magnitude size{};
};

number invalid() { return {.kind = number_class::nan, .flags = status::invalid}; }
number infinity(bool negative) { return {.kind = number_class::infinity, .negative = negative}; }
number zero(bool negative) { return {.negative = negative}; }

number number_of(const exact_value& x, bool daz) {
  if (x.kind == number_class::zero || (daz && x.subnormal)) return zero(x.negative);
  if (x.kind == number_class::infinity) return infinity(x.negative);
  if (x.kind == number_class::nan) return {.kind = number_class::nan, .negative = x.negative, .payload = x.significand};
  return {.kind = number_class::finite, .negative = x.negative, .size = magnitude_of(x)};
}

bool is(const number& x, number_class kind) { return x.kind == kind; }

number sum(const number& x, const number& y) {
  if (is(x, number_class::infinity) && is(y, number_class::infinity) && x.negative != y.negative) return invalid();
  if (is(x, number_class::infinity)) return x;
  if (is(y, number_class::infinity)) return y;
  if (is(x, number_class::zero) && is(y, number_class::zero))
    return {.negative = x.negative && y.negative, .cancelled = x.negative != y.negative};
  if (is(x, number_class::zero)) return y;
  if (is(y, number_class::zero)) return x;
  // Both have denominator 1.
  const int unit = std::min(x.size.exponent, y.size.exponent);
  const cpp_int a = x.size.numerator << (x.size.exponent - unit);
  const cpp_int b = y.size.numerator << (y.size.exponent - unit);
  if (x.negative == y.negative) return {.kind = x.kind, .negative = x.negative, .size = {a + b, 1, unit}};
  const int larger = a.compare(b);
  if (larger == 0) return {.cancelled = true};
  if (larger > 0) return {.kind = x.kind, .negative = x.negative, .size = {a - b, 1, unit}};
  return {.kind = x.kind, .negative = y.negative, .size = {b - a, 1, unit}};
}

number product(const number& x, const number& y) {
  const bool negative = x.negative != y.negative;
  const bool either_zero = is(x, number_class::zero) || is(y, number_class::zero);
  if (is(x, number_class::infinity) || is(y, number_class::infinity))
    return either_zero ? invalid() : infinity(negative);
  if (either_zero) return zero(negative);
  return {.kind = number_class::finite,
          .negative = negative,
          .size = {x.size.numerator * y.size.numerator, 1, x.size.exponent + y.size.exponent}};
}

number quotient(const number& x, const number& y) {
  const bool negative = x.negative != y.negative;
  if (x.kind == y.kind && !is(x, number_class::finite)) return invalid();  // 0 / 0, inf / inf
  if (is(x, number_class::infinity)) return infinity(negative);
  if (is(x, number_class::zero) || is(y, number_class::infinity)) return zero(negative);
  if (is(y, number_class::zero))
    return {.kind = number_class::infinity, .negative = negative, .flags = status::divide_by_zero};
  return {.kind = number_class::finite,
          .negative = negative,
          .size = {x.size.numerator, y.size.numerator, x.size.exponent - y.size.exponent}};
}

number remainder(const number& x, const number& y) {
  if (is(x, number_class::infinity) || is(y, number_class::zero)) return invalid();
  if (is(x, number_class::zero) || is(y, number_class::infinity)) return x;
  const int unit = std::min(x.size.exponent, y.size.exponent);
  const cpp_int a = x.size.numerator << (x.size.exponent - unit);
  const cpp_int b = y.size.numerator << (y.size.exponent - unit);
  cpp_int n;
  cpp_int rest;
  divide_qr(a, b, n, rest);
  const int nearer = cpp_int{2 * rest}.compare(b);
  if (nearer > 0 || (nearer == 0 && bit_test(n, 0)))
    return {.kind = number_class::finite, .negative = !x.negative, .size = {b - rest, 1, unit}};
  if (rest == 0) return zero(x.negative);
  return {.kind = number_class::finite, .negative = x.negative, .size = {rest, 1, unit}};
}

// An irrational root lies between two multiples of 2^-256 of its own binade, and every rounding compares it with
// multiples of a far coarser step: the middle between the two stands for it.
number root(const number& x) {
  if (is(x, number_class::zero)) return x;
  if (x.negative) return invalid();
  if (is(x, number_class::infinity)) return x;
  const int odd = (x.size.exponent % 2 + 2) % 2;
  const cpp_int square = x.size.numerator << (512 + odd);
  const cpp_int whole = sqrt(square);
  const cpp_int next = whole + 1;
  if (whole * whole > square || next * next <= square) throw std::logic_error("not the integer square root");
  const int exponent = (x.size.exponent - odd) / 2 - 256;
  if (whole * whole == square) return {.kind = number_class::finite, .size = {whole, 1, exponent}};
  return {.kind = number_class::finite, .size = {2 * whole + 1, 1, exponent - 1}};
}

number computed(operation op, const std::array<exact_value, 3>& operands, bool daz) {
  std::array<number, 3> x;
  bool signaling = false;
  std::optional<number> nan;
  for (std::size_t i = 0; i < static_cast<std::size_t>(operand_count(op)); ++i) {
    x[i] = number_of(operands[i], daz);
    signaling = signaling || operands[i].signaling;
    if (!nan && is(x[i], number_class::nan)) nan = x[i];
  }
  if (nan) {
    const bool both_finite_or_infinite = !is(x[0], number_class::nan) && !is(x[1], number_class::nan);
    const bool no_product =
        operand_count(op) == 3 && both_finite_or_infinite && product(x[0], x[1]).flags == status::invalid;
    if (signaling || no_product) nan->flags = status::invalid;
    return *nan;
  }
  switch (op) {
    case operation::convert: return x[0];
    case operation::add: return sum(x[0], x[1]);
    case operation::sub: x[1].negative = !x[1].negative; return sum(x[0], x[1]);
    case operation::mul: return product(x[0], x[1]);
    case operation::div: return quotient(x[0], x[1]);
    case operation::rem: return remainder(x[0], x[1]);
    case operation::sqrt: return root(x[0]);
    case operation::fma:
    case operation::mac: {
      const number first = product(x[0], x[1]);
      return is(first, number_class::nan) ? first : sum(first, x[2]);
    }
    default: break;
  }
  throw std::logic_error("no such operation");
}

encoded round_special(const format& to, const number& exact, const rounding& mode) {
  const fields f{to};
  switch (exact.kind) {
    case number_class::zero:
      return f.zero(exact.cancelled ? mode.direction == direction::toward_negative : exact.negative, status::none);
    case number_class::nan: return f.nan(exact.negative, exact.payload, exact.flags);
    case number_class::infinity: return infinite(f, exact.negative, mode, exact.flags);
    case number_class::finite: break;
  }
  throw std::logic_error("finite");
}

}  // namespace

oracle::oracle(operation op, const format& to, const std::array<exact_value, 3>& operands, bool daz)
    : to_(to), op_(op), daz_(daz), operands_(operands) {
  const number exact = computed(op, operands, daz);
  kind_ = exact.kind;
  negative_ = exact.negative;
  cancelled_ = exact.cancelled;
  flags_ = exact.flags;
  payload_ = exact.payload;
  if (kind_ != number_class::finite) return;
  const places at = places_of(to, exact.size);
  tiny_ = at.tiny;
  unbounded_ = at.unbounded;
  subnormal_ = at.subnormal;
}

struct oracle::exact_places {
  neighbours unbounded;
  neighbours subnormal;  // where tiny

  const neighbours& last(const format& to, bool tiny) const {
    return tiny && to.bottom == lowest_binade::subnormals ? subnormal : unbounded;
  }
};

const oracle::exact_places& oracle::exact() const {
  if (!exact_) {
    const magnitude size = computed(op_, operands_, daz_).size;
    exact_ = std::make_shared<const exact_places>(
        exact_places{on_grid(size, unbounded_.step), tiny_ ? on_grid(size, subnormal_.step) : neighbours{}});
  }
  return *exact_;
}

encoded oracle::operator()(const rounding& mode, random_input random) const {
  if (kind_ != number_class::finite)
    return round_special(to_,
                         {.kind = kind_,
                          .negative = negative_,
                          .cancelled = cancelled_,
                          .flags = flags_,
                          .payload = payload_,
                          .size = {}},
                         mode);
  const places at{tiny_, unbounded_, subnormal_};
  if (mode.direction != direction::stochastic)
    return deliver(to_, negative_, at, mode, goes_up(unbounded_, negative_, mode.direction),
                   tiny_ && goes_up(subnormal_, negative_, mode.direction));
  rounding with_end = mode;
  if (mode.random_bits == exact_probability && (op_ == operation::div || op_ == operation::sqrt))
    with_end.random_bits = 32;
  return deliver(to_, negative_, at, mode,
                 unbounded_.above != side::equal && stochastic_up(exact().unbounded, with_end, random),
                 tiny_ && subnormal_.above != side::equal && stochastic_up(exact().subnormal, with_end, random));
}

oracle::discarded_part oracle::discarded() const {
  if (kind_ != number_class::finite) return {};
  const neighbours& n = exact().last(to_, tiny_);
  if (n.remainder == 0) return {};
  const auto common = static_cast<unsigned>(std::min(lsb(n.remainder), lsb(n.divisor)));
  return {static_cast<std::uint64_t>(n.remainder >> common), static_cast<int>(msb(n.divisor) - common)};
}

std::uint64_t oracle::ups(const rounding& mode) const {
  if (kind_ != number_class::finite) return 0;
  const neighbours& n = exact().last(to_, tiny_);
  const cpp_int part = n.remainder << mode.random_bits;  // v 2^N, times the divisor
  switch (mode.definition) {
    case stochastic_definition::a: return static_cast<std::uint64_t>(part / n.divisor);
    case stochastic_definition::b: return static_cast<std::uint64_t>((2 * part / n.divisor + 1) / 2);
    case stochastic_definition::c: {
      const cpp_int below = part / n.divisor;
      const int nearer = cpp_int{2 * (part - below * n.divisor)}.compare(n.divisor);
      const bool up = nearer > 0 || (nearer == 0 && bit_test(below, 0));
      return static_cast<std::uint64_t>(below) + (up ? 1 : 0);
    }
  }
  throw std::logic_error("no such definition");
}

exact_value value_of(const format& from, std::uint64_t code) {
  const fields f{from};
  exact_value x;
  x.negative = from.has_sign && ((code >> (from.exponent_bits + from.fraction_bits)) & 1) != 0;
  const std::uint64_t exponent = (code >> from.fraction_bits) & f.top_exponent();
  const std::uint64_t fraction = code & f.top_fraction();
  switch (from.top) {
    case specials::ieee:
      if (exponent != f.top_exponent()) break;
      x.kind = fraction == 0 ? number_class::infinity : number_class::nan;
      x.signaling = fraction != 0 && (fraction >> (from.fraction_bits - 1)) == 0;
      // The quiet bit falls out at the top.
      x.significand = fraction << (63 - (from.fraction_bits - 1)) << 1;
      return x;
    case specials::nan_all_ones:
      if (exponent != f.top_exponent() || fraction != f.top_fraction()) break;
      x.kind = number_class::nan;
      return x;
    case specials::nan_negative_zero_and_infinity:
      if (exponent == f.top_exponent() && fraction == f.top_fraction()) {
        x.kind = number_class::infinity;
        return x;
      }
      [[fallthrough]];
    case specials::nan_negative_zero:
      if (!x.negative || exponent != 0 || fraction != 0) break;
      x.kind = number_class::nan;
      return x;
    case specials::none: break;
  }
  if (exponent == 0 && fraction == 0 && f.zero_exists()) return x;
  x.kind = number_class::finite;
  x.subnormal = exponent == 0 && f.subnormals();
  x.significand = x.subnormal ? fraction : fraction + (std::uint64_t{1} << from.fraction_bits);
  x.exponent = (x.subnormal ? 1 : static_cast<int>(exponent)) - from.bias - from.fraction_bits;
  return x;
}

exact_value value_of(float x) {
  return value_of(format{.exponent_bits = 8, .fraction_bits = 23, .bias = 127}, std::bit_cast<std::uint32_t>(x));
}

exact_value value_of(double x) {
  return value_of(format{.exponent_bits = 11, .fraction_bits = 52, .bias = 1023}, std::bit_cast<std::uint64_t>(x));
}

exact_value value_of_unsigned(std::uint64_t n) {
  if (n == 0) return {};
  return {.kind = number_class::finite, .significand = n};
}

exact_value value_of_integer(std::int64_t n) {
  if (n == 0) return {};
  const std::uint64_t bits = static_cast<std::uint64_t>(n);
  return {.kind = number_class::finite, .negative = n < 0, .significand = n < 0 ? ~bits + 1 : bits};
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

encoded oracle_round(const format& to, const exact_value& x, const rounding& mode, random_input random) {
  const number exact = computed(operation::convert, {x, {}, {}}, mode.daz);
  if (exact.kind == number_class::finite) return round_finite(to, exact.negative, exact.size, mode, random);
  return round_special(to, exact, mode);
}

encoded oracle_round_decimal(const format& to, std::string_view decimal, const rounding& mode, random_input random) {
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

std::partial_ordering oracle_compare(const exact_value& x, const exact_value& y) {
  if (x.kind == number_class::nan || y.kind == number_class::nan) return std::partial_ordering::unordered;
  // Signs first, zero between; infinities outside of everything.
  const auto rank = [](const exact_value& z) {
    if (z.kind == number_class::zero) return 0;
    const int size = z.kind == number_class::infinity ? 2 : 1;
    return z.negative ? -size : size;
  };
  if (rank(x) != rank(y) || x.kind != number_class::finite) return rank(x) <=> rank(y);
  const std::strong_ordering sizes = compare(magnitude_of(x), magnitude_of(y));
  return x.negative ? 0 <=> sizes : sizes;
}

namespace {

struct any_integer {
  cpp_int value;
  status flags = status::none;
};

any_integer to_integer_between(const cpp_int& lowest, const cpp_int& largest, const exact_value& x,
                               const rounding& mode, random_input random) {
  if (x.kind == number_class::nan) return {0, status::invalid};
  if (x.kind == number_class::zero || (mode.daz && x.subnormal)) return {0, status::none};
  const any_integer end{x.negative ? lowest : largest, status::invalid};
  if (x.kind == number_class::infinity) return end;
  const neighbours n = on_grid(magnitude_of(x), 0);
  const oracle::place p{0, bit_test(n.below, 0) ? std::uint64_t{1} : 0, side_of(n)};  // its last digit is enough
  const bool up = mode.direction == direction::stochastic ? p.above != side::equal && stochastic_up(n, mode, random)
                                                          : goes_up(p, x.negative, mode.direction);
  cpp_int value = n.below + (up ? 1 : 0);
  if (x.negative) value = -value;
  if (value < lowest || value > largest) return end;
  return {value, n.remainder == 0 ? status::none : status::inexact};
}

}  // namespace

rounded_integer<std::int64_t> oracle_to_integer(const exact_value& x, int bits, const rounding& mode,
                                                random_input random) {
  const any_integer n = to_integer_between(-power_of_two(bits - 1), power_of_two(bits - 1) - 1, x, mode, random);
  return {static_cast<std::int64_t>(n.value), n.flags};
}

rounded_integer<std::uint64_t> oracle_to_unsigned(const exact_value& x, int bits, const rounding& mode,
                                                  random_input random) {
  const any_integer n = to_integer_between(0, power_of_two(bits) - 1, x, mode, random);
  return {static_cast<std::uint64_t>(n.value), n.flags};
}

}  // namespace ulp::test
