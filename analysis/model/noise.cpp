#include <ulp/model/noise.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

#include <ulp/model/lost_mass.hpp>

#include "octaves.hpp"
#include "ramps.hpp"

namespace ulp {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// Errors of values spread evenly between neighbours one spacing apart, in spacings: the mean of e and of e^2, and the
// greatest e^2 (under stochastic rounding of the mean over the draws).
struct error_model {
  double error;
  double square;
  double most;
};
error_model model_of(const rounding& mode) {
  switch (mode.direction) {
    case direction::nearest_even:
    case direction::nearest_away: return {0, 1.0 / 12, 0.25};
    case direction::stochastic:
      return {0, 1.0 / 6, 0.25 + (mode.random_bits == all_random_bits ? 0 : std::ldexp(1.0, -mode.random_bits))};
    case direction::toward_zero: return {0.5, 1.0 / 3, 1};
    case direction::toward_positive:
    case direction::toward_negative:
    case direction::to_odd: break;
  }
  return {0, 1.0 / 3, 1};
}

bool is_nearest(const rounding& mode) {
  return mode.direction == direction::nearest_even || mode.direction == direction::nearest_away;
}

// Sums over an octave: exact where the table has them, else from its cells.
struct octave_moments {
  double magnitudes = 0;
  double squares = 0;
  bool exact = false;
};
octave_moments moments_of(const octave& o, const cell_table& table) {
  if (o.sums != nullptr) {
    const octave_total total = total_of(o, false);
    return {total.sum.low, total.squares.low, table.cut_significands == 0};
  }
  octave_moments all;
  for (const cell& c : o.cells) {
    const value_range x = magnitudes_of(c, table);
    const auto n = static_cast<double>(c.count);
    all.magnitudes += n * (x.low + x.high) / 2;
    all.squares += n * (x.low * x.low + x.low * x.high + x.high * x.high) / 3;
  }
  return all;
}

cell_table only(const octave& o, const cell_table& table) {
  cell_table one;
  one.numel = static_cast<std::uint64_t>(o.count);
  one.max_abs = table.max_abs;
  one.min_abs = table.min_abs;
  one.cells.assign(o.cells.begin(), o.cells.end());
  one.has_sums = o.sums != nullptr;
  if (one.has_sums) one.sums = {*o.sums};
  one.cut_significands = table.cut_significands;
  return one;
}

// One table, format, rounding and multiplier; all in units of the recorded values.
class noise_counter {
 public:
  noise_counter(const cell_table& table, const format& to, const rounding& mode, multiplier by, dtype recorded)
      : table_(table), to_(to), mode_(mode), by_(by), recorded_(recorded), model_(model_of(mode)) {}

  // Without the errors where the ladder tells them.
  [[nodiscard]] rounding_noise of(const octave& o) const;
  [[nodiscard]] bool ladder_tells(int exponent) const;
  [[nodiscard]] rounding_noise by_ladder(const octave_errors& errors) const;

 private:
  // The octave of the scaled values is [2^k, 2^(k+1)), where the multiplier is no power of two about that.
  [[nodiscard]] int scaled(int exponent) const { return exponent + shift_; }
  [[nodiscard]] double spacing(int k) const {
    return std::ldexp(1.0, std::max(k - to_.fraction_bits, to_.min_subnormal_exponent())) / multiple_;
  }
  [[nodiscard]] count_range overflowing(const octave& o) const {
    return outcomes_of(only(o, table_), to_, mode_, by_, recorded_).overflow;
  }

