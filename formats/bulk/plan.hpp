// What kernels are told of a conversion, and which conversions they do.
#ifndef ULP_FORMATS_BULK_PLAN_HPP
#define ULP_FORMATS_BULK_PLAN_HPP

#include <cstddef>
#include <cstdint>
#include <optional>

#include "codec.hpp"
#include "kernels.hpp"

namespace ulp::detail {

// The index of a rounding in the kernels' lists. Not for exact_probability.
[[nodiscard]] constexpr std::size_t way_of(const rounding& mode) noexcept {
  return static_cast<std::size_t>(mode.direction) +
         (mode.direction == direction::stochastic ? static_cast<std::size_t>(mode.definition) : 0);
}

// From numbers, float or double, that are `factor` times the elements to results that are 2^power times the numbers. daz
// asks the elements, which are of their own format. `may_carry`: there are loops for `carries`. nullopt where a lane of `Bits` is too narrow, or no kernel does it.
template <class Bits, class Number>
[[nodiscard]] std::optional<encode_plan<Bits>> plan_encoding(const treatment& how, int power, const format& elements,
                                                             const exact_factor& factor, bool may_carry);

// Whether plain loops do what the plan says: no counts, no flushing, one grid of float's, and no code between the largest and
// what takes the place of larger ones.
template <class Bits>
[[nodiscard]] constexpr bool is_plain(const encode_plan<Bits>& plan) noexcept {
  return plan.below_lowest == 0 && plan.zero_below[0] == 0 && plan.zero_below[1] == 0 && plan.zero_below_code == 0 &&
         plan.daz_below == 0 && plan.zero_sign != 0 && plan.left_out_below == 0 && plan.limit[0] <= plan.largest + 1 &&
         plan.limit[1] <= plan.largest + 1;
}

// The same for quick loops. nullopt where it is not plain, or a number in it would leave float's range.
[[nodiscard]] std::optional<quick_plan> plan_quickly(const encode_plan<std::uint32_t>& plan, const treatment& how,
                                                     int power, bool counting);

// Of loops that give floats in place of codes, whose plan is for float's own grid or not. nullopt where floats do not hold the
// format's numbers.
[[nodiscard]] std::optional<float_results> plan_results(bool same_grid, const format& to, int power);

// Whether rounding doubles to floats, to odd, and those to results that are 2^power times the numbers, gives what
// rounding the doubles gives, and the same counts. Of doubles in float's range.
[[nodiscard]] bool may_narrow(const treatment& how, int power) noexcept;

// To numbers of float or double. nullopt where they do not hold the format's numbers, or no kernel does it.
template <class Bits>
[[nodiscard]] std::optional<decode_plan<Bits>> plan_decoding(const format& from);

}  // namespace ulp::detail

#endif
