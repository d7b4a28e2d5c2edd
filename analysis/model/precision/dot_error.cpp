#include <ulp/model/precision/dot_error.hpp>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <stdexcept>

#include <ulp/formats/arithmetic.hpp>
#include <ulp/formats/neighbours.hpp>
#include <ulp/formats/random_bits.hpp>

namespace ulp {
namespace {

double exact_value(std::span<const double> a, std::span<const double> b) {
  return to_double(binary64, exact_dot(binary64, a, b).code);
}

std::vector<double> numbers_of(const format& of, std::span<const std::uint32_t> codes) {
  std::vector<double> all(codes.size());
  std::ranges::transform(codes, all.begin(), [&](std::uint32_t code) { return to_double(of, std::uint64_t{code}); });
  return all;
}

std::vector<double> magnitudes_of(std::span<const double> numbers) {
  std::vector<double> all(numbers.size());
  std::ranges::transform(numbers, all.begin(), [](double x) { return std::fabs(x); });
  return all;
}

}  // namespace

double dot_errors::rms_relative() const noexcept {
  return std::sqrt(squared_relative / static_cast<double>(products - nonfinite - overflowed));
}

double dot_errors::mean_outward() const noexcept {
  return outward / static_cast<double>(products - nonfinite - overflowed);
}

dot_errors dot_error(const dot_order& order, const format& operands, std::span<const std::uint32_t> a,
                     std::span<const std::uint32_t> b, std::size_t length, const row_scales* scales) {
  if (a.size() != b.size() || length == 0 || a.size() % length != 0)
    throw std::invalid_argument("operands are rows of one length, as many of each");
  if (scales != nullptr) scales->check(a.size() / length, b.size() / length, length);
  const std::vector<double> a_numbers =
      scales != nullptr ? scaled_numbers(operands, a, length, *scales, scales->a) : numbers_of(operands, a);
  const std::vector<double> b_numbers =
      scales != nullptr ? scaled_numbers(operands, b, length, *scales, scales->b) : numbers_of(operands, b);
  const format& result = order.result();
  dot_errors all;
  for (std::size_t at = 0; at < a.size(); at += length) {
    const auto x = a.subspan(at, length);
    const auto y = b.subspan(at, length);
    ++all.products;
    const auto x_numbers = std::span{a_numbers}.subspan(at, length);
    const auto y_numbers = std::span{b_numbers}.subspan(at, length);
    const auto is_number = [](double number) { return std::isfinite(number); };
    if (!std::ranges::all_of(x_numbers, is_number) || !std::ranges::all_of(y_numbers, is_number)) {
      ++all.nonfinite;
      continue;
    }
    const std::size_t row = at / length;
    const accumulated sum = scales != nullptr
                                ? dot({operands, x}, {operands, y}, scales->of(row, row, length, 0, length), order.how)
                                : dot({operands, x}, {operands, y}, order.how);
    const std::uint64_t code = order.then ? convert(*order.then, order.how.result(), sum.code).code : sum.code;
    const double got = to_double(result, code);
    if (!std::isfinite(got)) {
      ++all.overflowed;
      continue;
    }
    const double exact = exact_value(x_numbers, y_numbers);
    const double size = exact_value(magnitudes_of(x_numbers), magnitudes_of(y_numbers));
    const double relative = size == 0 ? 0 : (got - exact) / size;
    all.largest_relative = std::fmax(all.largest_relative, std::fabs(relative));
    all.squared_relative += relative * relative;
    all.outward += exact < 0 ? -relative : relative;
    all.largest_ulps = std::fmax(all.largest_ulps, size == 0 ? 0 : error_in_ulps(result, code, exact));
  }
  return all;
}

std::vector<double> generated_numbers(distribution of, std::uint64_t seed, std::uint64_t stream, std::size_t count) {
  std::vector<double> all(count);
  const auto uniform = [&](std::uint64_t i, std::uint64_t word) {
    return (random_word(seed, stream, i, word) + 0.5) * 0x1p-32;
  };
  for (std::size_t i = 0; i < count; ++i) switch (of) {
      case distribution::uniform: all[i] = uniform(i, 0); break;
      case distribution::symmetric: all[i] = 2 * uniform(i, 0) - 1; break;
      case distribution::normal:
        all[i] = std::sqrt(-2 * std::log(uniform(i, 0))) * std::cos(2 * std::numbers::pi * uniform(i, 1));
        break;
      case distribution::around_one: all[i] = 1 + std::numbers::sqrt3 * (2 * uniform(i, 0) - 1); break;
      case distribution::constant: all[i] = 1; break;
    }
  return all;
}

}  // namespace ulp
