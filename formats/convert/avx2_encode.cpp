// Rounding by one addition of floats. A number c of binade 2^e, or below the lowest binade and taken to be in it, is rounded
// to multiples of 2^(e - M) by adding 2^(e + d), d = 23 - M: the last bit of the sum is 2^(e - M). The bits of the sum less
// those of 2^(e + d) are the rounded significand. How it rounds is the control register's business, which is set before the
// loop. float16's own instruction is asked where it does the same.
#include "avx2.hpp"

#if defined(__x86_64__)
#include <utility>

namespace ulp::detail {
namespace {

struct vectors {
  __m256i magnitude, infinity, limit, limit_of_negative, lowest, power, offset, offset_and_sign, one, min_normal,
      overflow, overflow_of_negative, half;
  __m128i dropped;
};

template <direction Way>
ULP_AVX2_INLINE vectors vectors_of(const quick_plan& plan) {
  // nearest_away rounds toward zero with one bit more, and then that to the next.
  const std::uint32_t more = Way == direction::nearest_away ? 1 : 0;
  const std::uint32_t power = (plan.dropped - more) << 23;
  vectors v;
  v.magnitude = all_of(0x7FFFFFFF);
  v.infinity = all_of(0x7F800000);
  v.limit = all_of(plan.limit[0]);
  v.limit_of_negative = all_of(plan.limit[1]);
  v.lowest = all_of(plan.lowest_field << 23);
  v.power = all_of(power);
  const std::uint32_t offset = plan.same_grid ? 0 : 0 - (power >> more) - ((plan.lowest_field << 23) >> plan.dropped);
  v.offset = all_of(offset);
  v.offset_and_sign = all_of(offset + plan.sign);
  v.one = all_of(1);
  v.min_normal = all_of(plan.min_normal_code);
  v.overflow = all_of(plan.overflow[0] - 1);
  v.overflow_of_negative = all_of(plan.overflow[1] - 1);
  v.half = all_of((std::uint32_t{1} << (plan.dropped - 1)) - (Way == direction::nearest_even ? 1 : 0));
  v.dropped = _mm_cvtsi32_si128(static_cast<int>(plan.dropped));
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

template <direction Way, bool Counting>
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
    sum = _mm256_xor_si256(as_bits(signed_sum), sign);
    if constexpr (Counting)
      is_exact = as_bits(_mm256_cmp_ps(_mm256_sub_ps(signed_sum, signed_power), as_float(x), _CMP_EQ_OQ));
  } else {
    const __m256 float_sum = _mm256_add_ps(as_float(limited), as_float(power));
    sum = as_bits(float_sum);
    if constexpr (Counting && Way != direction::nearest_away)
      is_exact = _mm256_cmpeq_epi32(as_bits(_mm256_sub_ps(float_sum, as_float(power))), r.magnitude);
  }
  __m256i kept = _mm256_sub_epi32(sum, binade);
  if constexpr (Way == direction::nearest_away) {
    if constexpr (Counting) {
      // The bit more is in the sum; what else is lost is what subtracting shows.
      const __m256i back = as_bits(_mm256_sub_ps(as_float(sum), as_float(power)));
      is_exact = _mm256_andnot_si256(_mm256_cmpeq_epi32(_mm256_and_si256(sum, v.one), v.one),
                                     _mm256_cmpeq_epi32(back, r.magnitude));
    }
    kept = _mm256_srli_epi32(_mm256_add_epi32(kept, v.one), 1);
  }
  if constexpr (Way == direction::to_odd) {
    // The largest number stays what it is.
    const __m256i back = as_bits(_mm256_sub_ps(as_float(sum), as_float(power)));
    kept = _mm256_or_si256(kept, _mm256_andnot_si256(_mm256_cmpeq_epi32(back, limited), v.one));
  }
  r.code = _mm256_add_epi32(kept, _mm256_srl_epi32(binade, v.dropped));
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

template <direction Way, bool SameGrid, bool Counting>
struct code_lane {
  vectors v;
  __m256i largest{};
  lane_counts counts{};

  ULP_AVX2_INLINE __m256i operator()(__m256i x, std::size_t) {
    const rounded_lanes r = SameGrid ? round_by_shifting<Way, Counting>(v, x) : round_by_adding<Way, Counting>(v, x);
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
};

ULP_AVX2_INLINE std::uint64_t count_of(__m256i lanes) {
  alignas(32) std::array<std::int32_t, 8> n;
  _mm256_store_si256(reinterpret_cast<__m256i*>(n.data()), lanes);
  std::int64_t sum = 0;
  for (const std::int32_t one : n) sum -= one;
  return static_cast<std::uint64_t>(sum);
}

// A function of its own, so that compilers, which know nothing of the control register, move nothing across its change.
template <direction Way, bool SameGrid, bool Counting, class Code>
ULP_AVX2 [[gnu::noinline]] bool encode_lanes(const quick_plan& plan, const float* numbers, Code* codes,
                                             std::size_t size, bool streams, conversion_counts* counts) {
  code_lane<Way, SameGrid, Counting> lane{vectors_of<Way>(plan)};
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

template <direction Way, bool Counting, class Code>
bool encode(const quick_plan& plan, const float* numbers, Code* codes, std::size_t size, bool streams,
            conversion_counts* counts) {
  if (plan.same_grid) return encode_lanes<Way, true, Counting>(plan, numbers, codes, size, streams, counts);
  const control_register rounds{Way};
  return encode_lanes<Way, false, Counting>(plan, numbers, codes, size, streams, counts);
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
