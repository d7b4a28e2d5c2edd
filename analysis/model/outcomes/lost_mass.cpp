#include <ulp/model/outcomes/lost_mass.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

#include "binades.hpp"
#include "cells/buckets.hpp"
#include "lost_in_binade.hpp"
#include "ramps.hpp"

namespace ulp {
namespace {

constexpr double unbounded = std::numeric_limits<double>::infinity();

zero_rule rule_of(const treatment& how, cell_sign sign, multiplier by) {
  const threshold positive = divided(thresholds_of(how, false).nonzero, by);
  const threshold negative = divided(thresholds_of(how, true).nonzero, by);
  if (sign == cell_sign::positive) return {positive, positive};
  if (sign == cell_sign::negative) return {negative, negative};
  // Where they are equal both are closed, or none is: no direction treats ties by their sign.
  return positive.at < negative.at ? zero_rule{negative, positive} : zero_rule{positive, negative};
}

// The mean over draws that keep each value with a probability p.
lost_mass expected(const lost_mass& all, const value_range& p) {
  return {{all.magnitudes.low * (1 - p.high), all.magnitudes.high * (1 - p.low)},
          {all.squares.low * (1 - p.high), all.squares.high * (1 - p.low)},
          {all.magnitudes.low * p.low, all.magnitudes.high * p.high}};
}

// The mean over the draws of stochastic rounding.
lost_mass expected_loss_in(const binade& o, const cell_table& table, const treatment& how, multiplier by,
                           dtype recorded) {
  const ramp nonzero = ramps_of(how).nonzero;
  const double m = by.scale / by.factor;
  const bool power = is_power_of_two(by.scale) && is_power_of_two(by.factor);
  const double margin = power ? 0 : 0x1p-51;
  lost_mass lost;
  for (const cell& c : o.cells) {
    const value_range x = magnitudes_of(c, table);
    const value_range p = probability(nonzero, x.low * m * (1 - margin), x.high * m * (1 + margin), how.rounding);
    const lost_mass mass = sum_of(x, static_cast<double>(c.count));
    lost += expected(mass, p);
  }
  const double top = std::ldexp(1.0, o.exponent) * 2 * m * (1 + margin);
  if (o.sums == nullptr || nonzero.from != 0 || nonzero.width == 0 || top > nonzero.width) return lost;
  // Sum x (1 - p) with p = x m / width.
  const binade_total total = total_of(o, table.cut_significands > 0);
  const value_range slack = slack_of(how.rounding, how.format, o.exponent, by, recorded);
  const double k = m / nonzero.width;
  lost.magnitudes = both(lost.magnitudes, {total.sum.low * (1 - slack.high) - total.squares.high * k,
                                           total.sum.high * (1 - slack.low) - total.squares.low * k});
  lost.kept = both(lost.kept, {total.sum.low - lost.magnitudes.high, total.sum.high - lost.magnitudes.low});
  return lost;
}

// What a bucket loses; zeros in it weigh nothing.
lost_mass lost_in(const bucket_values& v, const treatment& how, multiplier by, int daz_below) {
  const value_range x{v.maybe_zero ? 0 : v.magnitudes.low, v.magnitudes.high};
  const lost_mass mass = sum_of(x, v.count);
  if (std::ilogb(v.magnitudes.high) < daz_below) return mass;
  if (how.rounding.direction == direction::stochastic) {
    const ramp nonzero = ramps_of(how).nonzero;
    const double m = by.scale / by.factor;
    constexpr double margin = 0x1p-51;
    value_range p = probability(nonzero, x.low * m * (1 - margin), x.high * m * (1 + margin), how.rounding);
    if (std::ilogb(v.magnitudes.low) < daz_below) p.low = 0;
    return expected(mass, p);
  }
  const zero_rule rule = rule_of(how, v.sign, by);
  const bool surely_kept =
      rule.least.reached_by(magnitude_of(v.magnitudes.low)) && std::ilogb(v.magnitudes.low) >= daz_below;
  if (surely_kept) return all_kept(mass);
  if (!rule.most.reached_by(magnitude_of(v.magnitudes.high))) return mass;
  // None above the threshold is lost.
  const double edge = std::max(std::ldexp(1.0, daz_below), double_from(rule.least.at));
  lost_mass some = from_nothing(sum_of({x.low, std::min(x.high, edge)}, v.count));
  some.kept = {0, mass.magnitudes.high};
  return some;
}

}  // namespace

value_range magnitudes_bounds(const cell_table& table) {
  const value_sum all = magnitudes_sum(table);
  if (all.quality != sum_quality::estimated) return {all.value, all.value};
  value_range sum;
  auto in_no_cell = static_cast<double>(table.nonzero_finite());
  for_each_binade(table, [&](const binade& o) {
    in_no_cell -= o.count;
    sum += total_mass(o, table).magnitudes;
  });
  for_each_bucket(table, [&](const bucket_values& v) {
    in_no_cell -= v.count;
    sum += {v.maybe_zero ? 0 : v.count * v.magnitudes.low, v.count * v.magnitudes.high};
  });
  if (in_no_cell > 0) sum += {0, unbounded};
  return sum;
}

value_range share_of_magnitude(const lost_mass& lost, const value_range& all) noexcept {
  if (!(all.high > 0) || lost.magnitudes.high == 0) return {};
  const auto share = [](double part, double rest) {
    return std::isinf(part) ? 1 : part > 0 ? part / (part + rest) : 0;
  };
  const value_range of_both{share(lost.magnitudes.low, lost.kept.high), share(lost.magnitudes.high, lost.kept.low)};
  const value_range of_all{lost.magnitudes.low / all.high,
                           lost.magnitudes.high < all.low ? lost.magnitudes.high / all.low : 1};
  // A sum that was printed in few digits may lie outside of what the cells allow.
  const bool agree = of_all.low <= of_both.high && of_both.low <= of_all.high;
  return agree ? both(of_both, of_all) : of_both;
}

lost_mass lost_to_underflow(const cell_table& table, const treatment& how, multiplier by, dtype recorded) {
  const int daz_below = read_as_zero_below(how.rounding, recorded);
  lost_mass lost;
  auto in_no_cell = static_cast<double>(table.nonzero_finite());
  for_each_binade(table, [&](const binade& o) {
    in_no_cell -= o.count;
    if (!by.usable())
      lost += by.scale == 0 ? total_mass(o, table) : all_kept(total_mass(o, table));
    else if (o.exponent < daz_below)
      lost += total_mass(o, table);
    else if (how.rounding.direction == direction::stochastic)
      lost += expected_loss_in(o, table, how, by, recorded);
    else
      lost += lost_in(o, table, rule_of(how, o.sign, by));
  });
  for_each_bucket(table, [&](const bucket_values& v) {
    in_no_cell -= v.count;
    const lost_mass all = sum_of({v.maybe_zero ? 0 : v.magnitudes.low, v.magnitudes.high}, v.count);
    lost += by.usable() ? lost_in(v, how, by, daz_below) : by.scale == 0 ? all : all_kept(all);
  });
  if (in_no_cell > 0) lost += {{0, unbounded}, {0, unbounded}, {0, unbounded}};
  const double f = by.factor;
  // Squares of float64 values may leave the range of doubles.
  const auto scaled = [](const value_range& r, double unit) {
    return value_range{std::isnan(r.low) ? 0 : r.low / unit, std::isnan(r.high) ? unbounded : r.high / unit};
  };
  return {scaled(lost.magnitudes, f), scaled(scaled(lost.squares, f), f), scaled(lost.kept, f)};
}

}  // namespace ulp
