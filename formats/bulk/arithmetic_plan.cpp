#include "arithmetic_plan.hpp"

#include <ulp/formats/codec.hpp>

namespace ulp::detail {
namespace {

// Whether numbers of `lanes` rounded to odd have, at every number and midpoint of `to` and wherever a rounding changes its
// mind, at least one bit more, which is zero there.
bool rounds_from(const format& lanes, const format& to, const rounding& mode) {
  int more = 3;  // a flush after rounding looks at half a unit of the binade below the normal numbers
  if (mode.direction == direction::stochastic) {
    if (mode.random_bits == exact_probability) return false;
    more += mode.random_bits;
  }
  return lanes.precision() - to.precision() >= more &&
         to.min_quantum_exponent() - lanes.min_quantum_exponent() >= more && to.emax() <= lanes.emax();
}

bool has_exact_products(const format& lanes, const format& a, const format& b) {
  return a.min_quantum_exponent() + b.min_quantum_exponent() >= lanes.min_quantum_exponent() &&
         a.last_exponent() + b.last_exponent() + 1 <= lanes.emax();
}

}  // namespace

std::optional<lane_operation> plan_operation(const format& lanes, operation op, const format& to,
                                             std::span<const format> operands, const rounding& mode) {
  if (!rounds_from(lanes, to, mode)) return {};
  switch (op) {
    case operation::add:
    case operation::sub: return lane_operation::sum;
    case operation::div: return lane_operation::quotient;
    case operation::sqrt: return lane_operation::root;
    default: break;
  }
  const bool in_precision = operands[0].precision() + operands[1].precision() <= lanes.precision();
  const bool exact = in_precision && has_exact_products(lanes, operands[0], operands[1]);
  if (op == operation::mul) return exact ? lane_operation::exact_product : lane_operation::product;
  if (!in_precision) return {};
  return exact ? lane_operation::exact_fma : lane_operation::ranged_fma;
}

std::optional<lane_operation> plan_native_operation(operation op, const format& to, const rounding& mode) {
  const bool rounds_so = mode.direction != direction::nearest_away && mode.direction != direction::to_odd &&
                         mode.direction != direction::stochastic;
  // What overflows is infinite or the largest number; the former is looked at again.
  if (to != binary32 || !rounds_so || mode.flush != flush::never) return {};
  switch (op) {
    case operation::add:
    case operation::sub: return lane_operation::sum;
    case operation::mul: return lane_operation::product;
    case operation::div: return lane_operation::quotient;
    case operation::sqrt: return lane_operation::root;
    default: return lane_operation::exact_fma;
  }
}

std::optional<code_grid> plan_grid(const format& in, const rounding& mode) {
  if (in.width() != 16 || !in.has_sign || !in.has_subnormals() || in.top != specials::ieee) return {};
  if (in.withheld != 0) return {};  // what is beyond the largest is the next code
  if (in.exponent_bits > binary32.exponent_bits || in.bias < 1 || in.bias > binary32.bias) return {};
  if (mode.direction == direction::stochastic || mode.flush != flush::never || mode.daz) return {};
  code_grid grid;
  grid.dropped = static_cast<std::uint32_t>(binary32.fraction_bits - in.fraction_bits);
  grid.scale = static_cast<std::uint32_t>(binary32.bias - in.bias);
  grid.infinity_code = static_cast<std::uint32_t>(in.infinity_code());
  for (const bool negative : {false, true}) {
    const bool finite = mode.overflow != overflow_mode::ieee || points_to_zero(mode.direction, negative);
    grid.limit[negative ? 1 : 0] = grid.infinity_code - (finite ? 1 : 0);
  }
  return grid;
}

}  // namespace ulp::detail
