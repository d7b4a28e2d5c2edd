#include <ulp/formats/vectors.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <set>
#include <vector>

#include <ulp/formats/arithmetic.hpp>
#include <ulp/formats/neighbours.hpp>
#include <ulp/formats/random_bits.hpp>

#include "integer_vectors.hpp"

namespace ulp {
namespace {

constexpr rounding toward_zero{.direction = direction::toward_zero};

class random_numbers {
 public:
  random_numbers(std::uint64_t seed, std::uint64_t stream) : seed_(seed), stream_(stream) {}

  std::uint64_t bits(int n) {
    if (n == 0) return 0;
    const std::array<std::uint32_t, 2> key{static_cast<std::uint32_t>(seed_), static_cast<std::uint32_t>(seed_ >> 32)};
    if (next_ % 2 == 0)
      block_ = philox4x32({static_cast<std::uint32_t>(next_), static_cast<std::uint32_t>(next_ >> 32),
                           static_cast<std::uint32_t>(stream_), static_cast<std::uint32_t>(stream_ >> 32)},
                          key);
    const std::size_t half = 2 * (next_++ % 2);
    return ((std::uint64_t{block_[half]} << 32) | block_[half + 1]) >> (64 - n);
  }
  // 0 <= . < n
  std::uint64_t below(std::uint64_t n) { return bits(64) % n; }
  int between(int low, int high) {
    return low + static_cast<int>(below(static_cast<std::uint64_t>(std::max(high - low, 0)) + 1));
  }
  // n >= 1 bits, the first and the last of which are set.
  std::uint64_t odd(int n) { return n <= 1 ? 1 : bits(n - 2) << 1 | 1 | std::uint64_t{1} << (n - 1); }

