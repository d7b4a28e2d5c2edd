#include <ulp/model/noise.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

#include "octaves.hpp"
#include "ramps.hpp"

namespace ulp {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// Mean and greatest squared error of values spread evenly between neighbours one spacing apart, in squared spacings.
struct error_model {
  double mean;
  double most;
};
error_model model_of(const rounding& mode) {
  switch (mode.direction) {
    case direction::nearest_even:
    case direction::nearest_away: return {1.0 / 12, 0.25};
    case direction::stochastic: return {1.0 / 6, 1};
    case direction::toward_zero:
    case direction::toward_positive:
    case direction::toward_negative:
    case direction::to_odd: break;
  }
  return {1.0 / 3, 1};
}

bool is_nearest(const rounding& mode) {
  return mode.direction == direction::nearest_even || mode.direction == direction::nearest_away;
}

// Sums over the octave: exact where the table has them, else from its cells.
struct sums {
  double magnitudes = 0;
  double squares = 0;
};
sums sums_of(const octave& o, const cell_table& table) {
  if (o.sums != nullptr) {
    const octave_total total = total_of(o, false);
    return {total.sum.low, total.squares.low};
  }
  sums all;
  for (const cell& c : o.cells) {
    const value_range x = magnitudes_of(c, table);
    const auto n = static_cast<double>(c.count);
    all.magnitudes += n * (x.low + x.high) / 2;
    all.squares += n * (x.low * x.low + x.low * x.high + x.high * x.high) / 3;
  }
  return all;
}

}  // namespace

rounding_noise& rounding_noise::operator+=(const rounding_noise& other) noexcept {
  signal += other.signal;
  squares += other.squares;
  least += other.least;
  most += other.most;
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

rounding_noise noise_of(const cell_table& table, const format& to, const rounding& mode, multiplier by) {
  rounding_noise all;
  all.values = table.zeros;
  if (!(by.scale > 0) || !std::isfinite(by.scale)) {
    for_each_octave(table, [&](const octave& o) {
      const double squares = sums_of(o, table).squares;
      if (by.scale == 0)
        all += {.signal = squares,
                .squares = squares,
                .least = squares,
                .most = squares,
                .values = static_cast<std::uint64_t>(o.count)};
      else
        all.overflowing += static_cast<std::uint64_t>(o.count);
    });
    return all;
  }
  const error_model model = model_of(mode);
  const double m = by.scale / by.factor;
  const bool power = is_power_of_two(by.scale) && is_power_of_two(by.factor);
  const double unscale = 1 / (m * by.factor);  // from scaled values to true ones: 1 / scale
  const int spacing_exponent = to.min_subnormal_exponent();
  const bool gradual = to.has_subnormals() && mode.flush == flush::never;
  for_each_octave(table, [&](const octave& o) {
    const sums x = sums_of(o, table);
    // Scaled: the octave is [2^k, 2^(k+1)) where the multiplier is a power of two, else about that.
    const double s1 = x.magnitudes * m;
    const double s2 = x.squares * m * m;
    const double n = o.count;
    const int k = o.exponent + static_cast<int>(std::lround(std::log2(m)));
    rounding_noise part{.signal = s2, .values = static_cast<std::uint64_t>(n)};
    if (k > to.emax()) {
      all.overflowing += part.values;
      return;
    }
    const bool flushed = !gradual && k < to.emin();
    const int below = spacing_exponent - k;  // octaves under the smallest number
    const double eta = std::ldexp(1.0, spacing_exponent);
    if (flushed || (below > 0 && !is_nearest(mode) && mode.direction == direction::toward_zero) ||
        (below > 1 && is_nearest(mode))) {
      part.squares = part.least = part.most = s2;  // all become zero
    } else if (below == 1 && is_nearest(mode)) {
      part.squares = part.least = part.most = std::max(0.0, n * eta * eta - 2 * eta * s1 + s2);  // all become eta
    } else if (below > 0 && mode.direction == direction::stochastic) {
      part.squares = part.least = part.most = std::max(0.0, eta * s1 - s2);  // the mean of y (eta - y)
    } else if (below > 0) {
      // Away from zero for some, toward it for others.
      part.squares = std::max(0.0, n * eta * eta - 2 * eta * s1 + s2);
      part.least = std::min(s2, part.squares);
      part.most = std::max(s2, part.squares);
      part.squares = (part.least + part.most) / 2;
    } else {
      const double u = std::ldexp(1.0, std::max(k - to.fraction_bits, spacing_exponent));
      part.squares = n * u * u * model.mean;
      part.most = n * u * u * model.most;
    }
    if (!power) {
      part.least = 0;
      part.most = std::max(s2, 4 * part.most);  // the octave may be the next one
    }
    for (double* const square : {&part.signal, &part.squares, &part.least, &part.most}) *square *= unscale * unscale;
    all += part;
  });
  return all;
}

}  // namespace ulp
