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

// The same to nearest, where what is beyond the largest result becomes infinity or NaN: nothing is limited then. NaN stays a NaN.
template <direction Way, bool OfFloat>
struct nearest_lane {
  vectors v;
  vector last_within;  // the largest number that does not overflow
  vector beyond, kept;
  vector largest{};

  ULP_VECTOR_INLINE vector operator()(vector x, std::size_t) {
    const vector magnitude = both(x, v.magnitude);
    largest = larger(largest, magnitude);
    if constexpr (OfFloat) {  // the sum of bits carries into infinity
      vector sum = add(x, v.half);
      if constexpr (Way == direction::nearest_even) sum = add(sum, both(shifted_right(x, v.dropped), v.one));
      return chosen(both(sum, kept), x, above(magnitude, last_within));
    }
    const vector result = number_by_adding<Way>(v, magnitude, x);
    const mask over = above(magnitude, last_within);
    return either(larger_where(over, result, magnitude, beyond), without(x, v.magnitude));
  }
  [[nodiscard]] ULP_VECTOR_INLINE shift_count finer() const { return v.finer; }
};

constexpr bool is_nearest(direction way) { return way == direction::nearest_even || way == direction::nearest_away; }

// Whether larger numbers become infinity or NaN, and nothing is to be multiplied.
inline bool is_for_nearest(const quick_plan& plan, const float_results& results) {
  return plan.limit[0] > results.largest && results.power == 0;
}

// As encode_lanes, functions of their own.
template <direction Way, bool OfFloat>
ULP_VECTOR [[gnu::noinline]] bool round_nearest(const quick_plan& plan, const float_results& results,
                                                const float* numbers, float* rounded, std::size_t size, bool streams) {
  constexpr grid on = OfFloat ? grid::of_float : grid::other;
  const std::uint32_t ulp = std::uint32_t{1} << plan.dropped;
  const bool tie_overflows = Way == direction::nearest_away || (results.largest & ulp) != 0;
  const std::uint32_t last_within = OfFloat ? 0x7F7FFFFF : results.largest + ulp / 2 - (tie_overflows ? 1 : 0);
  nearest_lane<Way, OfFloat> lane{vectors_of<Way, on>(plan, false), all_of(last_within), all_of(results.beyond),
                                  all_of(0 - ulp)};
  put_all(numbers, reinterpret_cast<std::uint32_t*>(rounded), size, streams, lane);
  return any(above(lane.largest, all_of(0x7F7FFFFF)));
}
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
  bool quickly = false;
  if constexpr (is_nearest(Way)) quickly = is_for_nearest(plan, results);
  if (plan.same_grid) {
    if constexpr (is_nearest(Way))
      if (quickly) return round_nearest<Way, true>(plan, results, numbers, rounded, size, streams);
    return round_lanes<Way, true>(plan, results, numbers, rounded, size, streams);
  }
  const control_register rounds{Way};
  if constexpr (is_nearest(Way))
    if (quickly) return round_nearest<Way, false>(plan, results, numbers, rounded, size, streams);
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
