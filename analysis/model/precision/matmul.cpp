#include <ulp/model/precision/matmul.hpp>

#include <tbb/parallel_for.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <stdexcept>

#include <ulp/formats/arithmetic.hpp>
#include <ulp/formats/neighbours.hpp>

#include "precision/aligned_unit.hpp"

namespace ulp {
namespace {

__extension__ typedef __int128 int128;
__extension__ typedef unsigned __int128 uint128;

void check(const matmul_operands& x) {
  if (x.depth == 0 || x.a.size() % x.depth != 0 || x.b.size() % x.depth != 0)
    throw std::invalid_argument("matmul: operands are not rows and columns of one depth, which is not 0");
  if (x.scales) x.scales->check(x.rows(), x.columns(), x.depth);
}

// Products `begin` to `end` of a row and a column, from +0.
class dot_products {
 public:
  dot_products(const accumulation& how, const matmul_operands& x) : how_(how), x_(x) {
    if (x.scales) return;
    const auto at_once = [&](const accumulation& a) { return aligned_unit::takes(a, x.a_format, x.b_format); };
    inner_ = how;
    inner_.outer.reset();
    inner_.outer_rounding.reset();
    inner_.promote = 0;
    // Two levels in float32 are the unit's sums added here.
    in_levels_ = how.outer && how.order.kind == sum_order::blocks && *how.outer == binary32 &&
                 how.outer_rounding == rounding{} && at_once(inner_);
    if (!in_levels_ && !at_once(how)) return;
    unit_.emplace(inner_, x.a_format, x.b_format);
    a_.emplace(x.a_format, x.a);
    b_.emplace(x.b_format, x.b);
  }

  [[nodiscard]] std::uint64_t sum(std::size_t row, std::size_t column, std::size_t begin, std::size_t end) const {
    const std::size_t a_at = row * x_.depth;
    const std::size_t b_at = column * x_.depth;
    if (unit_ && a_->holds(a_at + begin, a_at + end) && b_->holds(b_at + begin, b_at + end)) {
      const std::size_t step =
          in_levels_ && how_.promote != 0 ? std::size_t{how_.promote} * how_.order.size : end - begin;
      std::uint64_t total = 0;
      for (std::size_t k = begin;; k += step) {
        const auto part = unit_->sum(*a_, a_at + k, *b_, b_at + k, std::min(step, end - k));
        if (!part) break;
        if (!in_levels_) return *part;
        total = add(binary32, total, convert(binary32, inner_.accumulator, std::uint64_t{*part}).code).code;
        if (end - k <= step) return total;
      }
    }
    const number_span a{x_.a_format, x_.a.subspan(a_at + begin, end - begin)};
    const number_span b{x_.b_format, x_.b.subspan(b_at + begin, end - begin)};
    if (!x_.scales) return dot(a, b, how_).code;
    return dot(a, b, x_.scales->of(row, column, x_.depth, begin, end), how_).code;
  }

 private:
  const accumulation& how_;
  const matmul_operands& x_;
  accumulation inner_;
  bool in_levels_ = false;
  std::optional<aligned_unit> unit_;
  std::optional<integer_factors> a_;
  std::optional<integer_factors> b_;
};

// Exact dot products, in 128 bits where these hold them.
class exact_products {
 public:
  explicit exact_products(const matmul_operands& x) : x_(x) {
    if (x.scales) {
      a_numbers_ = scaled_numbers(x.a_format, x.a, x.depth, *x.scales, x.scales->a);
      b_numbers_ = scaled_numbers(x.b_format, x.b, x.depth, *x.scales, x.scales->b);
      return;
    }
    const auto range = [](const format& f) { return f.last_exponent() - f.min_quantum_exponent() + 1; };
    const int carries = 64 - std::countl_zero(std::uint64_t{x.depth});
    if (x.a_format.precision() > 11 || x.b_format.precision() > 11) return;
    if (range(x.a_format) + range(x.b_format) + carries > 126) return;
    a_.emplace(x.a_format, x.a);
    b_.emplace(x.b_format, x.b);
  }

  [[nodiscard]] encoded sum(const format& to, std::size_t row, std::size_t column) const {
    const std::size_t a_at = row * x_.depth;
    const std::size_t b_at = column * x_.depth;
    if (x_.scales)
      return exact_dot(to, std::span{a_numbers_}.subspan(a_at, x_.depth),
                       std::span{b_numbers_}.subspan(b_at, x_.depth));
    if (!a_ || !a_->holds(a_at, a_at + x_.depth) || !b_->holds(b_at, b_at + x_.depth))
      return exact_dot(to, {x_.a_format, x_.a.subspan(a_at, x_.depth)}, {x_.b_format, x_.b.subspan(b_at, x_.depth)});
    int128 total = 0;
    const int least = x_.a_format.emin() + x_.b_format.emin();
    for (std::size_t k = 0; k < x_.depth; ++k) {
      const std::int64_t product = std::int64_t{a_->significands[a_at + k]} * b_->significands[b_at + k];
      if (product != 0)
        total += int128{product} * (int128{1} << (a_->exponents[a_at + k] + b_->exponents[b_at + k] - least));
    }
    if (total == 0) return {};
    unpacked x{.kind = number_class::finite, .negative = total < 0};
    auto magnitude = static_cast<uint128>(total < 0 ? -total : total);
    x.exponent = least - x_.a_format.fraction_bits - x_.b_format.fraction_bits + 127;
    for (; magnitude >> 127 == 0; magnitude <<= 1) --x.exponent;
    x.significand = static_cast<std::uint64_t>(magnitude >> 64);
    x.low = static_cast<std::uint64_t>(magnitude);
    return encode(to, x);
  }

