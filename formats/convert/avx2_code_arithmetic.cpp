// Arithmetic of codes of 16 bits, all of one format, without a stop on the way. Shifted codes are floats: numbers divided by
// 2^scale, with float's subnormal numbers for the format's. Sums are computed of these; processors add subnormal numbers as
// fast as others, but do not multiply them so: products are computed at their own size and brought there by integers.
// Rounding is an addition to the bits.
#include <utility>

#include "arithmetic_loops.hpp"
#include "avx2_odd.hpp"

#if defined(__x86_64__)

namespace ulp::detail {
namespace {

enum class coded : std::uint8_t { float16, bfloat16, other };

struct grid_vectors {
  __m256i magnitude, kept, limit, limit_of_negative, half, below, one, sign_of_code, binade, offset, smallest_bits;
  __m256 smallest, two;
  __m128i widened, dropped;
};

ULP_VECTOR_INLINE grid_vectors vectors_of(const code_grid& grid) {
  const std::uint32_t unit = std::uint32_t{1} << grid.dropped;
  grid_vectors v;
  v.magnitude = all_of(0x7FFFFFFF);
  v.kept = all_of(0x80000000 | ((0x8000u << grid.dropped) - 1));
  v.limit = _mm256_set1_epi16(static_cast<std::int16_t>(grid.limit[0]));
  v.limit_of_negative = _mm256_set1_epi16(static_cast<std::int16_t>(grid.limit[1]));
  v.half = all_of(unit / 2);
  v.below = all_of(unit - 1);
  v.one = all_of(1);
  v.sign_of_code = _mm256_set1_epi16(std::int16_t{-0x8000});
  v.binade = all_of(1u << 23);
  v.offset = all_of(grid.scale << 23);
  v.smallest_bits = all_of((grid.scale + 1) << 23);  // of the smallest normal number
  v.smallest = as_float(v.smallest_bits);
  v.two = _mm256_set1_ps(2);
  v.widened = _mm_cvtsi32_si128(static_cast<int>(16 - grid.dropped));
  v.dropped = _mm_cvtsi32_si128(static_cast<int>(grid.dropped));
  return v;
}

// Half of 16 codes, as floats.
template <coded Coded>
ULP_VECTOR_INLINE __m256 floats_of(const grid_vectors& v, __m256i codes, bool upper) {
  const __m256i zero = _mm256_setzero_si256();
  const __m256i wide = upper ? _mm256_unpackhi_epi16(zero, codes) : _mm256_unpacklo_epi16(zero, codes);
  if constexpr (Coded == coded::bfloat16) return as_float(wide);
  return as_float(_mm256_and_si256(_mm256_sra_epi32(wide, v.widened), v.kept));
}

// The codes of magnitudes, not limited.
template <direction Way>
ULP_VECTOR_INLINE __m256i code_of(const grid_vectors& v, __m256 number) {
  const __m256i x = as_bits(number);
  __m256i sum = _mm256_and_si256(x, v.magnitude);
  if constexpr (Way == direction::nearest_even) {
    const __m256i odd = _mm256_and_si256(_mm256_srl_epi32(x, v.dropped), v.one);
    sum = _mm256_add_epi32(_mm256_add_epi32(sum, _mm256_sub_epi32(v.half, v.one)), odd);
  } else if constexpr (Way == direction::nearest_away) {
    sum = _mm256_add_epi32(sum, v.half);
  } else if constexpr (Way == direction::toward_positive) {
    sum = _mm256_add_epi32(sum, _mm256_andnot_si256(_mm256_srai_epi32(x, 31), v.below));
  } else if constexpr (Way == direction::toward_negative) {
    sum = _mm256_add_epi32(sum, _mm256_and_si256(_mm256_srai_epi32(x, 31), v.below));
  } else if constexpr (Way == direction::to_odd) {
    sum = _mm256_or_si256(sum, _mm256_add_epi32(_mm256_and_si256(sum, v.below), v.below));
  }
  return _mm256_srl_epi32(sum, v.dropped);
}

template <direction Way>
ULP_VECTOR_INLINE __m256i codes_of(const grid_vectors& v, __m256 lower, __m256 upper) {
  const __m256i codes = _mm256_packus_epi32(code_of<Way>(v, lower), code_of<Way>(v, upper));
  // Negative floats are negative integers, which saturate.
  const __m256i signs = _mm256_packs_epi32(as_bits(lower), as_bits(upper));
  __m256i limit = v.limit;
  if constexpr (Way == direction::toward_positive || Way == direction::toward_negative)
    limit = _mm256_blendv_epi8(limit, v.limit_of_negative, _mm256_srai_epi16(signs, 15));
  return _mm256_or_si256(_mm256_min_epu16(codes, limit), _mm256_and_si256(signs, v.sign_of_code));
}

// Of the magnitudes of codes: what they stand for. Subnormal ones are read as numbers of the binade below the lowest: twice
// that, less the smallest normal number.
ULP_VECTOR_INLINE __m256 values_of(const grid_vectors& v, __m256i magnitudes, bool upper) {
  const __m256i zero = _mm256_setzero_si256();
  const __m256i wide = upper ? _mm256_unpackhi_epi16(zero, magnitudes) : _mm256_unpacklo_epi16(zero, magnitudes);
  const __m256 read = as_float(_mm256_add_epi32(_mm256_srl_epi32(wide, v.widened), v.offset));
  return _mm256_min_ps(read, _mm256_fmsub_ps(read, v.two, v.smallest));
}

ULP_VECTOR_INLINE __m256 signs_of(__m256i signs, bool upper) {
  const __m256i zero = _mm256_setzero_si256();
  return as_float(upper ? _mm256_unpackhi_epi16(zero, signs) : _mm256_unpacklo_epi16(zero, signs));
}

// x / 2^scale, rounded to odd, x not negative. Below the smallest normal number its bits are those of the sum with that. The
// other way to get them gives less there, and that one elsewhere.
ULP_VECTOR_INLINE __m256 scaled_down(const grid_vectors& v, __m256 x) {
  using lanes = float_lanes;
  const __m256 sum = lanes::add(x, v.smallest);
  const __m256 lost = lanes::is_other(lanes::sub(sum, v.smallest), x);
  const __m256i odd = as_bits(lanes::either(sum, lanes::both(lost, lanes::last_bit())));
  const __m256i all = _mm256_max_epi32(odd, _mm256_add_epi32(as_bits(x), v.binade));
  return as_float(_mm256_sub_epi32(all, v.smallest_bits));
}

template <lane_operation Op, bool MinusZero>
ULP_VECTOR_INLINE __m256 result_of(__m256 a, __m256 b, __m256 c) {
  using lanes = float_lanes;
  if constexpr (Op == lane_operation::sum) return odd_sum<lanes, MinusZero>(a, b);
  if constexpr (Op == lane_operation::product) return odd_finite_product<lanes>(a, b);
  if constexpr (Op == lane_operation::ranged_fma) return odd_ranged_fma<lanes, MinusZero>(a, b, c);
  if constexpr (Op == lane_operation::exact_product) return lanes::mul(a, b);
  if constexpr (Op == lane_operation::exact_fma) return odd_sum<lanes, MinusZero>(lanes::mul(a, b), c);
}

// Products and fma of codes that are not floats as they are.
template <lane_operation Op, bool MinusZero>
ULP_VECTOR_INLINE __m256 scaled_result_of(const grid_vectors& v, const __m256i* codes, const __m256i* magnitudes,
                                          bool upper) {
  using lanes = float_lanes;
  const __m256 product = lanes::mul(values_of(v, magnitudes[0], upper), values_of(v, magnitudes[1], upper));
  const __m256 sign = signs_of(_mm256_and_si256(_mm256_xor_si256(codes[0], codes[1]), v.sign_of_code), upper);
  if constexpr (Op == lane_operation::exact_product) {
    return lanes::either(scaled_down(v, product), sign);
  } else {
    const __m256 sign_of_third = signs_of(_mm256_and_si256(codes[2], v.sign_of_code), upper);
    const __m256 third = lanes::either(values_of(v, magnitudes[2], upper), sign_of_third);
    const __m256 result = odd_sum<lanes, MinusZero>(lanes::either(product, sign), third);
    return lanes::either(scaled_down(v, lanes::without(result, lanes::sign())), lanes::both(result, lanes::sign()));
  }
}

constexpr std::size_t operands_taken(lane_operation op) { return op >= lane_operation::exact_fma ? 3 : 2; }

template <coded Coded, lane_operation Op, direction Way>
ULP_VECTOR [[gnu::noinline]] bool compute_codes(const arithmetic_call& call) {
  constexpr bool minus_zero = Way == direction::toward_negative;
  constexpr std::size_t step = 16;
  constexpr std::size_t count = operands_taken(Op);
  const grid_vectors v = vectors_of(call.grid);
  const __m256i negated = _mm256_set1_epi16(call.negate_second ? std::int16_t{-0x8000} : std::int16_t{0});
  const __m256i magnitude = _mm256_set1_epi16(0x7FFF);
  auto* const results = static_cast<std::uint16_t*>(call.results);
  __m256i largest = _mm256_setzero_si256();
  __m256 finite = _mm256_setzero_ps();
  for (std::size_t i = 0; i + step <= call.size; i += step) {
    __m256i codes[3];
    __m256i magnitudes[3];
    __m256 halves[2];
#pragma GCC unroll 3
    for (std::size_t j = 0; j < count; ++j) {
      codes[j] = load(static_cast<const std::uint16_t*>(call.operands[j]) + i);
      magnitudes[j] = _mm256_and_si256(codes[j], magnitude);
      largest = _mm256_max_epu16(largest, magnitudes[j]);
    }
    if constexpr (Op == lane_operation::sum) codes[1] = _mm256_xor_si256(codes[1], negated);
#pragma GCC unroll 2
    for (std::size_t half = 0; half < 2; ++half) {
      __m256 result;
      if constexpr (Coded == coded::other && Op != lane_operation::sum) {
        result = scaled_result_of<Op, minus_zero>(v, codes, magnitudes, half != 0);
      } else {
        __m256 x[3];
#pragma GCC unroll 3
        for (std::size_t j = 0; j < count; ++j) x[j] = floats_of<Coded>(v, codes[j], half != 0);
        result = result_of<Op, minus_zero>(x[0], x[1], count == 3 ? x[2] : x[0]);
      }
      if constexpr (Op == lane_operation::ranged_fma) finite = float_lanes::fma(result, float_lanes::zero(), finite);
      halves[half] = result;
    }
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(results + i), codes_of<Way>(v, halves[0], halves[1]));
  }
  const __m256i infinity = _mm256_set1_epi16(static_cast<std::int16_t>(call.grid.infinity_code - 1));
  return _mm256_movemask_epi8(_mm256_cmpgt_epi16(largest, infinity)) != 0 ||
         float_lanes::any(float_lanes::is_nan(finite));
}

// float16 by its own instructions.
template <lane_operation Op, direction Way>
ULP_VECTOR [[gnu::noinline]] bool compute_float16s(const arithmetic_call& call) {
  constexpr bool minus_zero = Way == direction::toward_negative;
  constexpr int way = Way == direction::nearest_even      ? _MM_FROUND_TO_NEAREST_INT
                      : Way == direction::toward_negative ? _MM_FROUND_TO_NEG_INF
                      : Way == direction::toward_positive ? _MM_FROUND_TO_POS_INF
                                                          : _MM_FROUND_TO_ZERO;
  using lanes = float_lanes;
  const __m256 negated = call.negate_second ? lanes::sign() : lanes::zero();
  const auto number = [&](std::size_t j, std::size_t i) __attribute__((target("arch=x86-64-v3"))) {
    const auto* at = static_cast<const std::uint16_t*>(call.operands[j]) + i;
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at)));
  };
  auto* const results = static_cast<std::uint16_t*>(call.results);
  __m256 finite = lanes::zero();
  for (std::size_t i = 0; i + lanes::size <= call.size; i += lanes::size) {
    const __m256 a = number(0, i);
    const __m256 b = Op == lane_operation::sum ? lanes::flipped(number(1, i), negated) : number(1, i);
    const __m256 c = operands_taken(Op) == 3 ? number(2, i) : a;
    const __m256 x = result_of<Op, minus_zero>(a, b, c);
    finite = lanes::fma(x, lanes::zero(), finite);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(results + i), _mm256_cvtps_ph(x, way | _MM_FROUND_NO_EXC));
  }
  return lanes::any(lanes::is_nan(finite));
}