 private:
  std::uint64_t seed_;
  std::uint64_t stream_;
  std::uint64_t next_ = 0;
  std::array<std::uint32_t, 4> block_{};
};

int bit_count(std::uint64_t n) { return 64 - std::countl_zero(n); }

std::uint64_t ones(int n) { return n >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << n) - 1; }

// significand * 2^exponent
unpacked dyadic(std::uint64_t significand, int exponent) {
  if (significand == 0) return {};
  const int shift = std::countl_zero(significand);
  return {.kind = number_class::finite, .exponent = exponent + 63 - shift, .significand = significand << shift};
}

unpacked minus(unpacked x) {
  x.negative = !x.negative;
  return x;
}

// The code of a value that the format holds exactly.
std::optional<std::uint64_t> code_of(const format& f, const unpacked& x) {
  const encoded e = encode(f, x, toward_zero);
  if (e.flags != status::none) return std::nullopt;
  return e.code;
}

std::uint64_t negated(const format& f, std::uint64_t code) {
  const bool lone_zero = (code & f.magnitude_mask()) == 0 && !f.has_negative_zero();
  return lone_zero ? code : code ^ f.sign_mask();
}

// The inverse of an odd number modulo 2^64, by Newton: each step doubles the bits that are right.
std::uint64_t inverse(std::uint64_t odd) {
  std::uint64_t x = odd;  // right in 3 bits
  for (int i = 0; i < 5; ++i) x *= 2 - odd * x;
  return x;
}

// Codes of a format without their sign, in order: the numbers at its edges, and of telling exponents x telling
// fractions as many as `want` leaves room for.
std::vector<std::uint64_t> pattern_magnitudes(const format& f, std::size_t want) {
  const auto clipped = [&](std::uint64_t code) { return std::min(code, f.magnitude_mask()); };
  const std::uint64_t one = code_of(f, dyadic(1, 0)).value_or(f.max_finite_code());
  std::set<std::uint64_t> chosen{0,
                                 f.min_positive_code(),
                                 clipped(2),
                                 f.min_normal_code() - (f.min_normal_code() > 0 ? 1 : 0),
                                 f.min_normal_code(),
                                 clipped(f.min_normal_code() + 1),
                                 one > 0 ? one - 1 : 0,
                                 one,
                                 clipped(one + 1),
                                 f.max_finite_code() - 1,
                                 f.max_finite_code(),
                                 clipped(f.max_finite_code() + 1),
                                 f.last_number_code(),
                                 clipped(f.last_number_code() + 1)};
  if (f.top == specials::ieee)
    chosen.insert({f.nan_code(), f.infinity_code() + (f.fraction_bits > 1 ? 1 : 0), f.magnitude_mask()});

  std::set<std::uint64_t> fields;
  const auto last = static_cast<int>(f.exponent_field_mask());
  const auto add_field = [&](int e) { fields.insert(static_cast<std::uint64_t>(std::clamp(e, 0, last))); };
  for (const int e : {0, 1, 2, last - 2, last - 1, last}) add_field(e);
  for (const int d : {0, 1, 2, f.precision() - 1, f.precision(), f.precision() + 1, 2 * f.precision()}) {
    add_field(f.bias - d);
    add_field(f.bias + d);
  }
  for (int i = 0; i < 16; ++i) add_field(i * last / 16);

  std::set<std::uint64_t> fractions{0x5555555555555555 & f.fraction_mask(), 0xAAAAAAAAAAAAAAAA & f.fraction_mask()};
  for (int i = 0; i <= f.fraction_bits; ++i) {
    const std::uint64_t low = ones(i);
    fractions.insert({low, f.fraction_mask() ^ low, (low + 1) & f.fraction_mask(),
                      f.fraction_mask() ^ ((low + 1) & f.fraction_mask())});
  }
  std::vector<std::uint64_t> candidates;
  for (const std::uint64_t field : fields)
    for (const std::uint64_t fraction : fractions) candidates.push_back(field << f.fraction_bits | fraction);
  random_numbers random(0, 0);
  for (std::size_t left = candidates.size(); left > 0 && chosen.size() < want; --left) {
    std::swap(candidates[random.below(left)], candidates[left - 1]);
    chosen.insert(candidates[left - 1]);
  }
  return {chosen.begin(), chosen.end()};
}

std::vector<std::uint64_t> with_signs(const format& f, const std::vector<std::uint64_t>& magnitudes) {
  std::vector<std::uint64_t> codes = magnitudes;
  if (f.has_sign)
    for (const std::uint64_t m : magnitudes) codes.push_back(m | f.sign_mask());
  return codes;
}

// A positive exact value to come near to.
struct target {
  unpacked value;
  bool edge = false;  // there are few of these, so more is tried at each
};

class vector_maker {
 public:
  vector_maker(operation op, const format& to, const format& from, int level, std::uint64_t seed,
               const vector_sink& sink)
      : op_(op),
        to_(to),
        from_(from),
        addend_(operand_format(op, to, from, 2)),
        thorough_(level > 1),
        random_(seed, 1),
        sink_(sink) {
    block_.reserve(block_size);
  }

