#include "support/sum_oracle.hpp"

#include <algorithm>
#include <boost/multiprecision/cpp_int.hpp>

#include <ulp/formats/random_bits.hpp>

#include "support/oracle.hpp"

namespace ulp::test {
namespace {

using boost::multiprecision::cpp_int;

// (-1)^negative * magnitude * 2^exponent; of NaN the payload.
struct number {
  number_class kind = number_class::zero;
  bool negative = false;
  bool signaling = false;
  std::uint64_t payload = 0;
  cpp_int magnitude = 0;
  int exponent = 0;
  int field_exponent = 0;  // what the exponent fields say
};

number invalid_operation() { return {.kind = number_class::nan, .signaling = true}; }

number number_of(const format& of, std::uint64_t code, bool daz) {
  const exact_value v = value_of(of, code);
  number x{.kind = v.kind, .negative = v.negative, .signaling = v.signaling};
  if (v.kind == number_class::nan) x.payload = v.significand;
  if (v.kind != number_class::finite) return x;
  if (daz && v.subnormal) {
    x.kind = number_class::zero;
    return x;
  }
  x.magnitude = v.significand;
  x.exponent = v.exponent;
  const auto field = static_cast<int>((code >> of.fraction_bits) & ((std::uint64_t{1} << of.exponent_bits) - 1));
  x.field_exponent = std::max(field, of.bottom == lowest_binade::subnormals ? 1 : 0) - of.bias;
  return x;
}

number product(const number& x, const number& y) {
  if (x.kind == number_class::nan || y.kind == number_class::nan) {
    number nan = x.kind == number_class::nan ? x : y;
    nan.signaling = x.signaling || y.signaling;
    return nan;
  }
  number p{.negative = x.negative != y.negative};
  const bool infinite = x.kind == number_class::infinity || y.kind == number_class::infinity;
  const bool zero = x.kind == number_class::zero || y.kind == number_class::zero;
  if (infinite && zero) return invalid_operation();
  p.kind = infinite ? number_class::infinity : zero ? number_class::zero : number_class::finite;
  if (p.kind != number_class::finite) return p;
  p.magnitude = x.magnitude * y.magnitude;
  p.exponent = x.exponent + y.exponent;
  p.field_exponent = x.field_exponent + y.field_exponent;
  return p;
}

// IEEE 754-2019, 6.1 to 6.3.
number sum(const std::vector<number>& terms, direction way) {
  number special;
  bool any_finite = false;
  bool any_plus_zero = false;
  bool any_minus_zero = false;
  int exponent = 1 << 20;
  for (const number& t : terms) {
    if (t.kind == number_class::zero) (t.negative ? any_minus_zero : any_plus_zero) = true;
    if (t.kind == number_class::finite) {
      any_finite = true;
      exponent = std::min(exponent, t.exponent);
    }
    if (t.kind == number_class::nan) {
      const bool signaling = t.signaling || special.signaling;
      if (special.kind != number_class::nan) special = t;
      special.signaling = signaling;
    }
    if (t.kind == number_class::infinity) {
      if (special.kind == number_class::zero)
        special = t;
      else if (special.kind == number_class::infinity && special.negative != t.negative)
        special = invalid_operation();
    }
  }
  if (special.kind != number_class::zero) return special;
  cpp_int total = 0;
  for (const number& t : terms)
    if (t.kind == number_class::finite) {
      const cpp_int m = t.magnitude << (t.exponent - exponent);
      total += t.negative ? cpp_int{-m} : m;
    }
  number result;
  if (total == 0) {
    const bool one_sign = !any_finite && any_plus_zero != any_minus_zero;
    result.negative = one_sign ? any_minus_zero : way == direction::toward_negative;
    return result;
  }
  result.kind = number_class::finite;
  result.negative = total < 0;
  result.magnitude = abs(total);
  result.exponent = exponent;
  return result;
}

// The first 64 bits, and whether there are more.
exact_value value_of(const number& x) {
  exact_value v{.kind = x.kind, .negative = x.negative, .signaling = x.signaling, .significand = x.payload};
  if (x.kind != number_class::finite) return v;
  const int extra = std::max(static_cast<int>(msb(x.magnitude)) - 63, 0);
  const cpp_int head = x.magnitude >> extra;
  v.significand = head.convert_to<std::uint64_t>();
  v.more = (head << extra) != x.magnitude;
  v.exponent = x.exponent + extra;
  return v;
}

class accumulator {
 public:
  accumulator(const sum_operands& x, const accumulation& how) : x_(x), how_(how), daz_(how.rounding.daz) {}

