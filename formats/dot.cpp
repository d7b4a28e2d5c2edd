#include <ulp/formats/dot.hpp>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>
#include <vector>

#include <ulp/formats/arithmetic.hpp>
#include <ulp/formats/random_bits.hpp>

#include "aligned_sum.hpp"
#include "exact_accumulator.hpp"

namespace ulp {
namespace {

using detail::aligned_sum;
using detail::term;

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
  explicit steps(const accumulation& how, const block_scales* scales = nullptr) noexcept
      : how_(how), mode_(how.rounding), outer_mode_(how.outer_rounding.value_or(how.rounding)), scales_(scales) {}

  [[nodiscard]] const accumulation& how() const noexcept { return how_; }
  [[nodiscard]] accumulated result(const encoded& sum) const noexcept {
    const format& of = how_.result();
    const bool nan = how_.all_ones_nan && detail::is_nan(decode(of, sum.code));
    return {nan ? of.magnitude_mask() : sum.code, flags_ | sum.flags};
  }

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

  [[nodiscard]] term scaled_product(const number_span& a, const number_span& b, std::size_t i) {
    const term exact = product(a, b, i);
    return scales_ == nullptr ? exact : detail::scaled(exact, scale(i));
  }

  // The exact sum of products begin to end, times their scales.
  [[nodiscard]] term exact_group(const number_span& a, const number_span& b, std::size_t begin, std::size_t end) {
    aligned_sum sum{a.format().min_quantum_exponent() + b.format().min_quantum_exponent()};
    unpacked special;
    for (std::size_t i = begin; i < end; ++i) {
      const unpacked x = product(a, b, i).value;
      if (detail::is_finite(x))
        sum.add(x, direction::toward_zero);
      else if (!detail::is_zero(x))
        special = detail::sum_of(special, x, false);
    }
    const term group{detail::is_zero(special) ? sum.value() : special, 0};
    return scales_ == nullptr ? group : detail::scaled(group, scale(begin));
  }

  // x + y in the format `to`.
  term add(const format& to, const term& x, const term& y) { return add(to, x, y, mode_); }
  term add_outside(const term& x, const term& y) { return add(how_.result(), x, y, outer_mode_); }

  // All of them at once, at least one, the first being the accumulator.
  term add_block(const format& to, const std::vector<term>& terms) {
    const format& first = how_.sums ? *how_.sums : to;
    const encoded e = how_.align_bits ? aligned(first, terms) : exact(first, terms);
    return how_.sums ? stored(to, convert(to, stored(first, e))) : stored(to, e);
  }

  [[nodiscard]] encoded convert(const format& to, const term& x) { return convert(to, x, mode_); }

 private:
  [[nodiscard]] encoded convert(const format& to, const term& x, const rounding& mode) {
    return detail::deliver(to, operand(x), mode, next());
  }

  term add(const format& to, const term& x, const term& y, const rounding& mode) {
    if (!how_.sums) return stored(to, sum(to, operand(x), operand(y), mode));
    return stored(to, convert(to, stored(*how_.sums, sum(*how_.sums, operand(x), operand(y), mode)), mode));
  }

  [[nodiscard]] encoded sum(const format& to, const unpacked& x, const unpacked& y, const rounding& mode) {
    const random_input random = next();
    if (detail::is_finite(x) && detail::is_finite(y) && detail::sums_in_64_bits(to, mode) && detail::fits_62_bits(x) &&
        detail::fits_62_bits(y)) [[likely]]
      return detail::add_in_64_bits(to, x, y, mode, random);
    return detail::encode_sum(to, x, y, mode, random);
  }

  [[nodiscard]] encoded exact(const format& to, const std::vector<term>& terms) {
    detail::exact_accumulator sum;
    for (const term& t : terms) sum.add(operand(t));
    return sum.round(to, mode_, next());
  }

  [[nodiscard]] encoded aligned(const format& to, const std::vector<term>& terms) {
    bool any_finite = false;
    bool any_special = false;
    for (const term& t : terms) {
      const unpacked& x = operand(t);
      any_finite = any_finite || detail::is_finite(x);
      any_special = any_special || !(detail::is_finite(x) || detail::is_zero(x));
    }
    const random_input random = next();
    if (any_special || !any_finite) {  // the rules of exact sums
      detail::exact_accumulator sum;
      for (const term& t : terms)
        if (!detail::is_finite(operand(t))) sum.add(operand(t));
      return sum.round(to, mode_, random);
    }
    if (how_.late) return join_late(to, terms, random);
    aligned_sum sum{largest_exponent(terms, 0, 1) - *how_.align_bits};
    for (const term& t : terms) add_aligned(sum, t);
    return delivered(to, sum, random);
  }

