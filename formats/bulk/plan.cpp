#include "plan.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>

#include "loops.hpp"

namespace ulp::detail {
namespace {

template <class Number>
constexpr format format_of_numbers = sizeof(Number) == 4 ? binary32 : binary64;

// The magnitude of 2^exponent, infinity's where it is too large, and the smallest one where it is too small.
template <class Number>
bits_of<Number> power_of_two(int exponent) {
  const format& numbers = format_of_numbers<Number>;
  const unpacked x{.kind = number_class::finite, .exponent = exponent, .significand = std::uint64_t{1} << 63};
  return static_cast<bits_of<Number>>(encode(numbers, x, {.direction = direction::toward_positive}).code);
}

// The smallest magnitude of numbers for which is_so(number * 2^power) holds, which it does for all above: infinity where it
// holds for no number.
template <class Number, class Condition>
bits_of<Number> smallest_that(int power, bool negative, Condition is_so) {
  using bits = bits_of<Number>;
  bits low = 0;  // is not so
  bits high = number_layout<bits, Number>::infinity;
  while (high - low > 1) {
    const bits middle = low + (high - low) / 2;
    unpacked x = scaled(decode(format_of_numbers<Number>, middle), power);
    x.negative = negative;
    x.subnormal = false;  // daz is another matter
    (is_so(x) ? high : low) = middle;
  }
  return high;
}

template <class Bits, class Number>
void plan_flushing(encode_plan<Bits>& plan, const treatment& how, int power) {
  if (!how.format.has_subnormals()) {
    plan.below_lowest = Bits{1} << how.format.fraction_bits;
    plan.zero_below.fill(power_of_two<Number>(how.format.emin() - power));
    return;
  }
  switch (how.rounding.flush) {
    case flush::never: break;
    case flush::before_rounding: plan.zero_below.fill(power_of_two<Number>(how.format.emin() - power)); break;
    case flush::after_rounding:
      for (const bool negative : {false, true})
        plan.zero_below[negative ? 1 : 0] = smallest_that<Number>(power, negative, [&](const unpacked& x) {
          // Where NaN has the code that would be -0, there is none.
          const std::uint64_t result = encode(how.format, x, how.rounding).code;
          return (how.format.has_negative_zero() ? result & how.format.magnitude_mask() : result) != 0;
        });
      break;
    case flush::result: plan.zero_below_code = static_cast<Bits>(how.format.min_normal_code()); break;
  }
}

}  // namespace

template <class Bits, class Number>
std::optional<encode_plan<Bits>> plan_encoding(const treatment& how, int power, const format& elements,
                                               const exact_factor& factor, bool may_carry) {
  using layout = number_layout<Bits, Number>;
  constexpr int width = 8 * sizeof(Bits);
  const format& numbers = format_of_numbers<Number>;
  const bool stochastic = how.rounding.direction == direction::stochastic;
  if (!how.format.has_sign || !how.format.has_zero() || how.format.fraction_bits >= numbers.fraction_bits ||
      how.format.width() > 32)
    return {};
  if (stochastic && (how.rounding.random_bits == exact_probability || how.rounding.flush == flush::after_rounding))
    return {};

  encode_plan<Bits> plan;
  plan.fraction_bits = how.format.fraction_bits;
  plan.dropped = numbers.fraction_bits - how.format.fraction_bits;
  plan.sign_position = how.format.width() - 1;
  // Of float the codes of infinity are then below 2^31: 2^9 binades, 2^22 codes each.
  constexpr int most_fields = sizeof(Bits) == 4 ? 1 << 8 : 1 << 13;
  const int lowest_field = how.format.emin() - power + numbers.bias;
  if (lowest_field < -most_fields) return {};
  // Beyond that, all bits of all numbers are shifted out.
  plan.lowest_field = std::min(lowest_field, static_cast<int>(numbers.exponent_field_mask()) + 2 * width);

  plan.largest = static_cast<Bits>(how.format.max_finite_code());
  const auto beyond = static_cast<Bits>(how.format.has_infinity() ? how.format.infinity_code() : how.format.nan_code());
  for (const bool negative : {false, true}) {
    const bool finite = how.rounding.overflow != overflow_mode::ieee || !how.format.has_nan() ||
                        points_to_zero(how.rounding.direction, negative);
    plan.limit[negative ? 1 : 0] = finite ? plan.largest : beyond;
  }
  if (stochastic) {
    plan.random_bits = how.rounding.random_bits;
    plan.widening = std::max(0, how.rounding.random_bits - plan.dropped + 1);
    plan.dropped_to_random = plan.dropped - how.rounding.random_bits + plan.widening;
    // Shifts by one less than the width then leave nothing that rounds up.
    if (numbers.fraction_bits + 1 + plan.widening > width - 2) {
      if (!may_carry || how.rounding.definition != stochastic_definition::a) return {};
      plan.carries = true;
    }
  }
  plan_flushing<Bits, Number>(plan, how, power);
  if (how.rounding.daz) {
    const unpacked least = product(decode(elements, elements.min_normal_code()), factor);
    plan.daz_below =
        static_cast<bits_of<Number>>(encode(numbers, least, {.direction = direction::toward_positive}).code);
  }
  plan.min_normal_code = static_cast<Bits>(how.format.min_normal_code());
  plan.zero_sign = how.format.has_negative_zero() ? 1 : 0;
  if (plan.lowest_field < 1) {
    // Subnormal numbers are on a grid coarser than the format's, and zero has no field there.
    plan.left_out_below = layout::implicit - 1;
    for (Bits& below : plan.zero_below) below = std::max(below, Bits{1});
  }
  return plan;
}

template std::optional<encode_plan<std::uint32_t>> plan_encoding<std::uint32_t, float>(const treatment&, int,
                                                                                       const format&,
                                                                                       const exact_factor&, bool);
template std::optional<encode_plan<std::uint64_t>> plan_encoding<std::uint64_t, float>(const treatment&, int,
                                                                                       const format&,
                                                                                       const exact_factor&, bool);
template std::optional<encode_plan<std::uint64_t>> plan_encoding<std::uint64_t, double>(const treatment&, int,
                                                                                        const format&,
                                                                                        const exact_factor&, bool);

std::optional<quick_plan> plan_quickly(const encode_plan<std::uint32_t>& plan, const treatment& how, int power,
                                       bool counting) {
  constexpr int last_field = 254;
  if (how.rounding.direction == direction::stochastic || !is_plain(plan) || plan.dropped < 2) return {};
  const auto field_of = [&](std::uint32_t code) {
    return static_cast<int>(code >> plan.fraction_bits) + plan.lowest_field - 1;
  };
  const int largest_field = field_of(std::max(plan.limit[0], plan.limit[1]));
  quick_plan quick;
  quick.same_grid = plan.is_part_of_float();
  if (!quick.same_grid && std::max(largest_field, plan.lowest_field) + plan.dropped > last_field) return {};
  quick.dropped = static_cast<std::uint32_t>(plan.dropped);
  quick.sign = std::uint32_t{1} << plan.sign_position;
  quick.lowest_field = static_cast<std::uint32_t>(plan.lowest_field);
  quick.min_normal_code = plan.min_normal_code;
  for (const std::size_t negative : {0u, 1u}) {
    const std::uint32_t limit = plan.limit[negative];
    const auto fraction = limit & static_cast<std::uint32_t>(how.format.fraction_mask());
    quick.limit[negative] = static_cast<std::uint32_t>(field_of(limit)) << 23 | fraction << plan.dropped;
    if (counting)
      quick.overflow[negative] = smallest_that<float>(power, negative != 0, [&](const unpacked& x) {
        return any(encode(how.format, x, how.rounding).flags, status::overflow);
      });
  }
  return quick;
}

std::optional<float_results> plan_results(bool same_grid, const format& to, int power) {
  if (!plan_decoding<std::uint32_t>(to) || std::abs(power) > 126) return {};
  // Multiplied are normal floats alone.
  if (same_grid ? power != 0 : to.min_quantum_exponent() < binary32.emin()) return {};
  const auto magnitude = [&](std::uint64_t code) { return std::bit_cast<std::uint32_t>(to_float(to, code)); };
  const std::uint64_t largest = to.max_finite_code();
  return float_results{power, magnitude(largest), largest == to.magnitude_mask() ? 0 : magnitude(largest + 1)};
}

bool may_narrow(const treatment& how, int power) noexcept {
  // Subnormal doubles, which daz asks for, are not seen any more.
  if (how.rounding.daz ||
      (how.rounding.direction == direction::stochastic && how.rounding.random_bits == exact_probability))
    return false;
  const int looked_at =
      how.format.fraction_bits + (how.rounding.direction == direction::stochastic ? how.rounding.random_bits : 0);
  // What tells results apart lies half way between them, and with after_rounding half way between those: a float with an
  // even last bit, which numbers rounded to odd are on the same side of as before.
  const int spare = how.rounding.flush == flush::after_rounding ? 3 : 2;
  return looked_at + spare <= binary32.fraction_bits &&
         how.format.emin() - power - looked_at - spare >= binary32.min_quantum_exponent();
}

template <class Bits>
std::optional<decode_plan<Bits>> plan_decoding(const format& from) {
  using layout = number_layout<Bits, number_of<Bits>>;
  const format& numbers = format_of_numbers<number_of<Bits>>;
  if (!from.has_sign || !from.has_zero() || from.fraction_bits > numbers.fraction_bits || from.width() > 32) return {};
  const bool same_fields = from.bias == numbers.bias && from.has_subnormals() && from.top == specials::ieee &&
                           from.exponent_bits == numbers.exponent_bits;
  const bool are_normal = from.min_quantum_exponent() >= numbers.emin() && from.last_exponent() <= numbers.emax();
  if (!same_fields && !are_normal) return {};

  decode_plan<Bits> plan;
  plan.dropped = numbers.fraction_bits - from.fraction_bits;
  plan.sign_position = from.width() - 1;
  plan.magnitude_mask = static_cast<Bits>(from.magnitude_mask());
  plan.largest = static_cast<Bits>(from.last_number_code());
  if (!same_fields) {
    plan.min_normal_code = static_cast<Bits>(from.min_normal_code());
    // Fields that wrap around here are added to others, and come back.
    const auto fields = [](int n) { return static_cast<Bits>(n) << layout::fraction_bits; };
    plan.normal_offset = fields(numbers.bias - from.bias);
    plan.subnormal_offset = fields(from.min_quantum_exponent());
  }
  const Bits quiet_nan = static_cast<Bits>(numbers.nan_code());
  if (from.top == specials::ieee)
    plan.payload_mask = layout::implicit - 1;
  else if (!from.has_infinity())
    plan.plain_nan = quiet_nan;
  if (from.nan_is_negative_zero()) plan.negative_zero = quiet_nan;
  return plan;
}

template std::optional<decode_plan<std::uint32_t>> plan_decoding<std::uint32_t>(const format&);
template std::optional<decode_plan<std::uint64_t>> plan_decoding<std::uint64_t>(const format&);

}  // namespace ulp::detail