  accumulated run() {
    const number c = number_of(x_.c.of, x_.c.code, daz_);
    if (x_.a.empty()) {
      round(how_.result(), c);
      return {last_code_, flags_};
    }
    number compensation;
    std::uint64_t compensation_code = 0;
    number s = c;
    const std::size_t n = x_.a.size();
    switch (how_.order.kind) {
      case sum_order::sequential:
        for (std::size_t i = 0; i < n; ++i) s = add(how_.accumulator, s, term(i));
        break;
      case sum_order::compensated:
        for (std::size_t i = 0; i < n; ++i) {
          const number y = add(how_.accumulator, term(i), negated(compensation));
          const number next = add(how_.accumulator, s, y);
          const std::uint64_t code = last_code_;
          compensation = add(how_.accumulator, add(how_.accumulator, next, negated(s)), negated(y));
          compensation_code = last_code_;
          s = next;
          last_code_ = code;
        }
        break;
      case sum_order::pairwise: add(how_.accumulator, c, tree(0, n)); break;
      case sum_order::lanes: {
        std::vector<number> lane(how_.order.size);
        for (std::size_t i = 0; i < n; ++i)
          lane[i % lane.size()] = add(how_.accumulator, lane[i % lane.size()], term(i));
        while (lane.size() > 1) {
          const std::size_t half = lane.size() / 2;
          for (std::size_t i = 0; i < half; ++i) lane[i] = add(how_.accumulator, lane[i], lane[i + half]);
          lane.resize(half);
        }
        add(how_.accumulator, c, lane[0]);
        break;
      }
      case sum_order::chunks:
      case sum_order::tree_chunks:
        for (std::size_t from = 0; from < n; from += how_.order.size) {
          const std::size_t to = std::min<std::size_t>(n, from + how_.order.size);
          number chunk;
          if (how_.order.kind == sum_order::tree_chunks) chunk = tree(from, to);
          if (how_.order.kind == sum_order::chunks)
            for (std::size_t i = from; i < to; ++i) chunk = add(how_.accumulator, chunk, term(i));
          s = add(how_.result(), s, chunk);
        }
        break;
      case sum_order::blocks:
        for (std::size_t from = 0; from < n; from += how_.order.size) {
          std::vector<number> block{s};
          for (std::size_t i = from; i < std::min<std::size_t>(n, from + how_.order.size); ++i)
            block.push_back(term(i));
          if (how_.align_bits) cut(block);
          s = add(how_.accumulator, block);
        }
        break;
    }
    return {last_code_, flags_, compensation_code};
  }

 private:
  static number negated(number x) {
    if (x.kind != number_class::nan) x.negative = !x.negative;
    return x;
  }

  number term(std::size_t i) {
    const number a = number_of(x_.a_format, x_.a[i], daz_);
    if (x_.b.empty()) return a;
    const number p = product(a, number_of(x_.b_format, x_.b[i], daz_));
    return how_.products ? round(*how_.products, p) : p;
  }

  number tree(std::size_t from, std::size_t to) {
    if (to - from == 1) return term(from);
    const std::size_t middle = from + (to - from + 1) / 2;
    const number first = tree(from, middle);
    const number second = tree(middle, to);
    return add(how_.accumulator, first, second);
  }

  number add(const format& to, const number& x, const number& y) { return add(to, std::vector<number>{x, y}); }
  number add(const format& to, const std::vector<number>& terms) {
    const number exact = sum(terms, how_.rounding.direction);
    return round(to, how_.sums ? round(*how_.sums, exact) : exact);
  }

  number round(const format& to, const number& x) {
    random_input random;
    if (how_.rounding.direction == direction::stochastic)
      random =
          random_bits(how_.random.seed, how_.random.stream, how_.random.first + rounded_++, how_.rounding.random_bits);
    const encoded e = oracle_round(to, value_of(x), how_.rounding, random);
    flags_ |= e.flags;
    last_code_ = e.code;
    return number_of(to, e.code, daz_);
  }

  // Each term to a multiple of a power of two.
  void cut(std::vector<number>& terms) {
    int largest = how_.align_floor;
    for (const number& t : terms) {
      if (t.kind == number_class::nan || t.kind == number_class::infinity) return;
      if (t.kind == number_class::finite) largest = std::max(largest, t.field_exponent);
    }
    const int unit = largest - *how_.align_bits;
    for (number& t : terms) {
      if (t.kind != number_class::finite || t.exponent >= unit) continue;
      cpp_int step = 1;
      step <<= unit - t.exponent;
      cpp_int kept = t.magnitude / step;
      const cpp_int rest = t.magnitude % step;
      bool up = false;
      switch (how_.align) {
        case direction::nearest_even: up = 2 * rest > step || (2 * rest == step && kept % 2 != 0); break;
        case direction::nearest_away: up = 2 * rest >= step; break;
        case direction::toward_positive: up = rest != 0 && !t.negative; break;
        case direction::toward_negative: up = rest != 0 && t.negative; break;
        case direction::to_odd: up = rest != 0 && kept % 2 == 0; break;
        case direction::toward_zero:
        case direction::stochastic: break;
      }
      if (rest != 0) flags_ |= status::inexact;
      t.magnitude = kept + (up ? 1 : 0);
      t.exponent = unit;
    }
  }

  const sum_operands& x_;
  const accumulation& how_;
  bool daz_;
  status flags_ = status::none;
  std::uint64_t last_code_ = 0;
  std::uint64_t rounded_ = 0;
};

}  // namespace

encoded oracle_exact(const format& to, const sum_operands& x, const rounding& mode, random_input random) {
  std::vector<number> terms{number_of(x.c.of, x.c.code, mode.daz)};
  for (std::size_t i = 0; i < x.a.size(); ++i) {
    const number a = number_of(x.a_format, x.a[i], mode.daz);
    terms.push_back(x.b.empty() ? a : product(a, number_of(x.b_format, x.b[i], mode.daz)));
  }
  return oracle_round(to, value_of(sum(terms, mode.direction)), mode, random);
}

accumulated oracle_accumulate(const sum_operands& x, const accumulation& how) { return accumulator{x, how}.run(); }

}  // namespace ulp::test