  // No term is special, and at least one is not zero.
  [[nodiscard]] encoded join_late(const format& to, const std::vector<term>& terms, const random_input& random) {
    const late_accumulator& late = *how_.late;
    const int bits = *how_.align_bits;
    detail::exact_accumulator infinite;
    bool any_infinite = false;
    for (std::size_t i = 1; i < terms.size(); ++i) {
      const unpacked& x = operand(terms[i]);
      if (!detail::is_finite(x) || x.exponent <= how_.accumulator.emax()) continue;
      any_infinite = true;
      infinite.add(detail::of_class(number_class::infinity, x.negative));
    }
    if (any_infinite) return infinite.round(to, mode_, random);

    const int products = largest_exponent(terms, 1, 1);
    aligned_sum sum{products - bits};
    for (std::size_t first = 0; first < late.sums; ++first) {
      aligned_sum part{largest_exponent(terms, 1 + first, late.sums) - bits};
      for (std::size_t i = 1 + first; i < terms.size(); i += late.sums) add_aligned(part, terms[i]);
      part.cut_to(products - bits);
      sum.add(part);
      flags_ |= part.flags();
    }
    const unpacked& c = operand(terms[0]);
    const int c_exponent =
        detail::is_finite(c) ? std::max(terms[0].exponent, late.least_exponent) : late.least_exponent;
    const int largest = std::max(products, c_exponent);
    sum.cut_to(largest - late.sum_bits);
    if (detail::is_finite(c)) {
      aligned_sum own{largest - bits};
      if (!late.drops_negligible || c_exponent >= largest - bits - 1)
        own.add(c, direction::toward_negative);
      else
        flags_ |= status::inexact;
      flags_ |= own.flags();
      own.cut_to(largest - late.sum_bits);
      sum.add(own);
    }
    return delivered(to, sum, random);
  }

  // Of the terms first, first + step, ... that are not zero.
  [[nodiscard]] int largest_exponent(const std::vector<term>& terms, std::size_t first,
                                     std::size_t step) const noexcept {
    int largest = how_.align_floor;
    for (std::size_t i = first; i < terms.size(); i += step)
      if (detail::is_finite(operand(terms[i]))) largest = std::max(largest, terms[i].exponent);
    return largest;
  }

  void add_aligned(aligned_sum& sum, const term& t) const noexcept {
    if (detail::is_finite(operand(t))) sum.add(operand(t), how_.align);
  }

  [[nodiscard]] encoded delivered(const format& to, const aligned_sum& sum, const random_input& random) noexcept {
    flags_ |= sum.flags();
    const unpacked x = sum.value();
    if (detail::is_zero(x)) return detail::encode_zero(to, mode_.direction == direction::toward_negative);
    return detail::deliver(to, x, mode_, random);
  }

  [[nodiscard]] term stored(const format& in, const encoded& e) noexcept {
    flags_ |= e.flags;
    if (how_.infinite_overflow && any(e.flags, status::overflow) && in.has_infinity())
      return as_term(in, (e.code & in.sign_mask()) | in.infinity_code());
    return as_term(in, e.code);
  }

  [[nodiscard]] const unpacked& operand(const term& t) const noexcept { return detail::as_operand(t.value, mode_.daz); }

