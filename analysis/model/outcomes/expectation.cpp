#include <ulp/model/outcomes/expectation.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

#include "binades.hpp"
#include "cells/buckets.hpp"
#include "ramps.hpp"

namespace ulp {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

value_range variance_of(const value_range& p) {
  const auto at = [](double x) { return x * (1 - x); };
  const double ends_low = std::min(at(p.low), at(p.high));
  const bool holds_half = p.low <= 0.5 && p.high >= 0.5;
  return {ends_low, holds_half ? 0.25 : std::max(at(p.low), at(p.high))};
}

value_range complement(const value_range& p) { return {1 - p.high, 1 - p.low}; }

void add(expected_count& to, double n, const value_range& p) {
  const value_range v = variance_of(p);
  to += {.mean = {n * p.low, n * p.high}, .variance = {n * v.low, n * v.high}};
}

// n values of scaled magnitudes in [low, high].
void add_span(expected_outcomes& all, double n, double low, double high, const ramps& r, const rounding& mode) {
  const value_range nonzero = probability(r.nonzero, low, high, mode);
  const value_range normal = probability(r.normal, low, high, mode);
  add(all.underflow, n, complement(nonzero));
  add(all.overflow, n, probability(r.overflow, low, high, mode));
  // Nonzero and not normal: at most one of the two is open for a value.
  const value_range subnormal{std::max(0.0, nonzero.low - normal.high), std::max(0.0, nonzero.high - normal.low)};
  if (r.nonzero.from != r.normal.from) add(all.subnormal, n, subnormal);
}

}  // namespace

expected_count& expected_count::operator+=(const expected_count& other) noexcept {
  mean += other.mean;
  variance += other.variance;
  return *this;
}

value_range expected_count::deviation() const noexcept {
  return {std::sqrt(std::max(variance.low, 0.0)), std::sqrt(std::max(variance.high, 0.0))};
}

expected_outcomes& expected_outcomes::operator+=(const expected_outcomes& other) noexcept {
  numel += other.numel;
  zero += other.zero;
  nonfinite += other.nonfinite;
  underflow += other.underflow;
  subnormal += other.subnormal;
  overflow += other.overflow;
  return *this;
}

expected_outcomes expected_outcomes_of(const cell_table& table, const treatment& how, multiplier by, dtype recorded) {
  expected_outcomes all{.numel = table.numel, .zero = table.zeros, .nonfinite = table.nonfinite()};
  const auto nonzero = static_cast<double>(table.nonzero_finite());
  if (!by.usable()) {
    const double certain = nonzero - static_cast<double>(table.maybe_zeros);
    (by.scale == 0 ? all.underflow : all.overflow).mean = {certain, nonzero};
    return all;
  }
  const ramps r = ramps_of(how);
  const bool power = is_power_of_two(by.scale) && is_power_of_two(by.factor);
  const double m = by.scale / by.factor;
  // A product with another multiplier may be rounded, and so may be the multiplier.
  const auto exact = [&](double x) {
    return power || (is_power_of_two(by.factor) && std::isfinite(x) && std::fma(x, m, -(x * m)) == 0);
  };
  const auto scaled_low = [&](double x) { return exact(x) ? x * m : std::nextafter(std::nextafter(x * m, 0.0), 0.0); };
  const auto scaled_high = [&](double x) {
    return exact(x) ? x * m : std::nextafter(std::nextafter(x * m, infinity), infinity);
  };
  const int daz_below = read_as_zero_below(how.rounding, recorded);
  const bool linear_from_zero = r.nonzero.from == 0 && r.nonzero.width > 0;

  double in_no_cell = nonzero;
  for_each_binade(table, [&](const binade& o) {
    in_no_cell -= o.count;
    if (o.exponent < daz_below) {
      all.underflow.mean += {o.count, o.count};
      return;
    }
    expected_outcomes counts;
    for (const cell& c : o.cells) {
      const value_range x = magnitudes_of(c, table);
      add_span(counts, static_cast<double>(c.count), scaled_low(x.low), scaled_high(x.high), r, how.rounding);
    }
    const double top = scaled_high(std::ldexp(1.0, o.exponent) * 2);
    if (o.sums != nullptr && linear_from_zero && top <= r.nonzero.width) {
      const binade_total total = total_of(o, table.cut_significands > 0);
      const double n = o.count;
      const double k = m / r.nonzero.width;
      const value_range p{total.sum.low * k, total.sum.high * k};
      const value_range squares{total.squares.low * k * k, total.squares.high * k * k};
      const value_range slack = slack_of(how.rounding, how.format, o.exponent, by, recorded);
      const double most = std::max(-slack.low, slack.high);
      expected_count& zero = counts.underflow;
      zero.mean = both(zero.mean, {n - p.high - n * slack.high, n - p.low - n * slack.low});
      zero.variance = both(zero.variance, {p.low - squares.high - n * most, p.high - squares.low + n * most});
      counts.subnormal = {.mean = {n - zero.mean.high, n - zero.mean.low}, .variance = zero.variance};
    }
    all += counts;
  });
  for_each_bucket(table, [&](const bucket_values& v) {
    in_no_cell -= v.count;
    expected_outcomes counts;
    if (std::ilogb(v.magnitudes.high) < daz_below)
      counts.underflow.mean = {v.count, v.count};
    else
      add_span(counts, v.count, std::ilogb(v.magnitudes.low) < daz_below ? 0 : scaled_low(v.magnitudes.low),
               scaled_high(v.magnitudes.high), r, how.rounding);
    // Zeros have no outcome.
    if (v.maybe_zero)
      for (expected_count* const count : {&counts.underflow, &counts.subnormal, &counts.overflow})
        count->mean.low = count->variance.low = 0;
    all += counts;
  });
  if (in_no_cell > 0)
    for (expected_count* const count : {&all.underflow, &all.subnormal, &all.overflow}) add(*count, in_no_cell, {0, 1});
  return all;
}

}  // namespace ulp