  void make_all() {
    int bits = 0;
    for (int i = 0; i < operand_count(op_); ++i) bits += operand_width(op_, to_, from_, i);
    const std::array<int, 3> few = thorough_ ? std::array{20, 20, 24} : std::array{10, 16, 18};
    if (bits <= few[static_cast<std::size_t>(operand_count(op_) - 1)]) {
      every_code();
    } else {
      patterns();
      if (!is_comparison(op_) && !rounds_to_integer(op_))
        for (const target& t : targets()) aim(t);
      special_of_operation();
      for (std::size_t i = 0; i < count(200, 6'000, 60'000, 5'000, 150'000, 800'000); ++i) random_vector();
    }
    flush();
  }

 private:
  static constexpr std::size_t block_size = 4096;

  // A number for each level and number of operands.
  [[nodiscard]] std::size_t count(std::size_t one, std::size_t two, std::size_t three, std::size_t thorough_one,
                                  std::size_t thorough_two, std::size_t thorough_three) const {
    switch (operand_count(op_)) {
      case 1: return thorough_ ? thorough_one : one;
      case 2: return thorough_ ? thorough_two : two;
      default: return thorough_ ? thorough_three : three;
    }
  }

  void emit(std::uint64_t a, std::uint64_t b = 0, std::uint64_t c = 0) {
    block_.push_back({a, b, c});
    if (block_.size() == block_size) flush();
  }
  void flush() {
    if (!block_.empty()) sink_(block_);
    block_.clear();
  }

  // The vector and the one with the opposite result; of operands whose signs cancel both ways in turn.
  void emit_signs(std::uint64_t a, std::uint64_t b = 0, std::uint64_t c = 0) {
    emit(a, b, c);
    if (!from_.has_sign) return;
    const auto neg = [this](std::uint64_t code) { return negated(from_, code); };
    const std::uint64_t minus_c = operand_count(op_) > 2 ? negated(addend_, c) : 0;
    const bool other = (turn_++ & 1) != 0;
    switch (op_) {
      case operation::add:
      case operation::sub: emit(neg(a), neg(b)); break;
      case operation::mul:
      case operation::div:
      case operation::rem: other ? emit(neg(a), b) : emit(a, neg(b)); break;
      case operation::fma:
      case operation::mac: other ? emit(neg(a), b, minus_c) : emit(a, neg(b), minus_c); break;
      default: operand_count(op_) > 1 ? emit(neg(a), neg(b)) : emit(neg(a)); break;
    }
    if (op_ == operation::rem) emit(neg(a), neg(b));
  }

  static std::array<std::uint64_t, 3> around(const format& f, std::uint64_t code) {
    return {code, next_down(f, code), next_up(f, code)};
  }
  [[nodiscard]] std::array<std::uint64_t, 3> around(std::uint64_t code) const { return around(from_, code); }

  void every_code() {
    const std::uint64_t n = from_.code_mask() + 1;
    const std::uint64_t second = operand_count(op_) > 1 ? n : 1;
    const std::uint64_t third = operand_count(op_) > 2 ? addend_.code_mask() + 1 : 1;
    for (std::uint64_t a = 0; a < n; ++a)
      for (std::uint64_t b = 0; b < second; ++b)
        for (std::uint64_t c = 0; c < third; ++c) emit(a, b, c);
  }

  void patterns() {
    const auto codes = with_signs(from_, pattern_magnitudes(from_, count(150, 92, 24, 2'000, 400, 70)));
    const std::vector<std::uint64_t> unused{0};
    const auto addends =
        op_ == operation::mac ? with_signs(addend_, pattern_magnitudes(addend_, count(0, 0, 24, 0, 0, 70))) : codes;
    for (const std::uint64_t a : codes)
      for (const std::uint64_t b : operand_count(op_) > 1 ? codes : unused)
        for (const std::uint64_t c : operand_count(op_) > 2 ? addends : unused) emit(a, b, c);
  }

  // Midpoints of neighbours in `to`, and the lower neighbours themselves.
  std::vector<target> targets() {
    std::vector<target> all;
    std::set<std::uint64_t> seen;
    // The number of this code and half way to the next, 2 significand and 2 significand + 1 of half a unit.
    const auto add = [&](std::uint64_t code, bool edge) {
      if (code > to_.max_finite_code() || !seen.insert(code).second) return;
      const bool subnormal = code < to_.min_normal_code() && to_.has_subnormals();
      const std::uint64_t fraction = code & to_.fraction_mask();
      const std::uint64_t significand = subnormal ? fraction : fraction | (to_.fraction_mask() + 1);
      const int unit = subnormal ? to_.min_quantum_exponent()
                                 : static_cast<int>(code >> to_.fraction_bits) - to_.bias - to_.fraction_bits;
      all.push_back({dyadic(2 * significand + 1, unit - 1), edge});
      if (significand != 0) all.push_back({dyadic(significand, unit), edge});
    };
    const std::uint64_t binade = to_.fraction_mask() + 1;
    const std::uint64_t one = code_of(to_, dyadic(1, 0)).value_or(to_.max_finite_code());
    // With zero and what overflows first; codes that wrap around below zero are too large, and left out.
    for (const std::uint64_t code :
         {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{2}, to_.min_normal_code() - 2, to_.min_normal_code() - 1,
          to_.min_normal_code(), to_.min_normal_code() + 1, to_.max_finite_code() - 1, to_.max_finite_code()})
      add(code, true);
    // All ones with one bit more than the precision, in the binade below the normal numbers: where a result stops being
    // tiny after rounding, and all ones of the precision there.
    all.push_back({dyadic(2 * binade * 2 - 1, to_.emin() - to_.precision() - 1), true});
    all.push_back({dyadic(2 * binade - 1, to_.emin() - to_.precision()), true});
    for (const std::uint64_t code : {one - 1, one, one + 1, one + binade - 1, one + binade}) add(code, false);
    for (const std::uint64_t m : pattern_magnitudes(to_, thorough_ ? 200 : 30)) add(m, false);
    for (std::size_t i = 0; i < count(40, 24, 24, 1'200, 300, 300); ++i) {
      add(random_.below(to_.max_finite_code() + 1), false);
      if (to_.has_subnormals()) add(random_.below(binade), false);
    }
    return all;
  }

  [[nodiscard]] int tries(const target& t) const { return !t.edge ? 1 : thorough_ ? 8 : 4; }

  void aim(const target& t) {
    switch (op_) {
      case operation::add:
      case operation::sub: aim_sum(t); break;
      case operation::mul: aim_product(t); break;
      case operation::div: aim_quotient(t); break;
      case operation::fma:
      case operation::mac: aim_fma(t); break;
      case operation::rem: aim_remainder(t); break;
      case operation::sqrt: solve(mul(from_, t.value, t.value, toward_zero)); break;
      default: solve(encode(from_, t.value, toward_zero)); break;
    }
  }

  // One operand, and its neighbours.
  void solve(const encoded& x) {
    for (const std::uint64_t code : around(x.code)) emit_signs(code);
  }

  // x is the target cut at every place, or one unit of that place more; y the rest.
  void aim_sum(const target& t) {
    const std::uint64_t whole = encode(from_, t.value, toward_zero).code;
    const int last = from_.fraction_bits;
    for (int place = 0; place <= last; place = place < 2 || place >= last - 2 ? place + 1 : (place + last) / 2)
      for (const bool more : {false, true}) {
        const std::uint64_t unit = std::uint64_t{1} << place;
        const std::uint64_t x = (whole & ~(unit - 1)) + (more ? unit : 0);
        if (x > from_.last_number_code()) continue;
        const std::uint64_t y = sub(from_, t.value, decode(from_, x), toward_zero).code;
        for (const std::uint64_t near : around(y)) emit_sum(x, near);
      }
    // A second operand that is felt only as a sticky bit, if at all.
    for (const std::uint64_t tiny : {from_.min_positive_code(), from_.min_normal_code()}) {
      emit_sum(whole, tiny);
      emit_sum(whole, negated(from_, tiny));
    }
  }
  void emit_sum(std::uint64_t x, std::uint64_t y) {
    if (op_ == operation::sub) {
      emit_signs(x, negated(from_, y));
    } else {
      (turn_ & 2) != 0 ? emit_signs(x, y) : emit_signs(y, x);
    }
  }

  // Exponents for one factor of a product near 2^exponent, or for a divisor: balanced, one, the ends of the range, any.
  std::array<int, 5> factor_exponents(int exponent) {
    const int low = from_.min_quantum_exponent();
    return {exponent / 2, 0, low + 1, from_.emax() - 1, random_.between(low, from_.emax())};
  }

  // A random number of the operands' format with this exponent and as many bits, or as many as there are.
  std::uint64_t operand(const format& f, int bits, int exponent) {
    const std::uint64_t significand = random_.odd(std::min(bits, f.precision()));
    return encode(f, dyadic(significand, exponent - bit_count(significand) + 1), toward_zero).code;
  }
  std::uint64_t operand(int bits, int exponent) { return operand(from_, bits, exponent); }

  // A proper divisor of an odd number, 1 if there is none small.
  static std::uint64_t divisor_of(std::uint64_t n) {
    for (std::uint64_t d = 3; d < (1u << 16) && d * d <= n; d += 2)
      if (n % d == 0) return d;
    return 1;
  }

  // x y near the target for x of few and of many bits, at several exponents.
  void aim_product(const target& t) {
    const std::uint64_t odd_part = t.value.significand >> std::countr_zero(t.value.significand);
    const std::uint64_t divisor = divisor_of(odd_part);
    for (int i = 0; i < tries(t); ++i)
      for (const int e : factor_exponents(t.value.exponent)) {
        for (const std::uint64_t d : {divisor, odd_part / divisor, std::uint64_t{1}, std::uint64_t{3}})
          divide_by(t, encode(from_, dyadic(d, e - bit_count(d) + 1), toward_zero).code);
        divide_by(t, operand(from_.precision(), e));
        divide_by(t, operand(random_.between(2, from_.precision()), e));
      }
  }
  void divide_by(const target& t, std::uint64_t x) {
    const std::uint64_t y = div(from_, t.value, decode(from_, x), toward_zero).code;
    for (const std::uint64_t near : around(y)) (turn_ & 2) != 0 ? emit_signs(x, near) : emit_signs(near, x);
  }

  // x = q y near the target quotient q.
  void aim_quotient(const target& t) {
    const auto multiply_by = [&](std::uint64_t y) {
      for (const std::uint64_t near : around(mul(from_, t.value, decode(from_, y), toward_zero).code))
        emit_signs(near, y);
    };
    for (int i = 0; i < tries(t); ++i)
      for (const int e : factor_exponents(-t.value.exponent)) {
        for (const std::uint64_t d : {std::uint64_t{1}, std::uint64_t{3}, std::uint64_t{5}})
          multiply_by(encode(from_, dyadic(d, e - 2), toward_zero).code);
        multiply_by(operand(from_.precision(), e));
        multiply_by(operand(random_.between(2, from_.precision()), e));
      }
  }

  void aim_fma(const target& t) {
    const std::uint64_t zero = 0;
    const std::uint64_t tiny = addend_.min_positive_code();
    const int p = to_.precision();
    const int e = t.value.exponent;
    // The rest of the target after x y, and its neighbours.
    const auto add_rest = [&](std::uint64_t x, std::uint64_t y) {
      const encoded z = fma(addend_, minus(decode(from_, x)), decode(from_, y), t.value, toward_zero);
      for (const std::uint64_t near : around(addend_, z.code)) emit_signs(x, y, near);
    };
    // The rest of the target after z, of which x is a factor.
    const auto multiply_rest = [&](std::uint64_t x, std::uint64_t z) {
      const unpacked whole = decode(addend_, z);
      unpacked rest;  // exact where z is the target cut at some bit
      if (const auto code = sub(binary64, t.value, whole, toward_zero); code.flags == status::none)
        rest = decode(binary64, code.code);
      else
        return;
      if (rest.kind != number_class::finite) return;
      for (const std::uint64_t near : around(div(from_, rest, decode(from_, x), toward_zero).code))
        emit_signs(x, near, z);
    };
    const std::uint64_t odd_part = t.value.significand >> std::countr_zero(t.value.significand);
    const std::uint64_t divisor = divisor_of(odd_part);
    const std::uint64_t whole = encode(addend_, t.value, toward_zero).code;
    for (int i = 0; i < (t.edge ? 3 : 1); ++i)
      for (const int factor : factor_exponents(e)) {
        // The product is all of the target, up to a last addend that is nothing, felt as a sticky bit, or what division
        // leaves over.
        for (const std::uint64_t d : {divisor, std::uint64_t{1}, random_.odd(from_.precision())}) {
          const std::uint64_t x = encode(from_, dyadic(d, factor - bit_count(d) + 1), toward_zero).code;
          const std::uint64_t y = div(from_, t.value, decode(from_, x), toward_zero).code;
          for (const std::uint64_t z : {zero, negated(addend_, zero), tiny, negated(addend_, tiny)})
            emit_signs(x, y, z);
          add_rest(x, y);
          add_rest(x, next_up(from_, y));
        }
        // The addend is the target cut, or the number after it; the product is the half unit that is left.
        for (const std::uint64_t z : {whole, next_up(addend_, whole)})
          for (const std::uint64_t x : {operand(1, factor), operand(random_.between(2, from_.precision()), factor)})
            multiply_rest(x, z);
        // The product is large against the target and cancels, of its order, or small.
        for (const int product :
             {e + p, e + p / 2, e + 1, e, e - 1, e - p / 2, e - p, e - p - 1, e - 2 * p, e - 3 * p}) {
          const int bits = random_.between(1, from_.precision());
          add_rest(operand(bits, factor), operand(from_.precision() + 1 - bits, product - factor));
          add_rest(operand(from_.precision(), factor), operand(from_.precision(), product - factor));
        }
      }
  }

  // x = n y + r for the target remainder r, at quotients n even and odd.
  void aim_remainder(const target& t) {
    for (int i = 0; i < tries(t); ++i)
      for (const std::uint64_t n :
           {std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{3}, random_.odd(random_.between(1, from_.precision()))}) {
        const std::uint64_t y =
            operand(random_.between(1, from_.precision()), t.value.exponent + random_.between(1, 4));
        const encoded x = fma(from_, dyadic(n, 0), decode(from_, y), t.value, toward_zero);
        for (const std::uint64_t near : around(x.code)) emit_signs(near, y);
      }
  }

  void special_of_operation() {
    if (op_ == operation::sqrt) near_roots();
    if (rounds_to_integer(op_)) near_integers();
    const std::size_t rounds = count(30, 250, 600, 1'500, 12'000, 20'000);
    for (std::size_t i = 0; i < rounds; ++i) {
      switch (op_) {
        case operation::mul:
          short_product();
          near_product();
          break;
        case operation::div: near_quotient(); break;
        case operation::fma:
        case operation::mac: cancelled_product(); break;
        case operation::sqrt: square(); break;
        case operation::rem:
          half_quotient();
          far_remainder();
          break;
        case operation::add:
        case operation::sub: far_sum(); break;
        default:
          if (is_comparison(op_)) near_pair();
          break;
      }
    }
  }

  // An exponent for a result: any, or at an end of the normal numbers.
  int result_exponent() {
    switch (random_.below(4)) {
      case 0: return to_.emin() + random_.between(0, 1);
      case 1: return to_.emax() - random_.between(0, 1);
      default: return random_.between(to_.emin(), to_.emax());
    }
  }

  // Two odd factors whose product has one bit more than is kept, at a normal or a subnormal result: a tie.
  void short_product() {
    const bool subnormal = to_.has_subnormals() && random_.bits(1) != 0;
    const int bits = subnormal ? random_.between(2, to_.precision()) : to_.precision() + 1;
    const std::uint64_t a = random_.odd(random_.between(2, std::min(bits - 1, from_.precision())));
    const std::uint64_t least = (ones(bits - 1) + a) / a;  // 2^(bits-1) / a, upward
    const std::uint64_t most = ones(bits) / a;
    if (bits < 3 || most < least) return;
    const std::uint64_t b = (least + random_.below(most - least + 1)) | 1;
    const int half = subnormal ? to_.min_quantum_exponent() - 1 : result_exponent() - to_.precision();
    place_product(a, b, half);
  }

  // Two factors of all bits whose product ends in 10..01 or 01..1 below the kept bits.
  void near_product() {
    const int q = from_.precision();
    const int lost = 2 * q - to_.precision() - random_.between(0, 1);
    if (lost < 2 || lost > q || q > 60) return;
    const std::uint64_t a = random_.odd(q);
    const std::uint64_t half = std::uint64_t{1} << (lost - 1);
    std::uint64_t b = inverse(a) * (random_.bits(1) != 0 ? half + 1 : half - 1) & ones(lost);
    if (lost < q) b |= std::uint64_t{1} << (q - 1) | random_.bits(q - lost) << lost;
    if (bit_count(b) != q) return;
    place_product(a, b, result_exponent() - 2 * q + random_.between(1, 2));
  }

  // a b 2^exponent, with exponents of the factors as equal as the range of the format wants them, or not.
  void place_product(std::uint64_t a, std::uint64_t b, int exponent) {
    const int width = from_.emax() - from_.min_quantum_exponent();
    for (const int first : {exponent / 2, 1 - bit_count(a), exponent / 2 + random_.between(-width, width) / 4}) {
      const auto x = code_of(from_, dyadic(a, first));
      const auto y = code_of(from_, dyadic(b, exponent - first));
      if (!x || !y) continue;
      emit_signs(*x, *y);
      return;
    }
  }

  // m y = x 2^k + 1 or - 1 for a midpoint m: x / y misses it by less than any other quotient with this divisor.
  void near_quotient() {
    const int q = from_.precision();
    const int p = to_.precision();
    if (q > 60) return;
    const int k = p + random_.between(0, 1);
    const std::uint64_t y = random_.odd(q);
    const std::uint64_t r = inverse(y) & ones(k);
    const bool above = random_.bits(1) != 0;
    const std::uint64_t m = (above ? (std::uint64_t{1} << k) - r : r) | std::uint64_t{1} << p;
    if (bit_count(m) != p + 1) return;
    const auto product = detail::uint128{m} * y;
    const auto x = static_cast<std::uint64_t>((above ? product + 1 : product - 1) >> k);
    const int middle = random_.between(from_.emin(), from_.emax());
    const auto dividend = code_of(from_, dyadic(x, middle - q));
    const auto divisor = code_of(from_, dyadic(y, middle - q - result_exponent()));
    if (dividend && divisor) emit_signs(*dividend, *divisor);
  }

  // An addend that cancels all of a product but a last part with one bit more than is kept: a tie; then with a last bit
  // more or less.
  void cancelled_product() {
    const int q = from_.precision();
    const std::uint64_t a = random_.odd(random_.between((q + 1) / 2, q));
    const std::uint64_t b = random_.odd(q);
    const auto product = detail::uint128{a} * b;
    const bool subnormal = to_.has_subnormals() && random_.bits(1) != 0;
    const int bits = subnormal ? random_.between(1, to_.precision()) : to_.precision() + 1;
    const auto low = static_cast<std::uint64_t>(product) & ones(bits);
    if (product >> bits >> q != 0 || bits > 62) return;
    const auto high = static_cast<std::uint64_t>(product >> bits);
    const int exponent = subnormal ? to_.min_quantum_exponent() - 1 : result_exponent() - bits + 1;
    const int first = exponent / 2;
    const auto x = code_of(from_, dyadic(a, first));
    const auto y = code_of(from_, dyadic(b, exponent - first));
    const auto z = code_of(addend_, minus(dyadic(high, exponent + bits)));
    if (!x || !y || !z || low == 0) return;
    for (const std::uint64_t near : around(addend_, *z)) emit_signs(*x, *y, near);
    // The other half cancels; what is left is high.
    if (const auto rest = code_of(addend_, minus(dyadic(low, exponent)))) emit_signs(*x, *y, *rest);
  }

  // m^2 = x 2^k + r for a midpoint m and a small r: the root of x 2^k misses m by r / 2m. Odd squares are 1 modulo 8.
  void near_roots() {
    const int p = to_.precision();
    if (p > 60) return;
    for (int r = thorough_ ? -511 : -63; r < (thorough_ ? 512 : 64); r += 8) {
      std::uint64_t root = 1;  // of r modulo 2^64, a bit at a time
      for (int i = 3; i < 64; ++i)
        if (((root * root - static_cast<std::uint64_t>(r)) >> i & 1) != 0) root += std::uint64_t{1} << (i - 1);
      for (const int k : {p + 1, p + 2})
        for (const std::uint64_t other :
             {root, 0 - root, root + (std::uint64_t{1} << (k - 1)), (std::uint64_t{1} << (k - 1)) - root}) {
          const std::uint64_t m = other & ones(k);
          if (bit_count(m) != p + 1) continue;
          const auto square = detail::uint128{m} * m;
          const auto rest = static_cast<detail::uint128>(r < 0 ? -r : r);
          const auto x = static_cast<std::uint64_t>((r < 0 ? square + rest : square - rest) >> k);
          const int exponent = 2 * random_.between(to_.emin(), to_.emax() - 1) - 2 * p;
          if (const auto code = code_of(from_, dyadic(x, exponent + k))) emit(*code);
          if (const auto code = code_of(from_, dyadic(x, k - 2 * p))) emit(*code);
        }
    }
  }

  // Numbers n and n + 1/2, small and beside powers of two, where the ends of the integers are too.
  void near_integers() {
    for (int k = 0; k <= 64; ++k)
      for (int below = -2; below <= 2; ++below) {
        const std::uint64_t halves = (k < 64 ? std::uint64_t{2} << k : 0) + static_cast<std::uint64_t>(below);
        const unpacked x = k < 63 || below < 0 ? dyadic(halves, -1) : dyadic(1, k);
        solve(encode(from_, x, toward_zero));
      }
    for (std::uint64_t n = 0; n < count(40, 0, 0, 2'000, 0, 0); ++n) solve(encode(from_, dyadic(n, -1), toward_zero));
  }

  // A number with itself, its neighbours and what is opposite to them.
  void near_pair() {
    const std::uint64_t a = random_.bits(from_.width());
    for (const std::uint64_t near : around(a)) {
      emit(a, near);
      emit(a, negated(from_, near));
    }
  }

  void square() {
    const std::uint64_t root = random_.odd(random_.between(1, std::max(1, from_.precision() / 2)));
    const auto x = code_of(from_, dyadic(root * root, 2 * random_.between(from_.emin() / 2, from_.emax() / 2)));
    if (x)
      for (const std::uint64_t near : around(*x)) emit(near);
  }

  // x = (n + 1/2) y and its neighbours.
  void half_quotient() {
    const int bits = random_.between(1, from_.precision() - 1);
    const std::uint64_t n = random_.bits(from_.precision() - bits - 1);
    const std::uint64_t y = random_.odd(bits);
    const int exponent = random_.between(from_.min_quantum_exponent(), from_.emax());
    const auto divisor = code_of(from_, dyadic(y, exponent));
    const auto x = code_of(from_, dyadic((2 * n + 1) * y, exponent - 1));
    if (!x || !divisor) return;
    for (const std::uint64_t near : around(*x)) emit_signs(near, *divisor);
  }

  void far_remainder() {
    const int low = from_.min_quantum_exponent();
    const int exponent = low + random_.between(0, (from_.emax() - low) / 8);
    emit_signs(operand(from_.precision(), from_.emax() - random_.between(0, from_.emax() / 4)),
               operand(random_.between(1, from_.precision()), exponent));
  }

  // Exponents apart by about the precision, where the smaller operand turns from a half unit into a sticky bit.
  void far_sum() {
    const int p = to_.precision();
    const int e = result_exponent();
    const std::uint64_t x = operand(random_.between(1, from_.precision()), e);
    const std::uint64_t y = operand(random_.between(1, from_.precision()), e - p + random_.between(-3, 3));
    emit_sum(x, y);
    emit_sum(x, negated(from_, y));
  }

  void random_vector() {
    const int n = operand_count(op_);
    std::array<std::uint64_t, 3> codes{};
    const std::uint64_t way = random_.below(3);
    const int exponent = random_.between(from_.min_quantum_exponent(), from_.emax());
    for (int i = 0; i < n; ++i) {
      const format& f = operand_format(op_, to_, from_, i);
      std::uint64_t& code = codes[static_cast<std::size_t>(i)];
      code = random_.bits(f.width());
      if (way == 1) {
        const int near = exponent + random_.between(-f.precision() - 1, f.precision() + 1);
        code = operand(f, f.precision(), near) | (code & f.sign_mask());
      } else if (way == 2) {
        // A long run of equal bits.
        const int place = random_.between(0, f.fraction_bits);
        const std::uint64_t run = ones(random_.between(0, f.fraction_bits)) << place & f.fraction_mask();
        code = random_.bits(1) != 0 ? code | run : code & ~run;
      }
    }
    emit(codes[0], codes[1], codes[2]);
  }

  operation op_;
  format to_;
  format from_;
  format addend_;
  bool thorough_;
  random_numbers random_;
  const vector_sink& sink_;
  std::vector<operand_codes> block_;
  unsigned turn_ = 0;
};

}  // namespace

void for_each_vector(operation op, const format& to, const format& from, int level, std::uint64_t seed,
                     const vector_sink& sink) {
  if (const integer_type type = integer_operand(op); type.bits != 0)
    for_each_integer(type, to, level, seed, sink);
  else
    vector_maker(op, to, from, level, seed, sink).make_all();
}

}  // namespace ulp
