// Rounding by one addition of floats. A number c of binade 2^e, or below the lowest binade and taken to be in it, is rounded
// to multiples of 2^(e - M) by adding 2^(e + d), d = 23 - M: the last bit of the sum is 2^(e - M). The bits of the sum less
// those of 2^(e + d) are the rounded significand. How it rounds is the control register's business, which is set before the
// loop. Where the format's exponents are float's, integers do the same; float16 has an instruction.
// Included after avx2.hpp or avx512.hpp.
#ifndef ULP_FORMATS_BULK_ENCODE_VECTORS_HPP
#define ULP_FORMATS_BULK_ENCODE_VECTORS_HPP

#include "put_vectors.hpp"

#if defined(ULP_VECTORS)
#include <array>
#include <utility>

namespace ulp::detail::ULP_VECTORS {
namespace {

// How a code is got. In pairs: the upper 16 bits of a sum are its exponent field times 2^7, the lower ones the rounded
// significand, which has at most 14 bits, and one multiplication of pairs of 16 bits puts both where they are in a code;
// those of fewer fraction bits than 7 in one times 2^finer, of which packing makes codes.
enum class grid : std::uint8_t { of_float, in_pairs, other };

// nearest_away rounds toward zero with one bit more, and then that to the next.
constexpr int more_bits(direction way) { return way == direction::nearest_away ? 1 : 0; }

struct vectors {
  vector magnitude, infinity, limit, limit_of_negative, lowest, power, offset, offset_and_sign, one, min_normal,
      overflow, overflow_of_negative, half, pairs, last;
  shift_count dropped, finer;
};

template <direction Way, grid Grid>
ULP_VECTOR_INLINE vectors vectors_of(const quick_plan& plan, bool signed_sums) {
  const int more = more_bits(Way);
  const int fraction_bits = 23 - static_cast<int>(plan.dropped);
  const std::uint32_t power_field = plan.dropped - static_cast<std::uint32_t>(more);
  int finer = 0;
  std::uint32_t offset = 0;
  vectors v;
  v.power = all_of(power_field << 23);
  if constexpr (Grid == grid::in_pairs) {
    const int shift = std::max(0, 7 - fraction_bits - more);
    const auto field_in_pair = std::uint32_t{1} << (fraction_bits + more + shift - 7);
    v.pairs = all_of(field_in_pair << 16 | std::uint32_t{1} << shift);
    v.last = all_of(std::uint32_t{1} << shift);
    v.dropped = shift_by(shift + more);
    if constexpr (Way != direction::nearest_away) finer = shift;
    offset = 0 - ((plan.lowest_field + power_field) << (fraction_bits + finer));
    // The upper part of a negative sum is taken for a negative number.
    const std::uint32_t sign = (plan.sign << finer) + (signed_sums ? field_in_pair << 15 : 0);
    v.offset_and_sign = all_of(offset + sign);
  } else {
    if constexpr (Grid == grid::other)
      offset = 0 - (power_field << (23 - more)) - ((plan.lowest_field << 23) >> plan.dropped);
    v.offset_and_sign = all_of(offset + plan.sign);
    v.last = all_of(1);
    v.dropped = shift_by(static_cast<int>(plan.dropped));
  }
  v.offset = all_of(offset);
  v.magnitude = all_of(0x7FFFFFFF);
  v.infinity = all_of(0x7F800000);
  v.limit = all_of(plan.limit[0]);
  v.limit_of_negative = all_of(plan.limit[1]);
  v.lowest = all_of(plan.lowest_field << 23);
  v.one = all_of(1);
  v.min_normal = all_of(plan.min_normal_code << finer);
  v.overflow = all_of(plan.overflow[0] - 1);
  v.overflow_of_negative = all_of(plan.overflow[1] - 1);
  v.half = all_of((std::uint32_t{1} << (plan.dropped - 1)) - (Way == direction::nearest_even ? 1 : 0));
  v.finer = shift_by(finer);
  return v;
}

struct rounded_lanes {
  vector magnitude;  // of the numbers
  vector code;       // without sign, less `offset`
  mask inexact;      // where it is asked for
};

constexpr bool by_sign_of_number(direction way) {
  return way == direction::toward_positive || way == direction::toward_negative;
}
template <grid Grid, bool Counting>
inline constexpr bool keeps_no_sign = Grid != grid::in_pairs || Counting;

// The code of a sum, less `offset`. `sum` has its sign only where nothing is counted.
template <direction Way, grid Grid>
ULP_VECTOR_INLINE vector code_of_sum(const vectors& v, vector sum, vector binade) {
  if constexpr (Grid == grid::in_pairs) {
    const vector code = product_of_pairs(sum, v.pairs);
    if constexpr (Way == direction::nearest_away) return shifted_right(add(code, v.last), v.dropped);
    return code;
  }
  vector kept = sub(sum, binade);
  if constexpr (Way == direction::nearest_away) kept = shifted_right<1>(add(kept, v.one));
  return add(kept, shifted_right(binade, v.dropped));
}

template <direction Way, grid Grid, bool Counting>
ULP_VECTOR_INLINE rounded_lanes round_by_adding(const vectors& v, vector x) {
  rounded_lanes r;
  r.magnitude = both(x, v.magnitude);
  const vector limit = by_sign_of_number(Way) ? by_sign(v.limit, v.limit_of_negative, x) : v.limit;
  const vector limited = smaller(r.magnitude, limit);
  const vector binade = both(larger(limited, v.lowest), v.infinity);
  const vector power = add(binade, v.power);
  vector sum;
  mask is_exact{};
  if constexpr (by_sign_of_number(Way)) {
    const vector sign = without(x, v.magnitude);
    const floats signed_power = as_float(either(power, sign));
    const floats signed_sum = add(as_float(either(limited, sign)), signed_power);
    sum = as_bits(signed_sum);
    if constexpr (keeps_no_sign<Grid, Counting>) sum = flipped(sum, sign);
    if constexpr (Counting) is_exact = equal(sub(signed_sum, signed_power), as_float(x));
  } else {
    const floats float_sum = add(as_float(limited), as_float(power));
    sum = as_bits(float_sum);
    if constexpr (Counting && Way != direction::nearest_away)
      is_exact = equal(as_bits(sub(float_sum, as_float(power))), r.magnitude);
  }
  r.code = code_of_sum<Way, Grid>(v, sum, binade);
  if constexpr (Way == direction::nearest_away && Counting) {
    // The bit more is in the sum; what else is lost is what subtracting shows.
    const vector back = as_bits(sub(as_float(sum), as_float(power)));
    is_exact = without(equal(back, r.magnitude), equal(both(sum, v.one), v.one));
  }
  if constexpr (Way == direction::to_odd) {
    // The largest number stays what it is.
    const vector back = as_bits(sub(as_float(sum), as_float(power)));
    r.code = either_unless(equal(back, limited), r.code, v.last);
  }
  if constexpr (Counting) r.inexact = negated(is_exact);
  return r;
}

// On float's own grid, by integers.
template <direction Way, bool Counting>
ULP_VECTOR_INLINE rounded_lanes round_by_shifting(const vectors& v, vector x) {
  rounded_lanes r;
  r.magnitude = both(x, v.magnitude);
  const vector limit = by_sign_of_number(Way) ? by_sign(v.limit, v.limit_of_negative, x) : v.limit;
  const vector limited = smaller(r.magnitude, limit);
  const vector below = add(v.half, sub(v.half, v.one));  // all discarded bits: 2 half - 1
  vector sum = limited;
  if constexpr (Way == direction::nearest_even)
    sum = add(add(limited, v.half), both(shifted_right(limited, v.dropped), v.one));
  else if constexpr (Way == direction::nearest_away)
    sum = add(limited, v.half);
  else if constexpr (Way == direction::toward_positive)
    sum = add(limited, by_sign(below, all_of(0), x));
  else if constexpr (Way == direction::toward_negative)
    sum = add(limited, by_sign(all_of(0), below, x));
  r.code = shifted_right(sum, v.dropped);
  if constexpr (Way == direction::to_odd) {
    const mask exact = equal(both(limited, below), all_of(0));
    r.code = either_unless(exact, r.code, v.one);
  }
  if constexpr (Counting) r.inexact = negated(equal(shifted_left(r.code, v.dropped), r.magnitude));
  return r;
}

// What is counted, in each lane.
struct lane_counts {
  vector zeros{}, no_code{}, below_normal{}, inexact{}, overflowed{};
};

template <direction Way, grid Grid, bool Counting>
struct code_lane {
  vectors v;
  vector largest{};
  lane_counts counts{};

