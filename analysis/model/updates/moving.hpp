// The chance that stochastic rounding moves a number by one place.
#ifndef ULP_MODEL_UPDATES_MOVING_HPP
#define ULP_MODEL_UPDATES_MOVING_HPP

#include <cmath>

#include <ulp/formats/rounding.hpp>

namespace ulp {

// x: the update in units of the distance to the neighbour, above 0. `shrinks`: that neighbour is the one nearer to zero, so
// that the number stays where the sum is rounded up. All scalings are by powers of two, so the result is exact.
[[nodiscard]] inline double chance_to_move(double x, bool shrinks, const rounding& mode) noexcept {
  if (x >= 1) return 1;
  if (mode.random_bits == exact_probability) return x;
  const double y = std::ldexp(x, mode.random_bits);
  const auto of_steps = [&](double steps) { return std::ldexp(steps, -mode.random_bits); };
  switch (mode.definition) {
    case stochastic_definition::a: return of_steps(shrinks ? std::ceil(y) : std::floor(y));
    case stochastic_definition::b: {
      // y + 1/2 may not be a double; its floor is.
      const double whole = std::floor(y);
      const double rest = y - whole;
      return of_steps(whole + ((shrinks ? rest > 0.5 : rest >= 0.5) ? 1 : 0));
    }
    case stochastic_definition::c: break;
  }
  const double whole = std::floor(y);
  const double rest = y - whole;
  const bool odd = std::fmod(whole, 2) != 0;
  return of_steps(whole + ((rest > 0.5 || (rest == 0.5 && odd)) ? 1 : 0));
}

}  // namespace ulp

#endif