template <coded Coded, lane_operation Op, direction Way>
bool compute(const arithmetic_call& call) {
  return in_vectors<std::uint16_t, std::uint16_t, 16>(call, [](const arithmetic_call& part) {
    const control_register rounds{way_of_processor(Op)};
    if constexpr (Coded == coded::float16)
      return compute_float16s<Op, Way>(part);
    else
      return compute_codes<Coded, Op, Way>(part);
  });
}

template <coded Coded, direction Way>
constexpr arithmetic_loops_of loops_of() {
  constexpr bool has_instruction = Way != direction::nearest_away && Way != direction::to_odd;
  arithmetic_loops_of all{};
  const auto set = [&](lane_operation op, arithmetic_loop loop) { all[static_cast<std::size_t>(op)] = loop; };
  if constexpr (Coded == coded::bfloat16) {
    set(lane_operation::product, compute<Coded, lane_operation::product, Way>);
    set(lane_operation::ranged_fma, compute<Coded, lane_operation::ranged_fma, Way>);
  } else if constexpr (Coded == coded::other || has_instruction) {
    set(lane_operation::exact_product, compute<Coded, lane_operation::exact_product, Way>);
    set(lane_operation::exact_fma, compute<Coded, lane_operation::exact_fma, Way>);
  }
  if constexpr (Coded != coded::float16 || has_instruction)
    set(lane_operation::sum, compute<Coded, lane_operation::sum, Way>);
  return all;
}
template <coded Coded, std::size_t... Way>
constexpr code_loops_of all_loops_of(std::index_sequence<Way...>) {
  return {loops_of<Coded, static_cast<direction>(Way)>()...};
}
template <coded Coded>
constexpr code_loops_of loops = all_loops_of<Coded>(std::make_index_sequence<6>{});

}  // namespace

extern const code_loops avx2_code_arithmetic{loops<coded::float16>, loops<coded::bfloat16>, loops<coded::other>};

}  // namespace ulp::detail
#endif
