#include "conversion_plan.hpp"

#include <string_view>

#include "plan.hpp"

namespace ulp::detail {
namespace {

template <class Number>
std::string loops_text(const encoder_plan<Number>& plan) {
  std::string text = plan.narrow ? ", lanes of 32 bits" : ", lanes of 64 bits";
  if (plan.quick) text += ", quick";
  if (plan.groups) text += ", in groups";
  if (plan.plain && !plan.quick && !plan.groups) text += ", plain";
  if (plan.results) text += ", to floats";
  if (plan.counting) text += ", counted";
  return text;
}

std::string_view text_of(element_way way) {
  switch (way) {
    case element_way::floats: return "floats";
    case element_way::doubles: return "doubles";
    case element_way::narrowed: return "doubles as floats";
    case element_way::products: return "products";
    case element_way::singly: break;
  }
  return "singly";
}

std::string_view text_of(no_loops why) {
  switch (why) {
    case no_loops::asked_for: return "as asked for";
    case no_loops::elements: return "for the elements";
    case no_loops::factor: return "for the factor";
    case no_loops::treatment:
    case no_loops::is_not_so: break;
  }
  return "for the format or the rounding";
}

}  // namespace

template <class Number>
encoder_plan<Number> plan_encoder(const treatment& how, int power, const format& elements, const exact_factor& factor,
                                  const kernels* loops, bool counting) {
  encoder_plan<Number> plan{.how = how, .power = power, .loops = loops, .counting = counting};
  if (loops == nullptr) return plan;
  const bool may_carry = loops->stochastic != nullptr && !counting;
  if constexpr (sizeof(Number) == 4)
    plan.narrow = plan_encoding<std::uint32_t, Number>(how, power, elements, factor, may_carry);
  if (plan.narrow && plan.narrow->carries && !is_plain(*plan.narrow)) plan.narrow.reset();
  if (plan.narrow) {
    plan.plain = !counting && is_plain(*plan.narrow);
    plan.groups = plan.plain && loops->stochastic != nullptr && how.rounding.direction == direction::stochastic;
    plan.daz_below = static_cast<bits_of<Number>>(plan.narrow->daz_below);
    if (loops->quick != nullptr) plan.quick = plan_quickly(*plan.narrow, how, power, counting);
  } else {
    plan.wide = plan_encoding<std::uint64_t, Number>(how, power, elements, factor, false);
    if (plan.wide) plan.daz_below = static_cast<bits_of<Number>>(plan.wide->daz_below);
  }
  return plan;
}

// Where there are loops for them.
static std::optional<float_results> results_of(const encoder_plan<float>& plan) {
  if (plan.quick && plan.loops->round != nullptr)
    return plan_results(plan.quick->same_grid, plan.how.format, plan.power);
  const bool groups = plan.groups && plan.how.rounding.definition == stochastic_definition::a;
  if (!groups || !plan.loops->stochastic->has_rounds(*plan.narrow)) return {};
  return plan_results(plan.narrow->is_part_of_float(), plan.how.format, plan.power);
}

template encoder_plan<float> plan_encoder<float>(const treatment&, int, const format&, const exact_factor&,
                                                 const kernels*, bool);
template encoder_plan<double> plan_encoder<double>(const treatment&, int, const format&, const exact_factor&,
                                                   const kernels*, bool);

conversion_plan plan_conversion(const format& to, const conversion& how, const element_source& from,
                                const kernels* loops, bool counting, bool to_floats) {
  const treatment as{to, how.rounding};
  conversion_plan plan{.factor = factor_of(how.scale)};
  const exact_factor one;
  if (plan.factor.is_power_of_two()) {
    const int power = plan.factor.exponent;
    const auto floats = [&] { return plan_encoder<float>(as, power, from.own, one, loops, counting); };
    if (from.as_floats) {
      plan.of_floats = floats();
      plan.way = element_way::floats;
      if (to_floats && !counting) plan.of_floats.results = results_of(plan.of_floats);
      if (plan.of_floats.usable()) return plan;
    }
    if (from.as_doubles) {
      plan.of_doubles = plan_encoder<double>(as, power, from.own, one, loops, counting);
      plan.way = element_way::doubles;
      if (loops != nullptr && may_narrow(as, power)) {
        plan.of_floats = floats();
        if (plan.of_floats.usable()) plan.way = element_way::narrowed;
      }
      if (plan.of_doubles.usable()) return plan;
    }
  }
  if (plan.factor.is_float() && from.as_floats) {
    plan.of_doubles = plan_encoder<double>(as, 0, from.own, plan.factor, loops, counting);
    plan.way = element_way::products;
    if (plan.of_doubles.usable()) return plan;
  }
  plan.way = element_way::singly;
  const bool factor_fits = plan.factor.is_power_of_two() || (plan.factor.is_float() && from.as_floats);
  plan.why = loops == nullptr                      ? no_loops::asked_for
             : !from.as_floats && !from.as_doubles ? no_loops::elements
             : !factor_fits                        ? no_loops::factor
                                                   : no_loops::treatment;
  return plan;
}

std::string_view conversion_plan::level() const noexcept {
  switch (way) {
    case element_way::floats: return of_floats.loops->name;
    case element_way::doubles:
    case element_way::narrowed:
    case element_way::products: return of_doubles.loops->name;
    case element_way::singly: break;
  }
  return "codec";
}

std::string to_string(const conversion_plan& plan) {
  std::string text{plan.level()};
  text.append(": ").append(text_of(plan.way));
  switch (plan.way) {
    case element_way::floats:
    case element_way::narrowed: return text + loops_text(plan.of_floats);
    case element_way::doubles:
    case element_way::products: return text + loops_text(plan.of_doubles);
    case element_way::singly: break;
  }
  return text.append(", ").append(text_of(plan.why));
}

}  // namespace ulp::detail
