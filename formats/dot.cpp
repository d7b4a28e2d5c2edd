#include <ulp/formats/dot.hpp>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>
#include <vector>

#include <ulp/formats/arithmetic.hpp>
#include <ulp/formats/random_bits.hpp>

#include "exact_accumulator.hpp"

namespace ulp {
namespace {

using detail::uint128;

// What is added: a value of up to 106 bits and its exponent as alignment sees it, not normalised.
struct term {
  unpacked value;
  int exponent = 0;
};

constexpr term plus_zero{};

// The number of a code; under DAZ it is read where it is an operand.
term as_term(const format& of, std::uint64_t code) noexcept {
  const unpacked x = decode(of, code);
  return {x, x.subnormal ? of.emin() : x.exponent};
}
term minus(term x) noexcept {
  x.value.negative = x.value.negative != !detail::is_nan(x.value);
  return x;
}

// The steps of one computation: their flags, and how many have been rounded.
class steps {
 public:
  explicit steps(const accumulation& how) noexcept : how_(how), mode_(how.rounding) {}

  [[nodiscard]] const accumulation& how() const noexcept { return how_; }
  [[nodiscard]] accumulated result(const encoded& sum) const noexcept { return {sum.code, flags_ | sum.flags}; }

  [[nodiscard]] static term number(const number_span& x, std::size_t i) noexcept {
    return as_term(x.format(), x.code(i));
  }

  [[nodiscard]] term product(const number_span& a, const number_span& b, std::size_t i) {
    const term x = number(a, i);
    const term y = number(b, i);
    const unpacked exact = detail::product_of(operand(x), operand(y));
    if (how_.products) return stored(*how_.products, detail::deliver(*how_.products, exact, mode_, next()));
    return {exact, x.exponent + y.exponent};
  }

  // x + y in the format `to`.
  term add(const format& to, const term& x, const term& y) {
    if (!how_.sums) return stored(to, sum(to, operand(x), operand(y)));
    return stored(to, convert(to, stored(*how_.sums, sum(*how_.sums, operand(x), operand(y)))));
  }

  // All of them at once, at least one, the first being the accumulator.
  term add_block(const format& to, const std::vector<term>& terms) {
    const format& first = how_.sums ? *how_.sums : to;
    const encoded e = how_.align_bits ? aligned(first, terms) : exact(first, terms);
    return how_.sums ? stored(to, convert(to, stored(first, e))) : stored(to, e);
  }

  [[nodiscard]] encoded convert(const format& to, const term& x) {
    return detail::deliver(to, operand(x), mode_, next());
  }

 private:
  [[nodiscard]] encoded sum(const format& to, const unpacked& x, const unpacked& y) {
    const random_input random = next();
    if (detail::is_finite(x) && detail::is_finite(y) && detail::sums_in_64_bits(to, mode_) && detail::fits_62_bits(x) &&
        detail::fits_62_bits(y)) [[likely]]
      return detail::add_in_64_bits(to, x, y, mode_, random);
    return detail::encode_sum(to, x, y, mode_, random);
  }

  [[nodiscard]] encoded exact(const format& to, const std::vector<term>& terms) {
    detail::exact_accumulator sum;
    for (const term& t : terms) sum.add(operand(t));
    return sum.round(to, mode_, next());
  }

  [[nodiscard]] encoded aligned(const format& to, const std::vector<term>& terms) {
    detail::exact_accumulator zeros_and_specials;  // has the rules of their sums
    bool any_finite = false;
    bool any_special = false;
    int largest = how_.align_floor;
    for (const term& t : terms) {
      const unpacked& x = operand(t);
      if (!detail::is_finite(x)) {
        any_special = any_special || !detail::is_zero(x);
        zeros_and_specials.add(x);
        continue;
      }
      any_finite = true;
      largest = std::max(largest, t.exponent);
    }
    const random_input random = next();
    if (any_special || !any_finite) return zeros_and_specials.round(to, mode_, random);

    const int unit = largest - *how_.align_bits;
    uint128 total = 0;  // in two's complement
    for (const term& t : terms)
      if (detail::is_finite(operand(t))) total += multiple(t.value, unit);
    if (total == 0) return detail::encode_zero(to, mode_.direction == direction::toward_negative);
    const bool negative = total >> 127 != 0;
    uint128 magnitude = negative ? 0 - total : total;
    const int zeros = detail::leading_zeros(magnitude);
    magnitude <<= zeros;
    const unpacked sum{.kind = number_class::finite,
                       .negative = negative,
                       .exponent = unit + 127 - zeros,
                       .significand = static_cast<std::uint64_t>(magnitude >> 64),
                       .low = static_cast<std::uint64_t>(magnitude)};
    return detail::deliver(to, sum, mode_, random);
  }