  // That of both operands' blocks with element i.
  [[nodiscard]] term scale(std::size_t i) const noexcept {
    term a = number(scales_->a, i / scales_->size);
    term b = number(scales_->b, i / scales_->size);
    a.value.negative = false;
    b.value.negative = false;
    return {detail::product_of(a.value, b.value), a.exponent + b.exponent};
  }

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
  rounding outer_mode_;
  const block_scales* scales_;
  status flags_ = status::none;
  std::uint64_t rounded_ = 0;
  std::array<std::uint32_t, 2 * detail::wide_sum::words> words_{};  // as many as an exact sum can have
};

// Terms: get(i) gives term i, in this order and once each; group(i, j) that of the exact sum of i to j.
template <class Get, class Group>
class summation {
 public:
  summation(steps& done, std::size_t size, Get get, Group group) noexcept
      : done_(done), how_(done.how()), size_(size), get_(get), group_(group) {}

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
    return how_.outer ? promoted(c) : blocks(c, 0, size_);
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
      sum = done_.add_outside(sum, chunk);
    }
    return sum;
  }

  term promoted(term sum) {
    const std::size_t step = how_.promote == 0 ? size_ : std::size_t{how_.promote} * how_.order.size;
    for (std::size_t begin = 0; begin < size_; begin += step)
      sum = done_.add_outside(sum, blocks(plus_zero, begin, begin + std::min(step, size_ - begin)));
    return sum;
  }

  term blocks(term sum, std::size_t from, std::size_t to) {
    std::vector<term> block;
    block.reserve(1 + std::min<std::size_t>(how_.order.size, to - from));
    for (std::size_t begin = from; begin < to; begin += how_.order.size) {
      const std::size_t end = begin + std::min<std::size_t>(how_.order.size, to - begin);
      block.assign(1, sum);
      if (const std::size_t group = how_.exact_group; group != 0)
        for (std::size_t i = begin; i < end; i += group) block.push_back(group_(i, std::min(i + group, end)));
      else
        for (std::size_t i = begin; i < end; ++i) block.push_back(get_(i));
      sum = done_.add_block(how_.accumulator, block);
    }
    return sum;
  }

  steps& done_;
  const accumulation& how_;
  std::size_t size_;
  Get get_;
  Group group_;
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
  const bool in_parts = order.kind >= sum_order::chunks;
  if (how.outer && !in_parts) refuse("outer is of chunks and blocks only");
  if (how.promote != 0 && !(how.outer && order.kind == sum_order::blocks))
    refuse("promote is of blocks with an outer format only");
  if (how.outer_rounding && !how.outer) refuse("outer_rounding is of an outer format only");
  if (how.outer_rounding && !(how.outer_rounding->is_valid() && how.outer_rounding->direction < direction::stochastic))
    refuse("outer_rounding is not valid, or stochastic");
  if (!how.align_bits && (how.late || how.exact_group != 0)) refuse("late and exact_group are of aligned blocks only");
  if (!how.align_bits) return;
  if (order.kind != sum_order::blocks) refuse("align_bits are of blocks only");
  if (*how.align_bits < 0 || *how.align_bits > 64) refuse("align_bits are not 0..64");
  if (how.align_floor < -4096 || how.align_floor > 1024) refuse("align_floor is not -4096..1024");
  if (how.align >= direction::stochastic) refuse("alignment has no random bits");
  if (!how.late) return;
  if (how.exact_group != 0) refuse("late and exact_group do not go together");
  if (how.late->sum_bits < *how.align_bits || how.late->sum_bits > 64) refuse("sum_bits are not align_bits..64");
  if (how.late->sums == 0 || how.late->sums > order.size) refuse("late has no sums, or more than products in a block");
  if (how.late->least_exponent < -4096 || how.late->least_exponent > 1024) refuse("least_exponent is not -4096..1024");
}

// Bits from the largest to the last of a format's numbers.
int range_bits(const format& f) { return f.last_exponent() - f.min_quantum_exponent() + 1; }

// Of products, or exact groups of them, times the scales: 128 bits hold them, and sums of them that are aligned.
void check_products(const accumulation& how, const number_span& a, const number_span& b, const block_scales* scales) {
  int bits = a.format().precision() + b.format().precision();
  if (how.exact_group != 0) {
    const int carries = static_cast<int>(std::bit_width(how.exact_group));
    bits = range_bits(a.format()) + range_bits(b.format()) + carries;
    if (bits > 100) refuse("the operands' range is too wide for exact groups");
    // Of a group beside the exponent of its scales.
    const int above = std::max(a.format().last_exponent() + b.format().last_exponent(), 0) + carries + 4;
    if (above + *how.align_bits > 90) refuse("exact groups and align_bits are too long together");
  }
  if (scales == nullptr) return;
  if (how.products) refuse("products that are scaled are exact");
  if (bits + scales->a.format().precision() + scales->b.format().precision() > 127)
    refuse("a product and its scales are too long together");
}

void check_scales(const number_span& scales, std::size_t elements, std::size_t size) {
  check_numbers(scales);
  if (scales.size() != elements / size + (elements % size != 0 ? 1 : 0)) refuse("there is not a scale for each block");
}

accumulated accumulate_products(const number_span& a, const number_span& b, const block_scales* scales,
                                const accumulation& how, const format& c_format, code c) {
  check_format(c_format, "c's");
  check_products(how, a, b, scales);
  steps done{how, scales};
  summation products{done, a.size(), [&](std::size_t i) { return done.scaled_product(a, b, i); },
                     [&](std::size_t begin, std::size_t end) { return done.exact_group(a, b, begin, end); }};
  return products.from(as_term(c_format, c));
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
  return accumulate_products(a, b, nullptr, how, c_format, c);
}

accumulated dot(const number_span& a, const number_span& b, const block_scales& scales, const accumulation& how,
                const format& c_format, code c) {
  check_numbers(a);
  check_numbers(b);
  check_sizes(a, b);
  check_accumulation(how);
  if (scales.size == 0) refuse("blocks of scales have no size");
  check_scales(scales.a, a.size(), scales.size);
  check_scales(scales.b, b.size(), scales.size);
  if (how.exact_group != 0 && scales.size % how.exact_group != 0)
    refuse("blocks of scales are not a multiple of exact_group");
  return accumulate_products(a, b, &scales, how, c_format, c);
}

accumulated sum(const number_span& x, const accumulation& how, const format& c_format, code c) {
  check_numbers(x);
  check_accumulation(how);
  check_format(c_format, "c's");
  if (how.exact_group != 0) refuse("exact groups are of products only");
  steps done{how};
  const auto number = [&](std::size_t i) { return steps::number(x, i); };
  summation numbers{done, x.size(), number, [&](std::size_t i, std::size_t) { return number(i); }};
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
