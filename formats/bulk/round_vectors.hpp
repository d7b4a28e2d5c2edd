// Floats rounded to floats: a sum of encode_vectors.hpp, less the power that was added, is the result without a code.
// Included after encode_vectors.hpp.
#ifndef ULP_FORMATS_BULK_ROUND_VECTORS_HPP
#define ULP_FORMATS_BULK_ROUND_VECTORS_HPP

#include "encode_vectors.hpp"

#if defined(ULP_VECTORS)

namespace ulp::detail::ULP_VECTORS {
namespace {

// Exact: a multiple of the last bit of the sum, and no larger than twice the number.
template <direction Way>
ULP_VECTOR_INLINE vector number_by_adding(const vectors& v, vector limited, vector x) {
  const vector power = add(both(larger(limited, v.lowest), v.infinity), v.power);
  if constexpr (by_sign_of_number(Way)) {
    const vector sign = without(x, v.magnitude);
    const floats signed_power = as_float(either(power, sign));
    const floats sum = add(as_float(either(limited, sign)), signed_power);
    return both(as_bits(sub(sum, signed_power)), v.magnitude);
  }
  vector sum = as_bits(add(as_float(limited), as_float(power)));
  if constexpr (Way == direction::nearest_away) sum = add(sum, both(sum, v.one));  // the bit more is half of the last
  if constexpr (Way == direction::to_odd)
    sum = either_unless(equal(as_bits(sub(as_float(sum), as_float(power))), limited), sum, v.one);
  return as_bits(sub(as_float(sum), as_float(power)));
}

// The numbers of a vector; infinity and NaN are left as they are.
template <direction Way, bool OfFloat>
struct round_lane {
  vectors v;
  floats scale;
  vector largest_result, beyond, largest_finite;
  vector largest{};

  ULP_VECTOR_INLINE vector operator()(vector x, std::size_t) {
    const vector magnitude = both(x, v.magnitude);
    largest = larger(largest, magnitude);
    vector result;
    if constexpr (OfFloat) {
      result = shifted_left(round_by_shifting<Way, false>(v, x).code, v.dropped);
    } else {
      const vector limit = by_sign_of_number(Way) ? by_sign(v.limit, v.limit_of_negative, x) : v.limit;
      result = as_bits(mul(as_float(number_by_adding<Way>(v, smaller(magnitude, limit), x)), scale));
      result = chosen(result, beyond, above(result, largest_result));
    }
    return chosen(either(result, without(x, v.magnitude)), x, above(magnitude, largest_finite));
  }
  [[nodiscard]] ULP_VECTOR_INLINE shift_count finer() const { return v.finer; }
};

// As encode_lanes, a function of its own.
template <direction Way, bool OfFloat>
ULP_VECTOR [[gnu::noinline]] bool round_lanes(const quick_plan& plan, const float_results& results,
                                              const float* numbers, float* rounded, std::size_t size, bool streams) {
  constexpr grid on = OfFloat ? grid::of_float : grid::other;
  round_lane<Way, OfFloat> lane{vectors_of<Way, on>(plan, false),
                                as_float(all_of(static_cast<std::uint32_t>(127 + results.power) << 23)),
                                all_of(results.largest), all_of(results.beyond), all_of(0x7F7FFFFF)};
  put_all(numbers, reinterpret_cast<std::uint32_t*>(rounded), size, streams, lane);
  return any(above(lane.largest, lane.largest_finite));
}

template <direction Way>
bool round_all(const quick_plan& plan, const float_results& results, const float* numbers, float* rounded,
               std::size_t size, bool streams) {
  if (plan.same_grid) return round_lanes<Way, true>(plan, results, numbers, rounded, size, streams);
  const control_register rounds{Way};
  return round_lanes<Way, false>(plan, results, numbers, rounded, size, streams);
}

template <std::size_t... Way>
constexpr round_loops round_loops_of(std::index_sequence<Way...>) {
  return {round_all<static_cast<direction>(Way)>...};
}
constexpr round_loops all_round_loops = round_loops_of(std::make_index_sequence<first_stochastic_way>{});

}  // namespace
}  // namespace ulp::detail::ULP_VECTORS

#endif
#endif