  // x in units of 2^unit, in two's complement, cut by the direction of alignment: its magnitude is at most 2^66.
  [[nodiscard]] uint128 multiple(const unpacked& x, int unit) {
    const uint128 bits = (uint128{x.significand} << 64) | x.low;  // in units of 2^(exponent - 127)
    // At least 62, as no x is above four times the power of two of its exponent.
    const int shift = std::min(unit - (x.exponent - 127), 129);
    uint128 kept = shift > 127 ? 0 : bits >> shift;
    const uint128 half = shift > 128 ? 0 : uint128{1} << (shift - 1);
    const bool round_bit = (bits & half) != 0;
    const bool sticky = shift > 128 || (bits & (half - 1)) != 0;
    if (round_bit || sticky) {
      flags_ |= status::inexact;
      const rounding cut{.direction = how_.align};
      kept += rounds_up({.round_bit = round_bit, .sticky = sticky}, (kept & 1) != 0, x.negative, cut, 0) ? 1 : 0;
    }
    return x.negative ? 0 - kept : kept;
  }

  [[nodiscard]] term stored(const format& in, const encoded& e) noexcept {
    flags_ |= e.flags;
    return as_term(in, e.code);
  }

  [[nodiscard]] const unpacked& operand(const term& t) const noexcept { return detail::as_operand(t.value, mode_.daz); }

  // The random bits of the next number.
  [[nodiscard]] random_input next() {
    if (mode_.direction != direction::stochastic) return {};
    const std::uint64_t index = how_.random.first + rounded_++;
    if (mode_.random_bits != exact_probability)
      return random_bits(how_.random.seed, how_.random.stream, index, mode_.random_bits);
    for (std::size_t i = 0; i < words_.size(); ++i)
      words_[i] = random_word(how_.random.seed, how_.random.stream, index, i);
    return random_input{words_};
  }

  const accumulation& how_;
  const rounding& mode_;
  status flags_ = status::none;
  std::uint64_t rounded_ = 0;
  std::array<std::uint32_t, 2 * detail::wide_sum::words> words_{};  // as many as an exact sum can have
};

// Terms: get(i) gives term i, in this order and once each.
template <class Get>
class summation {
 public:
  summation(steps& done, std::size_t size, Get get) noexcept : done_(done), how_(done.how()), size_(size), get_(get) {}

  [[nodiscard]] accumulated from(const term& c) {
    if (size_ == 0) return done_.result(done_.convert(how_.result(), c));
    term compensation;
    const term sum = whole(c, compensation);
    accumulated result = done_.result(code_of(how_.result(), sum));
    result.compensation = code_of(how_.accumulator, compensation).code;
    return result;
  }

 private:
  // Of a number of the format.
  static encoded code_of(const format& in, const term& t) noexcept { return detail::deliver(in, t.value, {}, {}); }

  term whole(const term& c, term& compensation) {
    switch (how_.order.kind) {
      case sum_order::sequential: return sequential(c, 0, size_);
      case sum_order::compensated: return compensated(c, compensation);
      case sum_order::pairwise: return add(c, tree(0, size_));
      case sum_order::lanes: return add(c, lanes());
      case sum_order::chunks:
      case sum_order::tree_chunks: return chunks(c);
      case sum_order::blocks: break;
    }
    return blocks(c);
  }

  term add(const term& x, const term& y) { return done_.add(how_.accumulator, x, y); }

  term sequential(term sum, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) sum = add(sum, get_(i));
    return sum;
  }

  term compensated(term sum, term& compensation) {
    for (std::size_t i = 0; i < size_; ++i) {
      const term y = add(get_(i), minus(compensation));
      const term next = add(sum, y);
      const term moved = add(next, minus(sum));
      compensation = add(moved, minus(y));
      sum = next;
    }
    return sum;
  }

  term tree(std::size_t begin, std::size_t end) {
    if (end - begin == 1) return get_(begin);
    const std::size_t middle = begin + (end - begin + 1) / 2;
    const term first = tree(begin, middle);
    return add(first, tree(middle, end));
  }

  term lanes() {
    std::vector<term> lane(how_.order.size);
    for (std::size_t i = 0; i < size_; ++i) {
      term& sum = lane[i % lane.size()];
      sum = add(sum, get_(i));
    }
    for (std::size_t half = lane.size() / 2; half != 0; half /= 2)
      for (std::size_t i = 0; i < half; ++i) lane[i] = add(lane[i], lane[i + half]);
    return lane[0];
  }

  term chunks(term sum) {
    for (std::size_t begin = 0; begin < size_; begin += how_.order.size) {
      const std::size_t end = begin + std::min<std::size_t>(how_.order.size, size_ - begin);
      const term chunk = how_.order.kind == sum_order::chunks ? sequential(plus_zero, begin, end) : tree(begin, end);
      sum = done_.add(how_.result(), sum, chunk);
    }
    return sum;
  }

  term blocks(term sum) {
    std::vector<term> block;
    block.reserve(1 + std::min<std::size_t>(how_.order.size, size_));
    for (std::size_t begin = 0; begin < size_; begin += how_.order.size) {
      const std::size_t end = begin + std::min<std::size_t>(how_.order.size, size_ - begin);
      block.assign(1, sum);
      for (std::size_t i = begin; i < end; ++i) block.push_back(get_(i));
      sum = done_.add_block(how_.accumulator, block);
    }
    return sum;
  }

