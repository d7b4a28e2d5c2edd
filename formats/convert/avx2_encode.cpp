// Rounding by one addition of floats. A number c of binade 2^e, or below the lowest binade and taken to be in it, is rounded
// to multiples of 2^(e - M) by adding 2^(e + d), d = 23 - M: the last bit of the sum is 2^(e - M). The bits of the sum less
// those of 2^(e + d) are the rounded significand. How it rounds is the control register's business, which is set before the
// loop. Where the format's exponents are float's, integers do the same; float16 has an instruction.
#include "avx2.hpp"

#if defined(__x86_64__)
#include <utility>

namespace ulp::detail {
namespace {

// How a code is got. In pairs: the upper 16 bits of a sum are its exponent field times 2^7, the lower ones the rounded
// significand, which has at most 14 bits, and one multiplication of pairs of 16 bits puts both where they are in a code;
// those of fewer fraction bits than 7 in one times 2^finer, of which packing makes codes.
enum class grid : std::uint8_t { of_float, in_pairs, other };

// nearest_away rounds toward zero with one bit more, and then that to the next.
constexpr int more_bits(direction way) { return way == direction::nearest_away ? 1 : 0; }

struct vectors {
  __m256i magnitude, infinity, limit, limit_of_negative, lowest, power, offset, offset_and_sign, one, min_normal,
      overflow, overflow_of_negative, half, pairs, last;
  __m128i dropped, finer;
};

template <direction Way, grid Grid>
ULP_AVX2_INLINE vectors vectors_of(const quick_plan& plan, bool signed_sums) {
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
    v.dropped = _mm_cvtsi32_si128(shift + more);
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
    v.dropped = _mm_cvtsi32_si128(static_cast<int>(plan.dropped));
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
  v.finer = _mm_cvtsi32_si128(finer);
  return v;
}

struct rounded_lanes {
  __m256i magnitude;  // of the numbers
  __m256i code;       // without sign, less `offset`
  __m256i inexact;    // a mask, where it is asked for
};

constexpr bool by_sign_of_number(direction way) {
  return way == direction::toward_positive || way == direction::toward_negative;
}
template <grid Grid, bool Counting>
inline constexpr bool keeps_no_sign = Grid != grid::in_pairs || Counting;

// The code of a sum, less `offset`. `sum` has its sign only where nothing is counted.
template <direction Way, grid Grid>
ULP_AVX2_INLINE __m256i code_of_sum(const vectors& v, __m256i sum, __m256i binade) {
  if constexpr (Grid == grid::in_pairs) {
    const __m256i code = _mm256_madd_epi16(sum, v.pairs);
    if constexpr (Way == direction::nearest_away) return _mm256_srl_epi32(_mm256_add_epi32(code, v.last), v.dropped);
    return code;
  }
  __m256i kept = _mm256_sub_epi32(sum, binade);
  if constexpr (Way == direction::nearest_away) kept = _mm256_srli_epi32(_mm256_add_epi32(kept, v.one), 1);
  return _mm256_add_epi32(kept, _mm256_srl_epi32(binade, v.dropped));
}

template <direction Way, grid Grid, bool Counting>
ULP_AVX2_INLINE rounded_lanes round_by_adding(const vectors& v, __m256i x) {
  rounded_lanes r;
  r.magnitude = _mm256_and_si256(x, v.magnitude);
  const __m256i limit = by_sign_of_number(Way) ? by_sign(v.limit, v.limit_of_negative, x) : v.limit;
  const __m256i limited = _mm256_min_epu32(r.magnitude, limit);
  const __m256i binade = _mm256_and_si256(_mm256_max_epu32(limited, v.lowest), v.infinity);
  const __m256i power = _mm256_add_epi32(binade, v.power);
  __m256i sum;
  __m256i is_exact{};
  if constexpr (by_sign_of_number(Way)) {
    const __m256i sign = _mm256_andnot_si256(v.magnitude, x);
    const __m256 signed_power = as_float(_mm256_or_si256(power, sign));
    const __m256 signed_sum = _mm256_add_ps(as_float(_mm256_or_si256(limited, sign)), signed_power);
    sum = as_bits(signed_sum);
    if constexpr (keeps_no_sign<Grid, Counting>) sum = _mm256_xor_si256(sum, sign);
    if constexpr (Counting)
      is_exact = as_bits(_mm256_cmp_ps(_mm256_sub_ps(signed_sum, signed_power), as_float(x), _CMP_EQ_OQ));
  } else {
    const __m256 float_sum = _mm256_add_ps(as_float(limited), as_float(power));
    sum = as_bits(float_sum);
    if constexpr (Counting && Way != direction::nearest_away)
      is_exact = _mm256_cmpeq_epi32(as_bits(_mm256_sub_ps(float_sum, as_float(power))), r.magnitude);
  }
  r.code = code_of_sum<Way, Grid>(v, sum, binade);
  if constexpr (Way == direction::nearest_away && Counting) {
    // The bit more is in the sum; what else is lost is what subtracting shows.
    const __m256i back = as_bits(_mm256_sub_ps(as_float(sum), as_float(power)));
    is_exact = _mm256_andnot_si256(_mm256_cmpeq_epi32(_mm256_and_si256(sum, v.one), v.one),
                                   _mm256_cmpeq_epi32(back, r.magnitude));
  }
  if constexpr (Way == direction::to_odd) {
    // The largest number stays what it is.
    const __m256i back = as_bits(_mm256_sub_ps(as_float(sum), as_float(power)));
    r.code = _mm256_or_si256(r.code, _mm256_andnot_si256(_mm256_cmpeq_epi32(back, limited), v.last));
  }
  if constexpr (Counting) r.inexact = _mm256_andnot_si256(is_exact, all_of(~0u));
  return r;
}

// On float's own grid, by integers.
template <direction Way, bool Counting>
ULP_AVX2_INLINE rounded_lanes round_by_shifting(const vectors& v, __m256i x) {
  rounded_lanes r;
  r.magnitude = _mm256_and_si256(x, v.magnitude);
  const __m256i limit = by_sign_of_number(Way) ? by_sign(v.limit, v.limit_of_negative, x) : v.limit;
  const __m256i limited = _mm256_min_epu32(r.magnitude, limit);
  const __m256i below = _mm256_add_epi32(v.half, _mm256_sub_epi32(v.half, v.one));  // all discarded bits: 2 half - 1
  __m256i sum = limited;
  if constexpr (Way == direction::nearest_even)
    sum = _mm256_add_epi32(_mm256_add_epi32(limited, v.half),
                           _mm256_and_si256(_mm256_srl_epi32(limited, v.dropped), v.one));
  else if constexpr (Way == direction::nearest_away)
    sum = _mm256_add_epi32(limited, v.half);
  else if constexpr (Way == direction::toward_positive)
    sum = _mm256_add_epi32(limited, by_sign(below, _mm256_setzero_si256(), x));
  else if constexpr (Way == direction::toward_negative)
    sum = _mm256_add_epi32(limited, by_sign(_mm256_setzero_si256(), below, x));
  r.code = _mm256_srl_epi32(sum, v.dropped);
  if constexpr (Way == direction::to_odd) {
    const __m256i exact = _mm256_cmpeq_epi32(_mm256_and_si256(limited, below), _mm256_setzero_si256());
    r.code = _mm256_or_si256(r.code, _mm256_andnot_si256(exact, v.one));
  }
  if constexpr (Counting)
    r.inexact = _mm256_xor_si256(_mm256_cmpeq_epi32(_mm256_sll_epi32(r.code, v.dropped), r.magnitude), all_of(~0u));
  return r;
}

// What is counted, in each lane: masks are -1.
struct lane_counts {
  __m256i zeros{}, no_code{}, below_normal{}, inexact{}, overflowed{};
};

template <direction Way, grid Grid, bool Counting>
struct code_lane {
  vectors v;
  __m256i largest{};
  lane_counts counts{};

