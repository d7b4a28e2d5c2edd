#include <ulp/model/precision/accumulation_error.hpp>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <stdexcept>

#include <ulp/formats/array_arithmetic.hpp>
#include <ulp/formats/neighbours.hpp>

namespace ulp {
namespace {

using codes = std::vector<std::uint32_t>;

// The elements of one gradient, side by side through every operation.
class accumulator {
 public:
  accumulator(const accumulation& how, std::size_t numel)
      : how_(how), sum_(numel), part_(is_chunked() ? numel : 0), compensation_(is_compensated() ? numel : 0) {}

  void add(const std::vector<double>& addends, accumulation_errors& to) {
    codes rounded(addends.size());
    encode_array(how_.accumulator, std::span<const double>(addends), std::span(rounded),
                 {.rounding = how_.rounding, .random = next()});
    if (is_compensated())
      add_compensated(rounded);
    else
      add_to(is_chunked() ? part_ : sum_, rounded, to);
    for (std::size_t i = 0; i < addends.size(); ++i)
      if (addends[i] != 0) {
        ++to.addends;
        to.underflowed += is_zero(rounded[i]) ? 1 : 0;
      }
    if (is_chunked() && ++in_part_ == how_.order.size) end_part();
  }

  // Of all that was added.
  [[nodiscard]] const codes& finished() {
    if (in_part_ > 0) end_part();
    return sum_;
  }

 private:
  [[nodiscard]] bool is_chunked() const { return how_.order.kind == sum_order::chunks; }
  [[nodiscard]] bool is_compensated() const { return how_.order.kind == sum_order::compensated; }
  [[nodiscard]] bool is_zero(std::uint32_t code) const { return (code & how_.accumulator.magnitude_mask()) == 0; }
  [[nodiscard]] array_operand operand(const codes& x) const { return {how_.accumulator, std::span(x)}; }
  [[nodiscard]] array_rounding rounding() { return {.rounding = how_.rounding, .random = next()}; }
  [[nodiscard]] random_stream next() {
    return {how_.random.seed, how_.random.stream + operations_++, how_.random.first};
  }

  void add_to(codes& sum, const codes& rounded, accumulation_errors& to) {
    const codes before = sum;
    add_array(how_.accumulator, std::span(sum), operand(sum), operand(rounded), rounding());
    for (std::size_t i = 0; i < sum.size(); ++i)
      if (sum[i] == before[i] && !is_zero(rounded[i]) && (sum[i] & how_.accumulator.magnitude_mask()) <= largest())
        ++to.swamped;
  }

  [[nodiscard]] std::uint64_t largest() const { return how_.accumulator.max_finite_code(); }

  void end_part() {
    add_array(how_.result(), std::span(sum_), {how_.result(), std::span(sum_)}, operand(part_), rounding());
    std::ranges::fill(part_, 0u);
    in_part_ = 0;
  }

  void add_compensated(const codes& rounded) {
    codes y(rounded.size());
    codes next_sum(rounded.size());
    const format& in = how_.accumulator;
    sub_array(in, std::span(y), operand(rounded), operand(compensation_), rounding());
    add_array(in, std::span(next_sum), operand(sum_), operand(y), rounding());
    sub_array(in, std::span(sum_), operand(next_sum), operand(sum_), rounding());
    sub_array(in, std::span(compensation_), operand(sum_), operand(y), rounding());
    sum_ = next_sum;
  }