  steps& done_;
  const accumulation& how_;
  std::size_t size_;
  Get get_;
};

[[noreturn]] void refuse(const std::string& what) { throw std::invalid_argument("dot: " + what); }

void check_format(const format& f, const char* what) {
  if (!f.is_valid()) refuse(std::string{what} + " is not a valid format");
}
void check_sum_format(const format& f, const char* what) {
  check_format(f, what);
  if (!f.has_sign || !f.has_zero()) refuse(std::string{what} + " has no sign or no zero");
}
void check_numbers(const number_span& x) {
  check_format(x.format(), "an operand's");
  if (x.format().width() > (x.bytes() == 0 ? 4 : 8 * x.bytes())) refuse("codes are wider than the elements");
}
void check_rounding(const rounding& mode) {
  if (!mode.is_valid()) refuse("the rounding is not valid");
}

void check_accumulation(const accumulation& how) {
  check_sum_format(how.accumulator, "accumulator");
  if (how.products) check_sum_format(*how.products, "products");
  if (how.sums) check_sum_format(*how.sums, "sums");
  if (how.outer) check_sum_format(*how.outer, "outer");
  check_rounding(how.rounding);
  const sum_order order = how.order;
  if (order.kind > sum_order::blocks) refuse("there is no such order");
  if (order.kind >= sum_order::lanes && order.size == 0) refuse("the order needs a size");
  if (order.kind == sum_order::lanes && !std::has_single_bit(order.size)) refuse("lanes are not a power of two");
  const bool in_chunks = order.kind == sum_order::chunks || order.kind == sum_order::tree_chunks;
  if (how.outer && !in_chunks) refuse("outer is of chunks only");
  if (!how.align_bits) return;
  if (order.kind != sum_order::blocks) refuse("align_bits are of blocks only");
  if (*how.align_bits < 0 || *how.align_bits > 64) refuse("align_bits are not 0..64");
  if (how.align_floor < -4096 || how.align_floor > 1024) refuse("align_floor is not -4096..1024");
  if (how.align >= direction::stochastic) refuse("alignment has no random bits");
}

void check_sizes(const number_span& a, const number_span& b) {
  if (a.size() != b.size()) refuse("operands are of different sizes");
}

// c of a format that has been checked.
unpacked start(const format& c_format, code c, const rounding& mode) {
  check_format(c_format, "c's");
  return detail::as_operand(decode(c_format, c), mode.daz);
}

}  // namespace

accumulated dot(const number_span& a, const number_span& b, const accumulation& how, const format& c_format, code c) {
  check_numbers(a);
  check_numbers(b);
  check_sizes(a, b);
  check_accumulation(how);
  check_format(c_format, "c's");
  steps done{how};
  summation products{done, a.size(), [&](std::size_t i) { return done.product(a, b, i); }};
  return products.from(as_term(c_format, c));
}

accumulated sum(const number_span& x, const accumulation& how, const format& c_format, code c) {
  check_numbers(x);
  check_accumulation(how);
  check_format(c_format, "c's");
  steps done{how};
  summation numbers{done, x.size(), [&](std::size_t i) { return done.number(x, i); }};
  return numbers.from(as_term(c_format, c));
}

accumulated dot(const number_span& a, const number_span& b, const accumulation& how) {
  return dot(a, b, how, binary32, 0);
}
accumulated sum(const number_span& x, const accumulation& how) { return sum(x, how, binary32, 0); }

encoded exact_dot(const format& to, const number_span& a, const number_span& b, const rounding& mode,
                  random_input random, const format& c_format, code c) {
  check_numbers(a);
  check_numbers(b);
  check_sizes(a, b);
  check_sum_format(to, "the result's");
  check_rounding(mode);
  detail::exact_accumulator sum;
  sum.add(start(c_format, c, mode));
  for (std::size_t i = 0; i < a.size(); ++i) {
    const unpacked x = decode(a.format(), a.code(i));
    const unpacked y = decode(b.format(), b.code(i));
    sum.add(detail::product_of(detail::as_operand(x, mode.daz), detail::as_operand(y, mode.daz)));
  }
  return sum.round(to, mode, random);
}

encoded exact_sum(const format& to, const number_span& x, const rounding& mode, random_input random,
                  const format& c_format, code c) {
  check_numbers(x);
  check_sum_format(to, "the result's");
  check_rounding(mode);
  detail::exact_accumulator sum;
  sum.add(start(c_format, c, mode));
  for (std::size_t i = 0; i < x.size(); ++i) sum.add(detail::as_operand(decode(x.format(), x.code(i)), mode.daz));
  return sum.round(to, mode, random);
}

encoded exact_dot(const format& to, const number_span& a, const number_span& b, const rounding& mode,
                  random_input random) {
  return exact_dot(to, a, b, mode, random, binary32, 0);
}
encoded exact_sum(const format& to, const number_span& x, const rounding& mode, random_input random) {
  return exact_sum(to, x, mode, random, binary32, 0);
}

}  // namespace ulp