  ULP_VECTOR_INLINE vector operator()(vector x, std::size_t) {
    const rounded_lanes r =
        Grid == grid::of_float ? round_by_shifting<Way, Counting>(v, x) : round_by_adding<Way, Grid, Counting>(v, x);
    largest = larger(largest, r.magnitude);
    if constexpr (Counting) {
      const vector zero = all_of(0);
      const vector code = add(r.code, v.offset);
      const vector overflow = by_sign_of_number(Way) ? by_sign(v.overflow, v.overflow_of_negative, x) : v.overflow;
      counts.zeros = one_more(counts.zeros, equal(r.magnitude, zero));
      counts.no_code = one_more(counts.no_code, equal(code, zero));
      counts.below_normal = one_more(counts.below_normal, above(v.min_normal, code));
      // Of numbers beyond the largest, the first keeps all its bits.
      const mask over = above(r.magnitude, overflow);
      counts.inexact = one_more(counts.inexact, either(r.inexact, over));
      counts.overflowed = one_more(counts.overflowed, over);
    }
    return add(r.code, by_sign(v.offset, v.offset_and_sign, x));
  }
  [[nodiscard]] ULP_VECTOR_INLINE shift_count finer() const { return v.finer; }
};

ULP_VECTOR_INLINE std::uint64_t count_of(vector lanes) {
  std::array<std::uint32_t, lane_count> n;
  store(n.data(), lanes);
  std::uint64_t sum = 0;
  for (const std::uint32_t one : n) sum += one;
  return sum;
}

// A function of its own, so that compilers, which know nothing of the control register, move nothing across its change.
template <direction Way, grid Grid, bool Counting, class Code>
ULP_VECTOR [[gnu::noinline]] bool encode_lanes(const quick_plan& plan, const float* numbers, Code* codes,
                                               std::size_t size, bool streams, conversion_counts* counts) {
  constexpr bool signed_sums = by_sign_of_number(Way) && !keeps_no_sign<Grid, Counting>;
  code_lane<Way, Grid, Counting> lane{vectors_of<Way, Grid>(plan, signed_sums)};
  const std::size_t zeros_behind = put_all(numbers, codes, size, streams, lane);
  if (any(above(lane.largest, sub(lane.v.infinity, lane.v.one)))) return true;
  if constexpr (Counting) {
    const std::uint64_t zeros = count_of(lane.counts.zeros) - zeros_behind;
    const std::uint64_t no_code = count_of(lane.counts.no_code) - zeros_behind;
    counts->zeros += zeros;
    counts->newly_zero += no_code - zeros;
    counts->subnormal += count_of(lane.counts.below_normal) - zeros_behind - no_code;
    counts->inexact += count_of(lane.counts.inexact);
    counts->overflowed += count_of(lane.counts.overflowed);
  }
  return false;
}

// float16 as its instruction has it.
template <direction Way>
struct half_lanes {
  static constexpr int control = Way == direction::nearest_even      ? _MM_FROUND_TO_NEAREST_INT
                                 : Way == direction::toward_negative ? _MM_FROUND_TO_NEG_INF
                                 : Way == direction::toward_positive ? _MM_FROUND_TO_POS_INF
                                                                     : _MM_FROUND_TO_ZERO;
  vector magnitude;
  vector largest{};

