#include "arithmetic_plan.hpp"

#include <bit>

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
         a.emax() + b.emax() + 1 <= lanes.emax();
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

std::optional<field_layout> plan_fields(const format& from) {
  const int highest = static_cast<int>(from.exponent_field_mask()) + binary32.bias - from.bias;
  if (from.width() != 16 || !from.has_sign || !from.has_subnormals() || from.top != specials::ieee) return {};
  if (from.bias >= binary32.bias || highest > static_cast<int>(binary32.exponent_field_mask()) - 1) return {};
  const int dropped = binary32.fraction_bits - from.fraction_bits;
  return field_layout{
      .dropped = static_cast<std::uint32_t>(dropped),
      .magnitude = static_cast<std::uint32_t>(from.magnitude_mask() << dropped),
      .offset = static_cast<std::uint32_t>(binary32.bias - from.bias) << binary32.fraction_bits,
      .smallest = std::bit_cast<std::uint32_t>(to_float(from, from.min_normal_code())),
      .infinity_code = static_cast<std::uint32_t>(from.infinity_code() << dropped),
  };
}

}  // namespace ulp::detail
