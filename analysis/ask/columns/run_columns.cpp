#include <ulp/ask/columns/run_columns.hpp>

#include <algorithm>
#include <cmath>

namespace ulp {
namespace {

double log2_of(const magnitude& m) { return std::log2(double_from(m)); }

}  // namespace

void binade_counts::merge(const binade_counts& other) {
  for (const auto& [exponent, count] : other.by_exponent) by_exponent[exponent] += count;
  zeros += other.zeros;
  maybe_zeros += other.maybe_zeros;
  nonfinite += other.nonfinite;
}

void binade_counts::add(const cell_table& table, double factor) {
  const int shift = std::ilogb(std::isnan(factor) ? 1 : factor);
  for (const cell& c : table.cells) by_exponent[c.exponent - shift] += static_cast<double>(c.count);
  const double reach = table.largest_possible();
  for (const bucket& b : table.buckets) {
    if (b.may_hold_zero()) continue;
    const double near = std::min(std::fabs(b.low), std::fabs(b.high));
    const double far = std::max(near, std::min(std::max(std::fabs(b.low), std::fabs(b.high)), reach));
    const auto n = static_cast<double>(b.count);
    const int lowest = std::ilogb(near);
    const int highest = std::ilogb(far);
    const double first = std::log2(near);
    const double width = std::log2(far) - first;
    for (int k = lowest; k <= highest; ++k) {
      const double part = std::min(k + 1.0, first + width) - std::max(double(k), first);
      if (lowest == highest || part > 0) by_exponent[k - shift] += lowest == highest ? n : n * part / width;
    }
  }
  zeros += static_cast<double>(table.zeros);
  maybe_zeros += static_cast<double>(table.maybe_zeros);
  nonfinite += static_cast<double>(table.nonfinite());
}

void tensor_losses::merge(const tensor_losses& other) {
  by_tensor.resize(std::max(by_tensor.size(), other.by_tensor.size()));
  for (std::size_t i = 0; i < other.by_tensor.size(); ++i) {
    by_tensor[i].underflow += other.by_tensor[i].underflow;
    by_tensor[i].nonzero += other.by_tensor[i].nonzero;
  }
}

void tensor_losses::add(const tensor_outcome& of) {
  by_tensor.resize(std::max<std::size_t>(by_tensor.size(), of.tensor + 1));
  const outcome_counts& c = of.counts;
  by_tensor[of.tensor].underflow += static_cast<double>(c.underflow.low + c.underflow.high) / 2;
  by_tensor[of.tensor].nonzero += static_cast<double>(c.nonzero().high);
}

void logged_values::range::merge(const range& other) {
  least = std::fmin(least, other.least);
  greatest = std::fmax(greatest, other.greatest);
  sum += other.sum;
  steps += other.steps;
}

void logged_values::range::add(double value) {
  if (std::isfinite(value)) merge({.least = value, .greatest = value, .sum = value, .steps = 1});
}

void logged_values::merge(const logged_values& other) {
  loss.merge(other.loss);
  learning_rate.merge(other.learning_rate);
  norm.merge(other.norm);
  log2_scale.merge(other.log2_scale);
  losses_lost += other.losses_lost;
  overflowed += other.overflowed;
}

void scale_extremes::merge(const scale_extremes& other) {
  // Of what is not known the other.
  least = std::fmin(least, other.least);
  greatest = std::fmax(greatest, other.greatest);
  if (!(critical <= other.critical) && !std::isnan(other.critical)) {
    critical = other.critical;
    critical_certain = other.critical_certain;
  }
  norm = std::fmax(norm, other.norm);
  skipped += other.skipped;
  clipped += other.clipped;
}

void scale_extremes::add(const trajectory_row& row) {
  merge({.least = row.scale_used,
         .greatest = row.scale_used,
         .critical = row.critical_scale > 0 && std::isfinite(row.critical_scale) ? row.critical_scale : not_known,
         .critical_certain = row.critical_certain,
         .norm = std::isfinite(row.norm) ? row.norm : not_known,
         .skipped = row.skipped ? 1U : 0U,
         .clipped = row.clipped.value_or(false) ? 1U : 0U});
}

format_limits limits_of(const treatment& how) {
  const outcome_thresholds t = thresholds_of(undrawn(how), false);
  return {log2_of(t.nonzero.at), log2_of(t.normal.at), log2_of(t.overflow.at)};
}

}  // namespace ulp
