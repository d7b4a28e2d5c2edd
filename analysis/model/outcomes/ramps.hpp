// Stochastic rounding as probabilities: of being nonzero, normal, beyond the largest number, as functions of the magnitude.
#ifndef ULP_MODEL_OUTCOMES_RAMPS_HPP
#define ULP_MODEL_OUTCOMES_RAMPS_HPP

#include <algorithm>
#include <cmath>

#include <ulp/formats/codec.hpp>
#include <ulp/model/cells/element_types.hpp>
#include <ulp/model/outcomes/expectation.hpp>

namespace ulp {

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

inline ramps ramps_of(const treatment& how) {
  const double least_normal = std::ldexp(1.0, how.format.emin());
  const double spacing = std::ldexp(1.0, how.format.min_quantum_exponent());
  ramps r;
  r.overflow = {to_double(how.format, how.format.max_finite_code()),
                std::ldexp(1.0, how.format.emax() - how.format.fraction_bits)};
  r.normal = {least_normal - spacing, spacing};
  if (!how.format.has_subnormals()) {
    // The number at the foot of the lowest binade is zero.
    r.nonzero = r.normal = {least_normal, spacing};
    return r;
  }
  switch (how.rounding.flush) {
    case flush::never: r.nonzero = {0, spacing}; return r;
    case flush::before_rounding: r.normal = {least_normal, 0}; break;
    case flush::after_rounding: r.normal = {least_normal - spacing / 2, spacing / 2}; break;
    case flush::result: break;
  }
  r.nonzero = r.normal;
  return r;
}

// p of a step of `width`, cut to the random bits.
inline double cut(double p, const rounding& mode) {
  if (mode.random_bits == exact_probability || p >= 1) return p;
  const double steps = std::ldexp(p, mode.random_bits);
  const double whole = mode.definition == stochastic_definition::a   ? std::floor(steps)
                       : mode.definition == stochastic_definition::b ? std::floor(steps + 0.5)
                                                                     : std::nearbyint(steps);
  return std::ldexp(whole, -mode.random_bits);
}

inline value_range probability(const ramp& r, double low, double high, const rounding& mode) {
  const auto at = [&](double y) { return r.width == 0 ? r(y) : cut(r(y), mode); };
  return {at(low), at(high)};
}

inline bool is_power_of_two(double x) {
  int exponent = 0;
  return std::frexp(x, &exponent) == 0.5;
}

inline int significand_bits(dtype type) {
  const format* const of = properties_of(type).of;
  return (of != nullptr ? of->fraction_bits : binary32.fraction_bits) + 1;
}

// How far the drawn probability of a value of the binade may be from p. None where the random bits are all that y /
// spacing has after the point; with another multiplier than a power of two that is not known.
inline value_range slack_of(const rounding& mode, const format& to, int exponent, multiplier by, dtype recorded) {
  if (mode.random_bits == exact_probability) return {0, 0};
  if (is_power_of_two(by.scale) && is_power_of_two(by.factor)) {
    const int below = to.min_quantum_exponent() - exponent - std::ilogb(by.scale) + std::ilogb(by.factor);
    if (significand_bits(recorded) - 1 + below <= mode.random_bits) return {0, 0};
  }
  const double step = std::ldexp(1.0, -mode.random_bits);
  return mode.definition == stochastic_definition::a ? value_range{-step, 0} : value_range{-step / 2, step / 2};
}

}  // namespace ulp

#endif