  ULP_VECTOR_INLINE vector codes_of(vector a, vector b) {
    largest = larger(larger(largest, both(a, magnitude)), both(b, magnitude));
    return halves<control>(a, b);
  }
};
template <class Code, direction Way>
ULP_VECTOR_INLINE vector vector_of_codes(const float* numbers, std::size_t, half_lanes<Way>& lanes) {
  return lanes.codes_of(load(numbers), load(numbers + lane_count));
}
template <direction Way>
ULP_VECTOR [[gnu::noinline]] bool encode_halves(const float* numbers, std::uint16_t* codes, std::size_t size,
                                                bool streams) {
  half_lanes<Way> lanes{all_of(0x7FFFFFFF)};
  put_all(numbers, codes, size, streams, lanes);
  return any(above(lanes.largest, all_of(0x7F7FFFFF)));
}

// Whether the instruction rounds so, and does with overflow and underflow what the plan says.
template <direction Way>
bool is_half(const quick_plan& plan) {
  constexpr std::uint32_t infinity = (127 + 16) << 23;
  constexpr std::uint32_t largest = infinity - (1 << 13);
  const auto limit_is = [&](int negative) {
    return plan.limit[static_cast<std::size_t>(negative)] == (points_to_zero(Way, negative != 0) ? largest : infinity);
  };
  return Way != direction::nearest_away && Way != direction::to_odd && plan.dropped == 13 && plan.sign == 0x8000 &&
         plan.lowest_field == 127 - 14 && limit_is(0) && limit_is(1);
}

template <direction Way, bool Counting, class Code>
bool encode(const quick_plan& plan, const float* numbers, Code* codes, std::size_t size, bool streams,
            conversion_counts* counts) {
  if (plan.same_grid) return encode_lanes<Way, grid::of_float, Counting>(plan, numbers, codes, size, streams, counts);
  const control_register rounds{Way};
  if constexpr (!Counting && sizeof(Code) == 2)
    if (is_half<Way>(plan)) return encode_halves<Way>(numbers, codes, size, streams);
  // Fewer fraction bits than 7 are what codes of 8 bits have.
  const int fraction_bits = 23 - static_cast<int>(plan.dropped);
  const bool in_pairs = sizeof(Code) == 1 ? fraction_bits < 7 : fraction_bits >= 7 && fraction_bits <= 12;
  const auto loop =
      in_pairs ? encode_lanes<Way, grid::in_pairs, Counting, Code> : encode_lanes<Way, grid::other, Counting, Code>;
  return loop(plan, numbers, codes, size, streams, counts);
}

template <class Code, std::size_t... Way>
constexpr quick_loops<Code> loops_of(std::index_sequence<Way...>) {
  return {{encode<static_cast<direction>(Way), false, Code>...}, {encode<static_cast<direction>(Way), true, Code>...}};
}
template <class Code>
constexpr quick_loops<Code> loops = loops_of<Code>(std::make_index_sequence<first_stochastic_way>{});

constexpr all_quick_loops all_loops{loops<std::uint8_t>, loops<std::uint16_t>, loops<std::uint32_t>};

}  // namespace
}  // namespace ulp::detail::ULP_VECTORS

#endif
#endif