  const cell_table& table_;
  const format& to_;
  const rounding& mode_;
  multiplier by_;
  dtype recorded_;
  error_model model_;
  double multiple_ = by_.scale / by_.factor;
  int shift_ = static_cast<int>(std::lround(std::log2(multiple_)));
  bool power_ = is_power_of_two(by_.scale) && is_power_of_two(by_.factor);
  bool gradual_ = to_.has_subnormals() && mode_.flush == flush::never;
  int daz_below_ = read_as_zero_below(mode_, recorded_);
};

bool noise_counter::ladder_tells(int exponent) const {
  const int k = scaled(exponent);
  const bool in_reach = to_.fraction_bits >= 1 && to_.fraction_bits <= octave_errors::most_bits &&
                        k - to_.min_subnormal_exponent() >= octave_errors::least_bits;
  const bool unflushed = exponent >= daz_below_ && (gradual_ || k >= to_.emin() + (to_.has_subnormals() ? 0 : 1));
  if (!table_.has_errors || table_.cut_significands > 0 || !is_nearest(mode_) || !power_ || !in_reach || !unflushed)
    return false;
  if (k < to_.emax()) return true;
  bool any = false;
  for_each_octave(table_, [&](const octave& o) { any = any || (o.exponent == exponent && overflowing(o).high > 0); });
  return !any;
}

rounding_noise noise_counter::by_ladder(const octave_errors& errors) const {
  const int k = scaled(errors.exponent);
  const std::size_t level = octave_errors::level_of(std::min(to_.fraction_bits, k - to_.min_subnormal_exponent()));
  const int unit = 2 * (errors.exponent - 23);
  const double squares = std::ldexp(static_cast<double>(errors.squares[level]), unit);
  return {.squares = squares,
          .least = squares,
          .most = squares,
          .products = std::ldexp(static_cast<double>(errors.products[level]), unit),
          // Ties away from zero err to the other side.
          .exact = mode_.direction == direction::nearest_even};
}

rounding_noise noise_counter::of(const octave& o) const {
  const octave_moments x = moments_of(o, table_);
  const int k = scaled(o.exponent);
  const double s1 = x.magnitudes;
  const double s2 = x.squares;
  double n = o.count;
  rounding_noise part{.signal = s2, .exact = x.exact && power_, .values = static_cast<std::uint64_t>(n)};
  const auto all_alike = [&](double squares, double products) {
    part.squares = part.least = part.most = squares;
    part.products = products;
  };
  const double u = spacing(k);
  const int below = to_.min_subnormal_exponent() - k;  // octaves under the smallest number
  if (o.exponent < daz_below_) {
    all_alike(s2, s2);
    part.exact = x.exact;
    return part;
  }
  if (ladder_tells(o.exponent)) return part;
  if (k >= to_.emax()) {
    const count_range beyond = overflowing(o);
    if (beyond.low == part.values) return {.overflowing = part.values};
    if (beyond.high > 0) {
      const double edge = double_from(thresholds_of(to_, mode_, o.sign == cell_sign::negative).overflow.at) / multiple_;
      part.signal = std::max(0.0, part.signal - static_cast<double>(beyond.low) * edge * edge);
      part.values -= beyond.low;
      part.overflowing = beyond.low;
      part.exact = false;
      n -= static_cast<double>(beyond.low);
    }
  }
  if (!gradual_ && k <= to_.emin()) {
    const cell_table one = only(o, table_);
    const multiplier by{.scale = by_.scale, .factor = by_.factor};
    const value_range lost = lost_to_underflow(one, to_, mode_, by, recorded_).squares;
    const double unit = by_.factor * by_.factor;
    const value_range lost_squares{lost.low * unit, lost.high * unit};
    if (lost_squares.high > 0) {
      const bool all = lost_squares.low >= s2 * (1 - 0x1p-50);
      const double kept_share = all || s2 == 0 ? 0 : 1 - (lost_squares.low + lost_squares.high) / 2 / s2;
      part.products = s2 * (1 - kept_share);
      part.squares = part.products + kept_share * n * u * u * model_.square;
      part.least = lost_squares.low;
      part.most = lost_squares.high + (all ? 0 : n * u * u * model_.most);
      part.exact = part.exact && all;
      return part;
    }
  }
  const double eta = u;
  if (below > 0 && mode_.direction == direction::stochastic && gradual_) {
    all_alike(std::max(0.0, eta * s1 - s2), 0);  // the mean of x (eta - x)
    const value_range slack = slack_of(mode_, to_, o.exponent, by_, recorded_);
    if (const double most = std::max(-slack.low, slack.high); most > 0) {
      part.exact = false;
      part.least = std::max(0.0, part.least - n * eta * eta * most);
      part.most += n * eta * eta * most;
    }
  } else if (below > 0 && (mode_.direction == direction::toward_zero || (below > 1 && is_nearest(mode_)))) {
    all_alike(s2, s2);  // all become zero
  } else if (below == 1 && is_nearest(mode_)) {
    // All become eta, but for ties to even, which are as far from zero.
    const cell& first = o.cells.front();
    const bool ties = mode_.direction == direction::nearest_even && first.slot == 0;
    const double zeros = ties ? static_cast<double>(first.count) : 0;
    all_alike(std::max(0.0, n * eta * eta - 2 * eta * s1 + s2), s2 - eta * (s1 - zeros * eta / 2));
  } else if (below > 0) {
    // Away from zero for some, toward it for others.
    const double away = std::max(0.0, n * eta * eta - 2 * eta * s1 + s2);
    part.least = std::min(s2, away);
    part.most = std::max(s2, away);
    part.squares = (s2 + away) / 2;
    part.products = s2 - eta * s1 / 2;
    part.exact = false;
  } else {
    part.squares = n * u * u * model_.square;
    part.most = n * u * u * model_.most;
    part.products = s1 * u * model_.error;
    part.exact = false;
  }
  if (!power_) {
    part.least = 0;
    part.most = std::max(s2, 4 * part.most);  // the octave may be the next one
  }
  return part;
}

}  // namespace