  const accumulation& how_;
  codes sum_;
  codes part_;
  codes compensation_;
  std::uint32_t in_part_ = 0;
  std::uint64_t operations_ = 0;
};

void check(std::span<const std::vector<double>> addends, const accumulation& how) {
  const auto order = how.order.kind;
  if (order != sum_order::sequential && order != sum_order::chunks && order != sum_order::compensated)
    throw std::invalid_argument("micro-batches are added one after the other, in chunks, or compensated");
  if (order == sum_order::chunks && how.order.size == 0) throw std::invalid_argument("a chunk has at least one addend");
  if (how.accumulator.width() > 32 || how.result().width() > 32)
    throw std::invalid_argument("gradients are accumulated in formats of at most 32 bits");
  if (addends.empty()) throw std::invalid_argument("there is no micro-batch");
  for (const std::vector<double>& k : addends)
    if (k.size() != addends.front().size()) throw std::invalid_argument("micro-batches differ in size");
}

double mean_square_of_one_rounding(const accumulation& how, const format& to) {
  const double step = std::ldexp(1, -to.fraction_bits);
  const double of_uniform = how.rounding.direction == direction::stochastic ? 1.0 / 6 : 1.0 / 12;
  // Mean of 4^floor(log2 x) over that of x^2, whatever the distribution, if its scale is spread over an octave.
  const double binade = 3 / (8 * std::numbers::ln2);
  return step * step * of_uniform * binade;
}

}  // namespace

void square_sum::scale_to(int exponent) noexcept {
  scaled_ = std::ldexp(scaled_, 2 * (exponent_ - exponent));
  exponent_ = exponent;
}

void square_sum::add(double x) noexcept {
  if (x == 0) return;
  if (!std::isfinite(x)) {
    scaled_ += x * x;
    return;
  }
  const int exponent = std::ilogb(x);
  if (is_zero() || exponent > exponent_) scale_to(exponent);
  const double y = std::ldexp(x, -exponent_);
  scaled_ += y * y;
}

square_sum& square_sum::operator+=(const square_sum& other) noexcept {
  if (other.is_zero()) return *this;
  if (is_zero() || other.exponent_ > exponent_) scale_to(other.exponent_);
  scaled_ += std::ldexp(other.scaled_, 2 * (other.exponent_ - exponent_));
  return *this;
}

double square_sum::value() const noexcept { return std::ldexp(scaled_, 2 * exponent_); }

double square_sum::log2_over(const square_sum& other) const noexcept {
  if (is_zero() || other.is_zero()) return std::nan("");
  return std::log2(scaled_ / other.scaled_) + 2 * (exponent_ - other.exponent_);
}

double square_sum::root_over(const square_sum& other) const noexcept {
  if (other.is_zero()) return std::nan("");
  return std::ldexp(std::sqrt(scaled_ / other.scaled_), exponent_ - other.exponent_);
}

accumulation_errors& accumulation_errors::operator+=(const accumulation_errors& other) noexcept {
  numel += other.numel;
  nonfinite += other.nonfinite;
  overflowed += other.overflowed;
  addends += other.addends;
  underflowed += other.underflowed;
  swamped += other.swamped;
  squared_error += other.squared_error;
  squared_exact += other.squared_exact;
  squared_rounding += other.squared_rounding;
  outward += other.outward;
  magnitudes += other.magnitudes;
  largest_ulps = std::fmax(largest_ulps, other.largest_ulps);  // a number where one is
  return *this;
}

double accumulation_errors::relative() const noexcept { return squared_error.root_over(squared_exact); }

double accumulation_errors::bits_lost() const noexcept { return squared_error.log2_over(squared_rounding) / 2; }

double accumulation_errors::bias() const noexcept { return magnitudes == 0 ? std::nan("") : outward / magnitudes; }

accumulation_errors accumulation_error(std::span<const std::vector<double>> addends, const accumulation& how) {
  check(addends, how);
  const std::size_t numel = addends.front().size();
  accumulation_errors all;
  std::vector<bool> finite(numel, true);
  for (const std::vector<double>& k : addends)
    for (std::size_t i = 0; i < numel; ++i)
      if (!std::isfinite(k[i])) finite[i] = false;

  accumulator sums(how, numel);
  std::vector<double> taken(numel);
  for (const std::vector<double>& k : addends) {
    for (std::size_t i = 0; i < numel; ++i) taken[i] = finite[i] ? k[i] : 0;
    sums.add(taken, all);
  }
  const codes& results = sums.finished();

  std::vector<double> column(addends.size());
  for (std::size_t i = 0; i < numel; ++i) {
    ++all.numel;
    if (!finite[i]) {
      ++all.nonfinite;
      continue;
    }
    for (std::size_t k = 0; k < addends.size(); ++k) column[k] = addends[k][i];
    const double exact = to_double(binary64, exact_sum(binary64, column).code);
    const double got = to_double(how.result(), std::uint64_t{results[i]});
    if (!std::isfinite(got)) {
      ++all.overflowed;
      continue;
    }
    const double rounded = to_double(how.accumulator, encode(how.accumulator, exact).code);
    const double error = got - exact;
    all.squared_error.add(error);
    all.squared_exact.add(exact);
    if (std::isfinite(rounded)) all.squared_rounding.add(rounded - exact);
    all.outward += exact < 0 ? -error : error;
    all.magnitudes += std::fabs(exact);
    if (exact == 0) continue;
    const int ulp = ulp_exponent(how.accumulator, decode(exact));
    all.largest_ulps = std::fmax(all.largest_ulps, std::ldexp(std::fabs(error), -ulp));
  }
  return all;
}

double modelled_accumulation_error(const accumulation& how, std::uint64_t addends, bool rounds_addends) {
  const direction way = how.rounding.direction;
  if (way != direction::nearest_even && way != direction::nearest_away && way != direction::stochastic)
    throw std::invalid_argument("the model holds for rounding to nearest and stochastic rounding");
  const auto n = static_cast<double>(addends);
  // Of the partial sums 2, 3, ... n of a random walk, in units of the variance of an addend.
  const auto walk = [](double steps) { return steps * (steps + 1) / 2 - 1; };
  const double inner = mean_square_of_one_rounding(how, how.accumulator);
  double squares = rounds_addends ? inner * n : 0;
  switch (how.order.kind) {
    case sum_order::sequential: squares += inner * walk(n); break;
    // Of the addends less what is carried, and of the last sum. One addend is its sum.
    case sum_order::compensated: squares += addends == 1 ? 0 : inner * (n + n); break;
    case sum_order::chunks: {
      const double size = std::min(static_cast<double>(how.order.size), n);
      const double chunks = std::floor(n / size);
      const double rest = n - chunks * size;
      squares += inner * (chunks * walk(size) + (rest > 0 ? walk(rest) : 0));
      const double outer = mean_square_of_one_rounding(how, how.result());
      squares += outer * (walk(chunks) * size + (rest > 0 ? n : 0));
      break;
    }
    default: throw std::invalid_argument("micro-batches are added one after the other, in chunks, or compensated");
  }
  return std::sqrt(squares / n);
}

bool accumulation_model_holds(const accumulation& how, std::uint64_t addends) {
  const auto n = static_cast<double>(addends);
  const auto is_walk = [](double steps, const format& in) { return steps <= std::ldexp(1, 2 * in.fraction_bits + 2); };
  if (how.order.kind == sum_order::compensated)
    return addends == 1 || n <= std::ldexp(1, 4 * how.accumulator.fraction_bits - 6);
  if (how.order.kind != sum_order::chunks) return is_walk(n, how.accumulator);
  const double size = std::min(static_cast<double>(how.order.size), n);
  return is_walk(size, how.accumulator) && is_walk(std::ceil(n / size), how.result());
}

}  // namespace ulp
