// Conversions in the terms of the fast kernels, for the host that launches them. What has no plan is done by the codec itself, whose
// kernel is in convert.cu.
#ifndef ULP_DEVICE_PLANS_HPP
#define ULP_DEVICE_PLANS_HPP

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <ulp/formats/codec.hpp>
#include <ulp/formats/convert.hpp>

#include "rounding.hpp"

namespace ulp::device {

struct quick_rounding {
  direction way;
  int lane_width;  // of random bits, 8, 16 or 32
  bool in_bits;    // else by sums
  rounding_plan plan;

  // Of the kernel in quantize.cu.
  [[nodiscard]] std::string name() const {
    static constexpr const char* ways[] = {"nearest_even",    "nearest_away", "toward_zero", "toward_positive",
                                           "toward_negative", "to_odd",       "stochastic"};
    const std::string lane = way == direction::stochastic ? std::to_string(lane_width) : "";
    return ways[static_cast<int>(way)] + lane + (in_bits ? "_in_bits" : "_by_sums");
  }
};

// The smallest magnitude of a float that does not become zero; those above do not either. Of directions that are not random.
inline std::uint32_t smallest_kept(const format& to, const rounding& how, int power, bool negative) {
  std::uint32_t low = 0;  // becomes zero
  std::uint32_t high = infinity;
  while (high - low > 1) {
    const std::uint32_t middle = low + (high - low) / 2;
    unpacked x = scaled(decode(binary32, middle), power);
    x.negative = negative;
    ((encode(to, x, how).code & to.magnitude_mask()) != 0 ? high : low) = middle;
  }
  return high;
}

// None where the format has no -0 or no subnormal numbers, where it or the scale leaves float32's normal numbers, where the scale is no
// power of two, and for what is seldom asked: the stochastic definition c, b of 32 bits, all bits, and ftz after rounding.
inline std::optional<quick_rounding> plan_rounding(const format& to, const conversion& how) {
  const rounding& mode = how.rounding;
  const bool stochastic = mode.direction == direction::stochastic;
  if (!to.has_negative_zero() || !to.has_subnormals() || to.fraction_bits > 22 || to.width() > 32) return {};
  const unpacked scale = decode(how.scale);
  if (scale.significand != std::uint64_t{1} << 63) return {};
  const int power = scale.exponent;

  quick_rounding made{.way = mode.direction, .lane_width = 0, .in_bits = false, .plan = {}};
  rounding_plan& plan = made.plan;
  plan.dropped = static_cast<std::uint32_t>(float_fraction_bits - to.fraction_bits);
  made.in_bits =
      power == 0 && to.top == specials::ieee && to.exponent_bits == binary32.exponent_bits && to.bias == binary32.bias;
  if (!made.in_bits) {
    // Exponent fields of float32.
    const int lowest = to.emin() - power + binary32.bias;
    const int beyond = to.emax() + 1 - power + binary32.bias;
    const int dropped = static_cast<int>(plan.dropped);
    // Of the unit in the last place; of its reciprocal times 2^32 too.
    const int least_unit = stochastic ? 32 : 1;
    if (lowest - to.fraction_bits < least_unit || beyond + dropped > 254 || beyond < 1) return {};
    if (to.emax() > binary32.emax() || to.min_quantum_exponent() < binary32.min_quantum_exponent()) return {};
    if (power < binary32.emin() || power > binary32.emax()) return {};
    plan.least = static_cast<std::uint32_t>(lowest + dropped) << float_fraction_bits;
    plan.cap = static_cast<std::uint32_t>(beyond) << float_fraction_bits;
    plan.scale = float_of(static_cast<std::uint32_t>(power + binary32.bias) << float_fraction_bits);
  }

  const auto number = [&](std::uint64_t code) { return bits_of(to_float(to, code)); };
  plan.largest = number(to.max_finite_code());
  const auto magnitude_of = [&](std::uint64_t code) { return number(code) & magnitude_bits; };
  for (const bool negative : {false, true}) {
    const unpacked twice_beyond{.kind = number_class::finite,
                                .negative = negative,
                                .exponent = to.emax() + 2,
                                .significand = std::uint64_t{1} << 63};
    plan.beyond[negative ? 1 : 0] = magnitude_of(encode(to, twice_beyond, mode).code);
  }
  plan.infinite = magnitude_of(encode(to, unpacked{.kind = number_class::infinity}, mode).code);
  const auto nan = [&](std::uint32_t bits) { return number(encode(to, decode(binary32, bits)).code); };
  plan.nan_set = nan(infinity | 1);
  plan.nan_kept = nan(0xFFFFFFFF) & ~plan.nan_set;

  if (!stochastic) {
    for (const bool negative : {false, true})
      plan.zero_below[negative ? 1 : 0] = smallest_kept(to, mode, power, negative);
  } else {
    if (mode.flush == flush::after_rounding || mode.random_bits == exact_probability) return {};
    const int extra = mode.definition == stochastic_definition::b ? 1 : 0;
    if (mode.definition == stochastic_definition::c || mode.random_bits + extra > 32) return {};
    const int n = mode.random_bits;
    made.lane_width = n <= 8 ? 8 : n <= 16 ? 16 : 32;
    // b with n bits is a with the n + 1 bits of 2R + 1.
    plan.random_kept = ~std::uint32_t{0} << (32 - n);
    plan.random_set = extra == 0 ? 0 : std::uint32_t{1} << (31 - n);
    plan.seed = how.random.seed;
    plan.stream = how.random.stream;
    plan.first = how.random.first;
    const std::uint32_t least_normal = magnitude_of(to.min_normal_code());
    if (mode.flush == flush::result) plan.zero_result_below = least_normal;
    // Exact, as the plan's other conditions say.
    if (mode.flush == flush::before_rounding) {
      const auto below = static_cast<std::uint32_t>(to.emin() - power + binary32.bias) << float_fraction_bits;
      plan.zero_below[0] = plan.zero_below[1] = below;
    }
  }
  if (mode.daz)
    for (std::uint32_t& below : plan.zero_below) below = std::max(below, std::uint32_t{1} << float_fraction_bits);
  return made;
}

}  // namespace ulp::device

#endif
