#include <ulp/model/expectation.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <span>

#include <ulp/formats/catalog.hpp>
#include <ulp/formats/codec.hpp>

namespace ulp {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// The probability of an outcome as a function of the scaled magnitude: 0 below `from`, 1 from `from + width` on, linear
// between. Width 0 is a step, closed at the left.
struct ramp {
  double from = 0;
  double width = 0;

  [[nodiscard]] double operator()(double y) const noexcept {
    if (!(y >= from)) return 0;
    return width == 0 ? 1 : std::min((y - from) / width, 1.0);
  }
};

struct ramps {
  ramp nonzero;
  ramp normal;
  ramp overflow;
};

ramps ramps_of(const format& to, const rounding& mode) {
  const double least_normal = std::ldexp(1.0, to.emin());
  const double spacing = std::ldexp(1.0, to.min_subnormal_exponent());
  ramps r;
  r.overflow = {to_double(to, to.max_finite_code()), std::ldexp(1.0, to.emax() - to.fraction_bits)};
  r.normal = {least_normal - spacing, spacing};
  if (!to.has_subnormals()) {
    // The number at the foot of the lowest binade is zero.
    r.nonzero = r.normal = {least_normal, spacing};
    return r;
  }
  switch (mode.flush) {
    case flush::never: r.nonzero = {0, spacing}; return r;
    case flush::before_rounding: r.normal = {least_normal, 0}; break;
    case flush::after_rounding: r.normal = {least_normal - spacing / 2, spacing / 2}; break;
    case flush::result: break;
  }
  r.nonzero = r.normal;
  return r;
}

// p of a step of `width`, cut to the random bits.
double cut(double p, const rounding& mode) {
  if (mode.random_bits == all_random_bits || p >= 1) return p;
  const double steps = std::ldexp(p, mode.random_bits);
  const double whole = mode.definition == stochastic_definition::a   ? std::floor(steps)
                       : mode.definition == stochastic_definition::b ? std::floor(steps + 0.5)
                                                                     : std::nearbyint(steps);
  return std::ldexp(whole, -mode.random_bits);
}

value_range probability(const ramp& r, double low, double high, const rounding& mode) {
  const auto at = [&](double y) { return r.width == 0 ? r(y) : cut(r(y), mode); };
  return {at(low), at(high)};
}

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

value_range both(const value_range& a, const value_range& b) {
  const double low = std::max(a.low, b.low);
  return {low, std::max(low, std::min(a.high, b.high))};
}

// The sums of one octave as bounds, in units of the values.
struct octave_total {
  value_range sum;
  value_range squares;
};
octave_total total_of(const octave_sums& s, double n, bool cut_significands) {
  const auto sum = static_cast<double>(s.significands);
  const auto squares = static_cast<double>(s.squares);
  const double sum_high = cut_significands ? sum + n : sum;
  const double squares_high = cut_significands ? squares + 2 * sum + n : squares;
  const int unit = s.exponent - 23;
  return {{std::ldexp(sum, unit), std::ldexp(sum_high, unit)},
          {std::ldexp(squares, 2 * unit), std::ldexp(squares_high, 2 * unit)}};
}

int significand_bits(dtype type) {
  switch (type) {
    case dtype::float64: return 53;
    case dtype::float16: return 11;
    case dtype::bfloat16: return 8;
    case dtype::float32:
    case dtype::unknown: break;
  }
  return 24;
}

// How far p may be from the drawn probability, for each value.
value_range slack_of(const rounding& mode, int bits_after_point) {
  if (mode.random_bits == all_random_bits || bits_after_point <= mode.random_bits) return {0, 0};
  const double step = std::ldexp(1.0, -mode.random_bits);
  return mode.definition == stochastic_definition::a ? value_range{-step, 0} : value_range{-step / 2, step / 2};
}

bool is_power_of_two(double x) {
  int exponent = 0;
  return std::frexp(x, &exponent) == 0.5;
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

expected_outcomes expected_outcomes_of(const cell_table& table, const format& to, const rounding& mode, multiplier by,
                                       dtype recorded) {
  expected_outcomes all{.numel = table.numel, .zero = table.zeros, .nonfinite = table.nonfinite()};
  const auto nonzero = static_cast<double>(table.nonzero_finite());
  if (!(by.scale > 0) || !std::isfinite(by.scale)) {
    (by.scale == 0 ? all.underflow : all.overflow).mean = {nonzero, nonzero};
    return all;
  }
  const ramps r = ramps_of(to, mode);
  const bool power = is_power_of_two(by.scale) && is_power_of_two(by.factor);
  const double m = by.scale / by.factor;
  // A product with another multiplier is rounded, and so is the multiplier.
  const auto scaled_low = [&](double x) { return power ? x * m : std::nextafter(std::nextafter(x * m, 0.0), 0.0); };
  const auto scaled_high = [&](double x) {
    return power ? x * m : std::nextafter(std::nextafter(x * m, infinity), infinity);
  };
  const int daz_below = !mode.daz                    ? std::numeric_limits<int>::min()
                        : recorded == dtype::float64 ? binary64.emin()
                        : recorded == dtype::float16 ? float16.emin()
                                                     : binary32.emin();
  const bool linear_from_zero = r.nonzero.from == 0 && r.nonzero.width > 0;

  auto sums = table.sums.begin();
  double in_no_cell = nonzero;
  for (auto first = table.cells.begin(); first != table.cells.end();) {
    const auto last = std::find_if(first, table.cells.end(), [&](const cell& c) {
      return c.sign != first->sign || c.exponent != first->exponent;
    });
    const octave_sums* const exact = table.has_sums ? &*sums++ : nullptr;
    expected_outcomes octave;
    double n = 0;
    for (const cell& c : std::span(first, last)) {
      const auto count = static_cast<double>(c.count);
      n += count;
      const cell_range range = range_of(c);
      const double least = table.min_abs > 0 ? table.min_abs : 0;
      const double low = std::max(double_from(range.low), least);
      const double high = std::min(double_from(range.high), table.max_abs > 0 ? table.max_abs : infinity);
      if (c.exponent < daz_below)
        octave.underflow.mean += {count, count};
      else
        add_span(octave, count, scaled_low(low), scaled_high(std::max(low, high)), r, mode);
    }
    in_no_cell -= n;
    const double top = scaled_high(std::ldexp(1.0, first->exponent) * 2);
    if (exact != nullptr && linear_from_zero && top <= r.nonzero.width && first->exponent >= daz_below) {
      const octave_total total = total_of(*exact, n, table.cut_significands > 0);
      const double k = m / r.nonzero.width;
      const value_range p{total.sum.low * k, total.sum.high * k};
      const value_range squares{total.squares.low * k * k, total.squares.high * k * k};
      const int below = to.min_subnormal_exponent() - first->exponent - std::ilogb(m);
      const value_range slack = slack_of(mode, power ? significand_bits(recorded) - 1 + below : 1 << 20);
      const double most = std::max(-slack.low, slack.high);
      octave.underflow.mean = both(octave.underflow.mean, {n - p.high - n * slack.high, n - p.low - n * slack.low});
      octave.underflow.variance = both(octave.underflow.variance, {p.low - squares.high - n * most,  //
                                                                   p.high - squares.low + n * most});
      octave.subnormal.mean = {n - octave.underflow.mean.high, n - octave.underflow.mean.low};
      octave.subnormal.variance = octave.underflow.variance;
    }
    all.underflow += octave.underflow;
    all.subnormal += octave.subnormal;
    all.overflow += octave.overflow;
    first = last;
  }
  if (in_no_cell > 0)
    for (expected_count* const count : {&all.underflow, &all.subnormal, &all.overflow}) add(*count, in_no_cell, {0, 1});
  return all;
}

}  // namespace ulp