 private:
  const matmul_operands& x_;
  std::optional<integer_factors> a_;
  std::optional<integer_factors> b_;
  std::vector<double> a_numbers_;  // where there are scales
  std::vector<double> b_numbers_;
};

}  // namespace

std::size_t matmul_order::part(std::size_t depth) const noexcept {
  const std::size_t groups = (depth + multiple - 1) / multiple;
  return ((groups - 1) / split + 1) * multiple;
}

std::size_t matmul_order::parts(std::size_t depth) const noexcept { return (depth - 1) / part(depth) + 1; }

matmul_order split_order(const accumulation& how, std::size_t split) noexcept {
  const bool in_groups = how.order.kind == sum_order::blocks || how.order.kind == sum_order::tree_chunks;
  return {how, split, in_groups ? how.order.size : 1};
}

std::vector<std::uint32_t> matmul(const matmul_order& order, const matmul_operands& x) {
  check(x);
  if (order.split == 0 || order.multiple == 0)
    throw std::invalid_argument("matmul: a dot product is cut into no parts, or of no products");
  if (order.result().width() > 32) throw std::invalid_argument("matmul: results have more than 32 bits");
  if (x.scales && order.split > 1 && order.multiple % x.scales->size != 0)
    throw std::invalid_argument("matmul: a part of the split would cut a block that has a scale");
  const dot_products products(order.how, x);
  const std::size_t part = order.part(x.depth);
  std::vector<std::uint32_t> codes(x.rows() * x.columns());
  tbb::parallel_for(std::size_t{0}, x.rows(), [&](std::size_t row) {
    for (std::size_t column = 0; column < x.columns(); ++column) {
      std::uint32_t& code = codes[row * x.columns() + column];
      if (order.split == 1) {
        code = static_cast<std::uint32_t>(products.sum(row, column, 0, x.depth));
        continue;
      }
      std::uint64_t total = binary32.sign_mask();  // -0, so that a single part stays as it is
      for (std::size_t k = 0; k < x.depth; k += part) {
        const std::uint64_t sum = products.sum(row, column, k, std::min(k + part, x.depth));
        const std::uint64_t in_float = convert(binary32, order.how.result(), sum).code;
        total = add(binary32, total, in_float).code;
      }
      code = static_cast<std::uint32_t>(total);
    }
  });
  return codes;
}

matmul_errors matmul_error(const format& of, std::span<const std::uint32_t> codes, const matmul_operands& x) {
  check(x);
  if (codes.size() != x.rows() * x.columns())
    throw std::invalid_argument("matmul: there is not a result for each row and column");
  const exact_products products(x);
  std::vector<matmul_errors> by_row(x.rows());
  tbb::parallel_for(std::size_t{0}, x.rows(), [&](std::size_t row) {
    matmul_errors& all = by_row[row];
    for (std::size_t column = 0; column < x.columns(); ++column) {
      const std::uint64_t code = codes[row * x.columns() + column];
      ++all.elements;
      const double exact = to_double(binary64, products.sum(binary64, row, column).code);
      if (!std::isfinite(exact)) {
        ++all.nonfinite;
        continue;
      }
      const std::uint64_t right = products.sum(of, row, column).code;
      const double got = to_double(of, code);
      const double best = to_double(of, right);
      if (got != best) ++all.differing;
      if (!std::isfinite(got)) {
        if (std::isfinite(best)) ++all.overflowed;
        continue;
      }
      const double ulps = error_in_ulps(of, code, exact);
      if (ulps <= all.largest_ulps) continue;
      all.largest_ulps = ulps;
      all.row = row;
      all.column = column;
    }
  });
  matmul_errors all;
  for (const matmul_errors& r : by_row) {
    all.elements += r.elements;
    all.nonfinite += r.nonfinite;
    all.overflowed += r.overflowed;
    all.differing += r.differing;
    if (std::isnan(r.largest_ulps) || r.largest_ulps <= all.largest_ulps) continue;
    all.largest_ulps = r.largest_ulps;
    all.row = r.row;
    all.column = r.column;
  }
  return all;
}

}  // namespace ulp