  ULP_AVX2_INLINE __m256i operator()(__m256i x, std::size_t) {
    const rounded_lanes r =
        Grid == grid::of_float ? round_by_shifting<Way, Counting>(v, x) : round_by_adding<Way, Grid, Counting>(v, x);
    largest = _mm256_max_epu32(largest, r.magnitude);
    if constexpr (Counting) {
      const __m256i zero = _mm256_setzero_si256();
      const __m256i code = _mm256_add_epi32(r.code, v.offset);
      const __m256i overflow = by_sign_of_number(Way) ? by_sign(v.overflow, v.overflow_of_negative, x) : v.overflow;
      counts.zeros = _mm256_add_epi32(counts.zeros, _mm256_cmpeq_epi32(r.magnitude, zero));
      counts.no_code = _mm256_add_epi32(counts.no_code, _mm256_cmpeq_epi32(code, zero));
      counts.below_normal = _mm256_add_epi32(counts.below_normal, _mm256_cmpgt_epi32(v.min_normal, code));
      // Of numbers beyond the largest, the first keeps all its bits.
      const __m256i over = _mm256_cmpgt_epi32(r.magnitude, overflow);
      counts.inexact = _mm256_add_epi32(counts.inexact, _mm256_or_si256(r.inexact, over));
      counts.overflowed = _mm256_add_epi32(counts.overflowed, over);
    }
    return _mm256_add_epi32(r.code, by_sign(v.offset, v.offset_and_sign, x));
  }
  [[nodiscard]] ULP_AVX2_INLINE __m128i finer() const { return v.finer; }
};

ULP_AVX2_INLINE std::uint64_t count_of(__m256i lanes) {
  alignas(32) std::array<std::int32_t, 8> n;
  _mm256_store_si256(reinterpret_cast<__m256i*>(n.data()), lanes);
  std::int64_t sum = 0;
  for (const std::int32_t one : n) sum -= one;
  return static_cast<std::uint64_t>(sum);
}

// A function of its own, so that compilers, which know nothing of the control register, move nothing across its change.
template <direction Way, grid Grid, bool Counting, class Code>
ULP_AVX2 [[gnu::noinline]] bool encode_lanes(const quick_plan& plan, const float* numbers, Code* codes,
                                             std::size_t size, bool streams, conversion_counts* counts) {
  constexpr bool signed_sums = by_sign_of_number(Way) && !keeps_no_sign<Grid, Counting>;
  code_lane<Way, Grid, Counting> lane{vectors_of<Way, Grid>(plan, signed_sums)};
  const std::size_t zeros_behind = put_all(numbers, codes, size, streams, lane);
  const __m256i beyond = _mm256_cmpgt_epi32(lane.largest, _mm256_sub_epi32(lane.v.infinity, lane.v.one));
  if (_mm256_movemask_epi8(beyond) != 0) return true;
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
  __m256i magnitude;
  __m256i largest{};

  ULP_AVX2_INLINE __m128i eight(__m256i x) {
    largest = _mm256_max_epu32(largest, _mm256_and_si256(x, magnitude));
    return _mm256_cvtps_ph(as_float(x), control);
  }
};
template <class Code, direction Way>
ULP_AVX2_INLINE __m256i vector_of_codes(const float* numbers, std::size_t, half_lanes<Way>& lanes) {
  const __m128i low = lanes.eight(load(numbers));
  return _mm256_set_m128i(lanes.eight(load(numbers + 8)), low);
}
template <direction Way>
ULP_AVX2 [[gnu::noinline]] bool encode_halves(const float* numbers, std::uint16_t* codes, std::size_t size,
                                              bool streams) {
  half_lanes<Way> lanes{all_of(0x7FFFFFFF)};
  put_all(numbers, codes, size, streams, lanes);
  return _mm256_movemask_epi8(_mm256_cmpgt_epi32(lanes.largest, all_of(0x7F7FFFFF))) != 0;
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

}  // namespace

extern const all_quick_loops avx2_loops{loops<std::uint8_t>, loops<std::uint16_t>, loops<std::uint32_t>};

}  // namespace ulp::detail
#endif
