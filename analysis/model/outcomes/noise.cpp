#include <ulp/model/outcomes/noise.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <ulp/model/outcomes/lost_mass.hpp>

#include "binades.hpp"
#include "cells/buckets.hpp"
#include "ramps.hpp"

namespace ulp {
namespace {

constexpr double no_noise = std::numeric_limits<double>::infinity();  // dB

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
      return {0, 1.0 / 6, 0.25 + (mode.random_bits == exact_probability ? 0 : std::ldexp(1.0, -mode.random_bits))};
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

// Of g(x) over the values of a binade, by its cells: `of` gives the least and the greatest g of the magnitudes in a range.
template <typename Of>
value_range over_cells(const binade& o, const cell_table& table, Of of) {
  value_range all;
  for (const cell& c : o.cells) {
    const value_range g = of(magnitudes_of(c, table));
    const auto n = static_cast<double>(c.count);
    all += {n * g.low, n * g.high};
  }
  return all;
}

// Sums over a binade: exact where the table has them, else estimated from its cells; and what they may be.
struct binade_moments {
  double magnitudes = 0;
  double squares = 0;
  value_range magnitudes_range;
  value_range squares_range;
  bool exact = false;
};
binade_moments moments_of(const binade& o, const cell_table& table) {
  if (o.sums != nullptr) {
    const binade_total total = total_of(o, table.cut_significands > 0);
    return {total.sum.low, total.squares.low, total.sum, total.squares, table.cut_significands == 0};
  }
  binade_moments all;
  for (const cell& c : o.cells) {
    const value_range x = magnitudes_of(c, table);
    const auto n = static_cast<double>(c.count);
    all.magnitudes += n * (x.low + x.high) / 2;
    all.squares += n * (x.low * x.low + x.low * x.high + x.high * x.high) / 3;
  }
  all.magnitudes_range = over_cells(o, table, [](const value_range& x) { return x; });
  all.squares_range = over_cells(o, table, [](const value_range& x) {
    return value_range{x.low * x.low, x.high * x.high};
  });
  return all;
}

cell_table only(const binade& o, const cell_table& table) {
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

// A binade on its way to its noise.
struct binade_part {
  const binade& o;
  binade_moments x;
  double n = 0;  // values that do not overflow
  double u = 0;  // the spacing there
  rounding_noise noise{};

  void is_modelled() { noise.exact = noise.squares_exact = false; }
  // Each value errs by g(x), whose sum is known where sums are.
  void all_alike(double squares, double products, const value_range& range) {
    noise.squares = x.exact ? squares : std::clamp(squares, range.low, range.high);
    noise.least = x.exact ? squares : range.low;
    noise.most = x.exact ? squares : range.high;
    noise.products = products;
  }
  void become_zero() { all_alike(x.squares, x.squares, x.squares_range); }
};

// One table, format, rounding and multiplier; all in units of the recorded values.
class noise_counter {
 public:
  noise_counter(const cell_table& table, const treatment& how, multiplier by, dtype recorded)
      : table_(table), how_(how), by_(by), recorded_(recorded), model_(model_of(how.rounding)) {}

  // Without the errors where the ladder tells them.
  [[nodiscard]] rounding_noise of(const binade& o) const;
  [[nodiscard]] bool ladder_tells(int exponent) const;
  [[nodiscard]] rounding_noise by_ladder(const binade_errors& errors) const;
  // Modelled as if values were spread evenly through the bucket, those that may be zero from zero on.
  [[nodiscard]] rounding_noise of(const bucket_values& v) const;

 private:
  // The scaled values begin in the binade [2^k, 2^(k+1)), and where the multiplier is not a power of two end in the next.
  [[nodiscard]] int scaled(int exponent) const { return exponent + shift_; }
  [[nodiscard]] double spacing(int k) const {
    return std::ldexp(1.0, std::max(k - how_.format.fraction_bits, how_.format.min_quantum_exponent())) / multiple_;
  }
  // The root of the mean square over the two binades; through each cell the density changes as towards the next.
  [[nodiscard]] double mean_spacing(const binade& o) const;
  [[nodiscard]] count_range overflowing(const binade& o) const {
    return outcomes_of(only(o, table_), how_, by_, recorded_).overflow;
  }

  // The regimes. The first two may leave nothing to the others: where all overflows, and where any value is flushed.
  [[nodiscard]] bool leave_out_overflow(binade_part& p) const;
  [[nodiscard]] bool flush(binade_part& p) const;
  // Below the smallest number eta, the first step from zero.
  void draw_between_zero_and_one_step(binade_part& p) const;
  void go_up_to_one_step(binade_part& p) const;
  void go_either_way(binade_part& p) const;
  void round_by_model(binade_part& p) const;
  struct sum_within {
    double sum;
    value_range range;
  };
  [[nodiscard]] sum_within up_to_one_step(const binade_part& p) const;

  const cell_table& table_;
  const treatment& how_;
  multiplier by_;
  dtype recorded_;
  error_model model_;
  // Beyond all doubles only where the squares of what it multiplies are below all of them: then nothing is known of their sums.
  double multiple_ = std::min(by_.scale / by_.factor, std::numeric_limits<double>::max());
  int shift_ = std::ilogb(multiple_);
  bool power_ = is_power_of_two(by_.scale) && is_power_of_two(by_.factor);
  bool gradual_ = how_.format.has_subnormals() && how_.rounding.flush == flush::never;
  int daz_below_ = read_as_zero_below(how_.rounding, recorded_);
};

double noise_counter::mean_spacing(const binade& o) const {
  const int k = scaled(o.exponent);
  if (power_ || o.count == 0) return spacing(k);
  const double edge = std::ldexp(1.0, k + 1) / multiple_;
  struct piece {
    value_range x;
    double count;
    [[nodiscard]] double density() const { return count / (x.high - x.low); }
    [[nodiscard]] double middle() const { return (x.low + x.high) / 2; }
  };
  std::vector<piece> pieces;
  double above = 0;
  for (const cell& c : o.cells) {
    const piece one{magnitudes_of(c, table_), static_cast<double>(c.count)};
    if (one.x.low < one.x.high)
      pieces.push_back(one);
    else
      above += one.x.low >= edge ? one.count : 0;
  }
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const auto& [x, count] = pieces[i];
    const double from = std::clamp(edge, x.low, x.high);
    double part = pieces[i].density() * (x.high - from);
    if (i + 1 < pieces.size()) {
      const double slope =
          (pieces[i + 1].density() - pieces[i].density()) / (pieces[i + 1].middle() - pieces[i].middle());
      part += slope * (x.high - from) * (from - x.low) / 2;
    }
    above += std::clamp(part, 0.0, count);
  }
  const double share = above / static_cast<double>(o.count);
  const double low = spacing(k);
  const double high = spacing(k + 1);
  return std::sqrt((1 - share) * low * low + share * high * high);
}

bool noise_counter::ladder_tells(int exponent) const {
  const int k = scaled(exponent);
  const bool in_reach = how_.format.fraction_bits >= 1 && how_.format.fraction_bits <= binade_errors::most_bits &&
                        k - how_.format.min_quantum_exponent() >= binade_errors::least_bits;
  const bool unflushed =
      exponent >= daz_below_ && (gradual_ || k >= how_.format.emin() + (how_.format.has_subnormals() ? 0 : 1));
  if (!table_.has_errors || table_.cut_significands > 0 || !is_nearest(how_.rounding) || !power_ || !in_reach ||
      !unflushed)
    return false;
  if (k < how_.format.emax()) return true;
  bool any = false;
  for_each_binade(table_, [&](const binade& o) { any = any || (o.exponent == exponent && overflowing(o).high > 0); });
  return !any;
}

rounding_noise noise_counter::by_ladder(const binade_errors& errors) const {
  const int k = scaled(errors.exponent);
  const std::size_t level =
      binade_errors::level_of(std::min(how_.format.fraction_bits, k - how_.format.min_quantum_exponent()));
  const int unit = 2 * (errors.exponent - 23);
  const double squares = std::ldexp(static_cast<double>(errors.squares[level]), unit);
  return {.squares = squares,
          .least = squares,
          .most = squares,
          .products = std::ldexp(static_cast<double>(errors.products[level]), unit),
          // Ties away from zero err to the other side.
          .exact = how_.rounding.direction == direction::nearest_even};
}

// The signal of the values of a top binade that do not overflow; those that may are left out of its lower end.
value_range kept_signal(const binade& o, const cell_table& table, const binade_moments& x, const threshold& overflow) {
  const double edge = double_from(overflow.at);
  const value_range kept = over_cells(o, table, [&](const value_range& m) {
    return value_range{m.high < edge ? m.low * m.low : 0,
                       m.low <= edge ? std::min(m.high, edge) * std::min(m.high, edge) : 0};
  });
  return {kept.low, std::min(kept.high, x.squares_range.high)};
}

bool noise_counter::leave_out_overflow(binade_part& p) const {
  const count_range beyond = overflowing(p.o);
  if (beyond.low == p.noise.values) return true;
  if (beyond.high == 0) return false;
  const threshold edge = divided(thresholds_of(how_, p.o.sign == cell_sign::negative).overflow, by_);
  const value_range signal = kept_signal(p.o, table_, p.x, edge);
  p.noise.signal = (signal.low + signal.high) / 2;
  p.noise.least_signal = signal.low;
  p.noise.values -= beyond.low;
  p.noise.overflowing = beyond.low;
  p.n -= static_cast<double>(beyond.low);
  p.is_modelled();
  return false;
}

bool noise_counter::flush(binade_part& p) const {
  const value_range lost = lost_to_underflow(only(p.o, table_), how_, by_, recorded_).squares;
  const double unit = by_.factor * by_.factor;
  const value_range lost_squares{lost.low * unit, lost.high * unit};
  if (!(lost_squares.high > 0)) return false;
  const binade_moments& x = p.x;
  const bool all = lost_squares.low >= x.squares_range.low && lost_squares.high >= x.squares_range.high;
  const double middle = std::min(x.squares, (lost_squares.low + lost_squares.high) / 2);
  const double kept = all || x.squares == 0 ? 0 : 1 - middle / x.squares;
  p.noise.products = all ? x.squares : middle;
  p.noise.squares = p.noise.products + kept * p.n * p.u * p.u * model_.square;
  p.noise.least = lost_squares.low;
  p.noise.most = lost_squares.high + (all ? 0 : p.n * p.u * p.u * model_.most);
  if (!all) p.is_modelled();
  return true;
}

void noise_counter::draw_between_zero_and_one_step(binade_part& p) const {
  const double eta = p.u;
  // The mean of x (eta - x), which is greatest half way.
  const auto mean = [&](double v) { return std::max(0.0, v * (eta - v)); };
  const value_range range = over_cells(p.o, table_, [&](const value_range& m) {
    const bool half = m.low <= eta / 2 && m.high >= eta / 2;
    return value_range{std::min(mean(m.low), mean(m.high)), half ? eta * eta / 4 : std::max(mean(m.low), mean(m.high))};
  });
  p.all_alike(std::max(0.0, eta * p.x.magnitudes - p.x.squares), 0, range);
  const value_range slack = slack_of(how_.rounding, how_.format, p.o.exponent, by_, recorded_);
  if (const double most = std::max(-slack.low, slack.high); most > 0) {
    p.is_modelled();
    p.noise.least = std::max(0.0, p.noise.least - p.n * eta * eta * most);
    p.noise.most += p.n * eta * eta * most;
  }
}

// Sum (eta - x)^2: the error of what goes up to one step from zero.
noise_counter::sum_within noise_counter::up_to_one_step(const binade_part& p) const {
  const double eta = p.u;
  const auto square = [](double v) { return v * v; };
  return {std::max(0.0, p.n * eta * eta - 2 * eta * p.x.magnitudes + p.x.squares),
          over_cells(p.o, table_, [&](const value_range& m) {
            return value_range{square(std::max(0.0, eta - m.high)), square(eta - m.low)};
          })};
}

void noise_counter::go_up_to_one_step(binade_part& p) const {
  // All but ties to even, which are as far from zero.
  const cell& first = p.o.cells.front();
  const bool ties = how_.rounding.direction == direction::nearest_even && first.slot == 0;
  const double zeros = ties ? static_cast<double>(first.count) : 0;
  const auto [away, range] = up_to_one_step(p);
  p.all_alike(away, p.x.squares - p.u * (p.x.magnitudes - zeros * p.u / 2), range);
}

void noise_counter::go_either_way(binade_part& p) const {
  const auto [away, range] = up_to_one_step(p);
  p.noise.least = std::min(p.x.squares_range.low, range.low);
  p.noise.most = std::max(p.x.squares_range.high, range.high);
  p.noise.squares = std::clamp((p.x.squares + away) / 2, p.noise.least, p.noise.most);
  p.noise.products = p.x.squares - p.u * p.x.magnitudes / 2;
  p.is_modelled();
}

void noise_counter::round_by_model(binade_part& p) const {
  p.noise.squares = p.n * p.u * p.u * model_.square;
  p.noise.most = p.n * p.u * p.u * model_.most;
  p.noise.products = p.x.magnitudes * p.u * model_.error;
  p.is_modelled();
}

rounding_noise noise_counter::of(const binade& o) const {
  const int k = scaled(o.exponent);
  binade_part p{.o = o, .x = moments_of(o, table_), .n = o.count, .u = mean_spacing(o)};
  p.noise = {.signal = p.x.squares,
             .least_signal = p.x.squares_range.low,
             .exact = p.x.exact && power_,
             .values = static_cast<std::uint64_t>(o.count)};
  p.noise.squares_exact = p.noise.exact;
  if (o.exponent < daz_below_) {
    p.become_zero();
    p.noise.exact = p.noise.squares_exact = p.x.exact;
    return p.noise;
  }
  if (ladder_tells(o.exponent)) return p.noise;
  if (k + (power_ ? 0 : 1) >= how_.format.emax() && leave_out_overflow(p)) return {.overflowing = p.noise.values};
  if (!gradual_ && k <= how_.format.emin() && flush(p)) return p.noise;

  const int below = how_.format.min_quantum_exponent() - k;  // binades under the smallest number
  if (below <= 0)
    round_by_model(p);
  else if (how_.rounding.direction == direction::stochastic && gradual_)
    draw_between_zero_and_one_step(p);
  else if (how_.rounding.direction == direction::toward_zero || (below > 1 && is_nearest(how_.rounding)))
    p.become_zero();
  else if (is_nearest(how_.rounding))
    go_up_to_one_step(p);
  else
    go_either_way(p);
  if (!power_) {
    p.noise.least = 0;
    p.noise.most = std::max(p.x.squares_range.high, 4 * p.noise.most);  // the binade may be the next one
  }
  return p.noise;
}

rounding_noise noise_counter::of(const bucket_values& v) const {
  const outcome_thresholds t = thresholds_of(undrawn(how_), false);
  const double least_normal = std::ldexp(1.0, how_.format.emin()) / multiple_;
  const double smallest = double_from(divided(t.nonzero, by_).at);
  const double largest = double_from(divided(t.overflow, by_).at);
  const double low = v.maybe_zero ? 0 : v.magnitudes.low;
  rounding_noise part{.exact = false, .squares_exact = false, .values = static_cast<std::uint64_t>(v.count)};
  if (v.magnitudes.low > 2 * largest) return {.overflowing = part.values};
  const double high = std::min(v.magnitudes.high, 2 * largest);
  const auto spacing_at = [&](double x) {
    return x > 0 ? spacing(std::ilogb(x * multiple_)) : spacing(how_.format.emin());
  };
  const double widest = spacing_at(high);
  const double flushed = std::max(gradual_ ? 0 : std::min(high, least_normal),
                                  low > 0 && std::ilogb(low) >= daz_below_ ? 0 : std::ldexp(1.0, daz_below_));
  part.most = v.count * std::max(4 * widest * widest * model_.most, flushed * flushed);
  if (high <= smallest) part.most = v.count * high * high;
  part.least_signal = v.magnitudes.high >= largest / 2 ? 0 : v.count * low * low;

  // Binade by binade from the top; what is left far below weighs nothing.
  constexpr int binades_down = 64;
  const double width = high - low;
  double top = high;
  for (int i = 0; i <= binades_down && top > low; ++i) {
    const double foot = i == binades_down ? low : std::max(low, std::ldexp(1.0, std::ilogb(std::nextafter(top, 0.0))));
    const double n = width > 0 ? v.count * (top - foot) / width : v.count;
    const double squares = n * (foot * foot + foot * top + top * top) / 3;
    const bool lost = top <= smallest || (!gradual_ && top <= least_normal) || std::ilogb(top) < daz_below_;
    const double u = spacing_at(foot > 0 ? foot : top / 2);
    part.signal += squares;
    part.squares += lost ? squares : n * u * u * model_.square;
    part.products += lost ? squares : n * (foot + top) / 2 * u * model_.error;
    top = foot;
  }
  if (width == 0) {
    part.signal = v.count * high * high;
    part.squares = std::min(part.signal, v.count * widest * widest * model_.square);
    part.products = part.squares;
  }
  part.squares = std::min(part.squares, part.most);
  return part;
}

rounding_noise noise_of_rounded(const cell_table& table, const treatment& how, multiplier by, dtype recorded) {
  rounding_noise all;
  const noise_counter counter(table, how, by, recorded);
  for_each_binade(table, [&](const binade& o) { all += counter.of(o); });
  for_each_bucket(table, [&](const bucket_values& v) { all += counter.of(v); });
  for (const binade_errors& errors : table.errors)
    if (counter.ladder_tells(errors.exponent)) all += counter.by_ladder(errors);
  return all;
}

// All values become zero: the noise is the signal.
rounding_noise noise_of_lost(const cell_table& table) {
  rounding_noise all;
  const auto add = [&](double squares, const value_range& range, bool exact, double n) {
    all += {.signal = squares,
            .least_signal = range.low,
            .squares = squares,
            .least = range.low,
            .most = range.high,
            .products = squares,
            .exact = exact,
            .squares_exact = exact,
            .values = static_cast<std::uint64_t>(n)};
  };
  for_each_binade(table, [&](const binade& o) {
    const binade_moments x = moments_of(o, table);
    add(x.squares, x.squares_range, x.exact, o.count);
  });
  for_each_bucket(table, [&](const bucket_values& v) {
    const double low = v.maybe_zero ? 0 : v.magnitudes.low;
    const double high = v.magnitudes.high;
    add(v.count * (low * low + low * high + high * high) / 3, {v.count * low * low, v.count * high * high}, false,
        v.count);
  });
  return all;
}

rounding_noise noise_of_overflowing(const cell_table& table) {
  rounding_noise all;
  for_each_binade(table, [&](const binade& o) { all.overflowing += static_cast<std::uint64_t>(o.count); });
  for_each_bucket(table, [&](const bucket_values& v) { all.overflowing += static_cast<std::uint64_t>(v.count); });
  return all;
}

}  // namespace

rounding_noise& rounding_noise::operator+=(const rounding_noise& other) noexcept {
  signal += other.signal;
  least_signal += other.least_signal;
  squares += other.squares;
  least += other.least;
  most += other.most;
  products += other.products;
  exact = exact && other.exact;
  squares_exact = squares_exact && other.squares_exact;
  values += other.values;
  overflowing += other.overflowing;
  return *this;
}

double rounding_noise::mean_square() const noexcept { return squares / static_cast<double>(values); }
double rounding_noise::sqnr() const noexcept {
  if (signal == 0) return not_known;
  return squares == 0 ? no_noise : 10 * std::log10(signal / squares);
}
double rounding_noise::least_sqnr() const noexcept {
  if (signal == 0) return not_known;
  return most == 0 ? no_noise : 10 * std::log10(least_signal / most);
}
double rounding_noise::cosine() const noexcept {
  const double rounded = signal - 2 * products + squares;
  // Sums of up to 2^40 values of like size are not smaller than this, except for what cancels.
  constexpr double nothing = 0x1p-48;
  if (!(signal > 0) || !(rounded > nothing * signal)) return not_known;
  if (squares == 0) return 1;
  return std::min(1.0, (signal - products) / std::sqrt(signal) / std::sqrt(rounded));
}

rounding_noise noise_of(const cell_table& table, const treatment& how, multiplier by, dtype recorded) {
  rounding_noise all = by.usable()     ? noise_of_rounded(table, how, by, recorded)
                       : by.scale == 0 ? noise_of_lost(table)
                                       : noise_of_overflowing(table);
  all.values += table.zeros;
  const double unit = 1 / by.factor;
  for (double* const sum : {&all.signal, &all.least_signal, &all.squares, &all.least, &all.most, &all.products})
    *sum *= unit * unit;
  return all;
}

}  // namespace ulp
