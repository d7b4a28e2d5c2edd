#include <ulp/model/outcomes/row_outcomes.hpp>

#include <cmath>

#include <ulp/formats/codec.hpp>

#include "ramps.hpp"

namespace ulp {
namespace {

// A table of one value: its extremes leave no range.
cell_table only(double value, std::uint64_t count) {
  const magnitude m = magnitude_of(value);
  const cell_sign sign = value < 0 ? cell_sign::negative : cell_sign::positive;
  const auto exponent = static_cast<std::int16_t>(m.exponent);
  const std::uint64_t significand = (std::uint64_t{1} << 23) | (m.fraction >> 41);
  cell_table one;
  one.numel = count;
  one.max_abs = one.min_abs = std::fabs(value);
  one.cells = {{.sign = sign, .slot = slot_of(m.fraction), .exponent = exponent, .count = count}};
  one.has_sums = true;
  one.sums = {{.sign = sign,
               .exponent = exponent,
               .significands = uint128{significand} * count,
               .squares = uint128{significand * significand} * count}};
  return one;
}

// f(value, count) for the finite nonzero values.
template <typename F>
void for_each_value(const tensor_row& row, F&& f) {
  const format& type = *format_of_codes(row.type);
  for (const code_count& c : row.codes) {
    const double value = to_double(type, c.code);
    if (value != 0 && std::isfinite(value)) f(value, c.count);
  }
}

bool exact(const outcome_counts& c) {
  return c.underflow.exact() && c.subnormal.exact() && c.normal.exact() && c.overflow.exact() && c.infinite.exact();
}
bool exact(const expected_count& c) { return c.mean.exact() && c.variance.exact(); }

// value * scale / factor for a factor that is a power of two.
unpacked scaled(double value, multiplier by) {
  const unpacked a = decode(value);
  const unpacked b = decode(by.scale);
  const uint128 product = uint128{a.significand} * b.significand;  // in [2^126, 2^128)
  const bool carry = (product >> 127) != 0;
  const uint128 normal = carry ? product : product << 1;
  unpacked y = a;
  y.significand = static_cast<std::uint64_t>(normal >> 64);
  y.sticky = static_cast<std::uint64_t>(normal) != 0;
  y.exponent = a.exponent + b.exponent + (carry ? 1 : 0) - std::ilogb(by.factor);
  return y;
}

}  // namespace

outcome_counts outcomes_of(const tensor_row& row, const treatment& how, multiplier by) {
  const outcome_counts counts = outcomes_of(row.table, how, by, row.type);
  if (row.codes.empty() || exact(counts) || how.rounding.direction == direction::stochastic) return counts;
  if (!by.usable()) return counts;
  struct {
    outcome_thresholds at;
    bool infinite;
  } of_sign[2];
  for (const bool negative : {false, true}) {
    const outcome_thresholds t = thresholds_of(how, negative);
    of_sign[negative ? 1 : 0] = {{divided(t.nonzero, by), divided(t.normal, by), divided(t.overflow, by)},
                                 overflow_is_infinite(how, negative)};
  }
  const int daz_below = read_as_zero_below(how.rounding, row.type);
  outcome_counts all{
      .numel = counts.numel - row.table.nonzero_finite(), .zero = counts.zero, .nonfinite = counts.nonfinite};
  for_each_value(row, [&](double value, std::uint64_t n) {
    const auto& [at, infinite] = of_sign[value < 0 ? 1 : 0];
    const magnitude m = magnitude_of(value);
    const count_range some{n, n};
    all.numel += n;
    if (m.exponent < daz_below || !at.nonzero.reached_by(m)) {
      all.underflow += some;
    } else if (at.overflow.reached_by(m)) {
      all.overflow += some;
      if (infinite) all.infinite += some;
    } else {
      (at.normal.reached_by(m) ? all.normal : all.subnormal) += some;
    }
  });
  return all;
}

count_range count_above(const tensor_row& row, double edge, multiplier by) {
  const count_range counts = count_above(row.table, edge, by);
  if (row.codes.empty() || counts.exact()) return counts;
  count_range all{row.table.infinities(), row.table.infinities()};
  for_each_value(row, [&](double value, std::uint64_t n) { all += count_above(only(value, n), edge, by); });
  return all;
}

expected_outcomes expected_outcomes_of(const tensor_row& row, const treatment& how, multiplier by) {
  const expected_outcomes counts = expected_outcomes_of(row.table, how, by, row.type);
  if (row.codes.empty() || (exact(counts.underflow) && exact(counts.subnormal) && exact(counts.overflow)))
    return counts;
  expected_outcomes all{
      .numel = counts.numel - row.table.nonzero_finite(), .zero = counts.zero, .nonfinite = counts.nonfinite};
  for_each_value(
      row, [&](double value, std::uint64_t n) { all += expected_outcomes_of(only(value, n), how, by, row.type); });
  return all;
}

lost_mass lost_to_underflow(const tensor_row& row, const treatment& how, multiplier by) {
  const lost_mass lost = lost_to_underflow(row.table, how, by, row.type);
  if (row.codes.empty() || (lost.magnitudes.exact() && lost.squares.exact())) return lost;
  lost_mass all;
  for_each_value(row,
                 [&](double value, std::uint64_t n) { all += lost_to_underflow(only(value, n), how, by, row.type); });
  return all;
}

rounding_noise noise_of(const tensor_row& row, const treatment& how, multiplier by) {
  const rounding_noise noise = noise_of(row.table, how, by, row.type);
  const bool is_exact = by.usable() && is_power_of_two(by.factor);
  if (row.codes.empty() || noise.exact || how.rounding.direction == direction::stochastic || !is_exact) return noise;
  rounding_noise all{.values = row.table.zeros};
  const int daz_below = read_as_zero_below(how.rounding, row.type);
  for_each_value(row, [&](double value, std::uint64_t count) {
    const double x = value / by.factor;
    const auto n = static_cast<double>(count);
    double error = x;
    if (magnitude_of(value).exponent >= daz_below) {
      const encoded result = encode(how.format, scaled(value, by), how.rounding);
      if (any(result.flags, status::overflow)) {
        all.overflowing += count;
        return;
      }
      // A product of 11 and 53 bits is exact in 64, and so is what is left of it, except for its last bits.
      const unpacked y = scaled(value, by);
      const auto exact = std::ldexp(static_cast<long double>(y.significand), y.exponent - 63);
      const long double difference =
          (value < 0 ? -exact : exact) - static_cast<long double>(to_double(how.format, result.code));
      error = static_cast<double>(difference) / by.scale;
    }
    const double square = n * error * error;
    all += {.signal = n * x * x,
            .least_signal = n * x * x,
            .squares = square,
            .least = square,
            .most = square,
            .products = n * error * x,
            .values = count};
  });
  return all;
}

clamping clamping_of(const tensor_row& row, double bound, multiplier by) {
  const clamping all_at_once = clamping_of(row.table, bound, by);
  if (row.codes.empty() || (all_at_once.elements.exact() && all_at_once.squares.exact())) return all_at_once;
  clamping all;
  all.elements = {row.table.infinities(), row.table.infinities()};
  const double infinite = static_cast<double>(row.table.infinities()) * bound * bound;
  all.squares = {infinite, infinite};
  for_each_value(row, [&](double value, std::uint64_t n) { all += clamping_of(only(value, n), bound, by); });
  return all;
}

}  // namespace ulp