rounding_noise& rounding_noise::operator+=(const rounding_noise& other) noexcept {
  signal += other.signal;
  squares += other.squares;
  least += other.least;
  most += other.most;
  products += other.products;
  exact = exact && other.exact;
  values += other.values;
  overflowing += other.overflowing;
  return *this;
}

double rounding_noise::mean_square() const noexcept { return squares / static_cast<double>(values); }
double rounding_noise::sqnr() const noexcept {
  if (signal == 0) return not_known;
  return squares == 0 ? infinity : 10 * std::log10(signal / squares);
}
double rounding_noise::least_sqnr() const noexcept {
  if (signal == 0) return not_known;
  return most == 0 ? infinity : 10 * std::log10(signal / most);
}
double rounding_noise::cosine() const noexcept {
  const double rounded = signal - 2 * products + squares;
  if (!(signal > 0) || !(rounded > 0)) return not_known;
  return (signal - products) / std::sqrt(signal) / std::sqrt(rounded);
}

rounding_noise noise_of(const cell_table& table, const format& to, const rounding& mode, multiplier by,
                        dtype recorded) {
  rounding_noise all;
  all.values = table.zeros;
  if (by.scale > 0 && std::isfinite(by.scale)) {
    const noise_counter counter(table, to, mode, by, recorded);
    for_each_octave(table, [&](const octave& o) { all += counter.of(o); });
    for (const octave_errors& errors : table.errors)
      if (counter.ladder_tells(errors.exponent)) all += counter.by_ladder(errors);
  } else {
    for_each_octave(table, [&](const octave& o) {
      const octave_moments x = moments_of(o, table);
      const auto n = static_cast<std::uint64_t>(o.count);
      if (by.scale == 0)
        all += {.signal = x.squares,
                .squares = x.squares,
                .least = x.squares,
                .most = x.squares,
                .products = x.squares,
                .exact = x.exact,
                .values = n};
      else
        all.overflowing += n;
    });
  }
  const double unit = 1 / by.factor;
  for (double* const sum : {&all.signal, &all.squares, &all.least, &all.most, &all.products}) *sum *= unit * unit;
  return all;
}

}  // namespace ulp
