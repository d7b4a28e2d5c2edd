// Arithmetic of codes of 16 bits, all of one format, without a stop on the way. Shifted codes are floats: numbers divided by
// 2^scale, with float's subnormal numbers for the format's. Sums are computed of these; processors add subnormal numbers as
// fast as others, but do not multiply them so: products are computed at their own size and brought there by integers.
// Rounding is an addition to the bits. Included after avx2_lanes.hpp or avx512_lanes.hpp.
#ifndef ULP_FORMATS_BULK_CODE_ARITHMETIC_VECTORS_HPP
#define ULP_FORMATS_BULK_CODE_ARITHMETIC_VECTORS_HPP

#include <utility>

#include "arithmetic_loops.hpp"
#include "odd_vectors.hpp"

#if defined(ULP_VECTORS)

namespace ulp::detail::ULP_VECTORS {
namespace {

enum class coded : std::uint8_t { float16, bfloat16, other };

struct grid_vectors {
  vector magnitude, kept, limit, limit_of_negative, half, below, one, sign_of_code, binade, offset, smallest_bits;
  floats smallest, two;
  shift_count widened, dropped;
};

ULP_VECTOR_INLINE grid_vectors vectors_of(const code_grid& grid) {
  const std::uint32_t unit = std::uint32_t{1} << grid.dropped;
  grid_vectors v;
  v.magnitude = all_of(0x7FFFFFFF);
  v.kept = all_of(0x80000000 | ((0x8000u << grid.dropped) - 1));
  v.limit = all_of16(grid.limit[0]);
  v.limit_of_negative = all_of16(grid.limit[1]);
  v.half = all_of(unit / 2);
  v.below = all_of(unit - 1);
  v.one = all_of(1);
  v.sign_of_code = all_of16(0x8000);
  v.binade = all_of(1u << 23);
  v.offset = all_of(grid.scale << 23);
  v.smallest_bits = all_of((grid.scale + 1) << 23);  // of the smallest normal number
  v.smallest = as_float(v.smallest_bits);
  v.two = as_float(all_of(0x40000000));
  v.widened = shift_by(static_cast<int>(16 - grid.dropped));
  v.dropped = shift_by(static_cast<int>(grid.dropped));
  return v;
}

// Half of 16 codes, as floats.
template <coded Coded>
ULP_VECTOR_INLINE floats floats_of(const grid_vectors& v, vector codes, bool upper) {
  const vector wide = widened(codes, upper);
  if constexpr (Coded == coded::bfloat16) return as_float(wide);
  return as_float(both(shifted_right_signed(wide, v.widened), v.kept));
}

// The codes of magnitudes, not limited.
template <direction Way>
ULP_VECTOR_INLINE vector code_of(const grid_vectors& v, floats number) {
  const vector x = as_bits(number);
  vector sum = both(x, v.magnitude);
  if constexpr (Way == direction::nearest_even) {
    const vector odd = both(shifted_right(x, v.dropped), v.one);
    sum = add(add(sum, sub(v.half, v.one)), odd);
  } else if constexpr (Way == direction::nearest_away) {
    sum = add(sum, v.half);
  } else if constexpr (Way == direction::toward_positive) {
    sum = add(sum, without(v.below, signs(x)));
  } else if constexpr (Way == direction::toward_negative) {
    sum = add(sum, both(signs(x), v.below));
  } else if constexpr (Way == direction::to_odd) {
    sum = either(sum, add(both(sum, v.below), v.below));
  }
  return shifted_right(sum, v.dropped);
}

template <direction Way>
ULP_VECTOR_INLINE vector codes_of(const grid_vectors& v, floats lower, floats upper) {
  const vector codes = narrowed(code_of<Way>(v, lower), code_of<Way>(v, upper));
  // Negative floats are negative integers, which saturate.
  const vector signs = narrowed_signed(as_bits(lower), as_bits(upper));
  vector limit = v.limit;
  if constexpr (Way == direction::toward_positive || Way == direction::toward_negative)
    limit = by_sign16(limit, v.limit_of_negative, signs);
  return either(smaller16(codes, limit), both(signs, v.sign_of_code));
}

// Of the magnitudes of codes: what they stand for. Subnormal ones are read as numbers of the binade below the lowest: twice
// that, less the smallest normal number.
ULP_VECTOR_INLINE floats values_of(const grid_vectors& v, vector magnitudes, bool upper) {
  const floats read = as_float(add(shifted_right(widened(magnitudes, upper), v.widened), v.offset));
  return smaller(read, float_lanes::fms(read, v.two, v.smallest));
}

ULP_VECTOR_INLINE floats signs_of(vector signs, bool upper) { return as_float(widened(signs, upper)); }

// x / 2^scale, rounded to odd, x not negative. Below the smallest normal number its bits are those of the sum with that. The
// other way to get them gives less there, and that one elsewhere.
ULP_VECTOR_INLINE floats scaled_down(const grid_vectors& v, floats x) {
  using lanes = float_lanes;
  const floats sum = lanes::add(x, v.smallest);
  const lanes::mask lost = lanes::is_other(lanes::sub(sum, v.smallest), x);
  const vector odd = as_bits(lanes::either_where(lost, sum, lanes::last_bit()));
  const vector all = larger_signed(odd, add(as_bits(x), v.binade));
  return as_float(sub(all, v.smallest_bits));
}

template <lane_operation Op, bool MinusZero>
ULP_VECTOR_INLINE floats result_of(floats a, floats b, floats c) {
  using lanes = float_lanes;
  if constexpr (Op == lane_operation::sum) return odd_sum<lanes, MinusZero>(a, b);
  if constexpr (Op == lane_operation::product) return odd_finite_product<lanes>(a, b);
  if constexpr (Op == lane_operation::ranged_fma) return odd_ranged_fma<lanes, MinusZero>(a, b, c);
  if constexpr (Op == lane_operation::exact_product) return lanes::mul(a, b);
  if constexpr (Op == lane_operation::exact_fma) return odd_sum<lanes, MinusZero>(lanes::mul(a, b), c);
}

// Products and fma of codes that are not floats as they are.
template <lane_operation Op, bool MinusZero>
ULP_VECTOR_INLINE floats scaled_result_of(const grid_vectors& v, const vector* codes, const vector* magnitudes,
                                          bool upper) {
  using lanes = float_lanes;
  const floats product = lanes::mul(values_of(v, magnitudes[0], upper), values_of(v, magnitudes[1], upper));
  const floats sign = signs_of(both(flipped(codes[0], codes[1]), v.sign_of_code), upper);
  if constexpr (Op == lane_operation::exact_product) {
    return lanes::either(scaled_down(v, product), sign);
  } else {
    const floats sign_of_third = signs_of(both(codes[2], v.sign_of_code), upper);
    const floats third = lanes::either(values_of(v, magnitudes[2], upper), sign_of_third);
    const floats result = odd_sum<lanes, MinusZero>(lanes::either(product, sign), third);
    return lanes::either(scaled_down(v, lanes::without(result, lanes::sign())), lanes::both(result, lanes::sign()));
  }
}

constexpr std::size_t operands_taken(lane_operation op) { return op >= lane_operation::exact_fma ? 3 : 2; }

template <coded Coded, lane_operation Op, direction Way>
ULP_VECTOR [[gnu::noinline]] bool compute_codes(const arithmetic_call& call) {
  constexpr bool minus_zero = Way == direction::toward_negative;
  constexpr std::size_t step = 2 * lane_count;
  constexpr std::size_t count = operands_taken(Op);
  const grid_vectors v = vectors_of(call.grid);
  const vector negated = all_of16(call.negate_second ? 0x8000 : 0);
  const vector magnitude = all_of16(0x7FFF);
  auto* const results = static_cast<std::uint16_t*>(call.results);
  vector largest = all_of(0);
  floats finite = as_float(all_of(0));
  for (std::size_t i = 0; i + step <= call.size; i += step) {
    vector codes[3];
    vector magnitudes[3];
    floats halves[2];
#pragma GCC unroll 3
    for (std::size_t j = 0; j < count; ++j) {
      codes[j] = load(static_cast<const std::uint16_t*>(call.operands[j]) + i);
      magnitudes[j] = both(codes[j], magnitude);
      largest = larger16(largest, magnitudes[j]);
    }
    if constexpr (Op == lane_operation::sum) codes[1] = flipped(codes[1], negated);
#pragma GCC unroll 2
    for (std::size_t half = 0; half < 2; ++half) {
      floats result;
      if constexpr (Coded == coded::other && Op != lane_operation::sum) {
        result = scaled_result_of<Op, minus_zero>(v, codes, magnitudes, half != 0);
      } else {
        floats x[3];
#pragma GCC unroll 3
        for (std::size_t j = 0; j < count; ++j) x[j] = floats_of<Coded>(v, codes[j], half != 0);
        result = result_of<Op, minus_zero>(x[0], x[1], count == 3 ? x[2] : x[0]);
      }
      if constexpr (Op == lane_operation::ranged_fma) finite = float_lanes::fma(result, float_lanes::zero(), finite);
      halves[half] = result;
    }
    store(results + i, codes_of<Way>(v, halves[0], halves[1]));
  }
  const vector infinity = all_of16(call.grid.infinity_code - 1);
  return any_above16(largest, infinity) || float_lanes::any(float_lanes::is_nan(finite));
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
  const floats negated = call.negate_second ? lanes::sign() : lanes::zero();
  const auto number = [&](std::size_t j, std::size_t i) ULP_VECTOR_LAMBDA {
    return of_float16s(static_cast<const std::uint16_t*>(call.operands[j]) + i);
  };
  auto* const results = static_cast<std::uint16_t*>(call.results);
  floats finite = lanes::zero();
  for (std::size_t i = 0; i + lanes::size <= call.size; i += lanes::size) {
    const floats a = number(0, i);
    const floats b = Op == lane_operation::sum ? lanes::flipped(number(1, i), negated) : number(1, i);
    const floats c = operands_taken(Op) == 3 ? number(2, i) : a;
    const floats x = result_of<Op, minus_zero>(a, b, c);
    finite = lanes::fma(x, lanes::zero(), finite);
    store_float16s<way | _MM_FROUND_NO_EXC>(results + i, x);
  }
  return lanes::any(lanes::is_nan(finite));
}

template <coded Coded, lane_operation Op, direction Way>
bool compute(const arithmetic_call& call) {
  return in_vectors<std::uint16_t, std::uint16_t, 2 * lane_count>(call, [](const arithmetic_call& part) {
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

constexpr code_loops all_loops{loops<coded::float16>, loops<coded::bfloat16>, loops<coded::other>};

}  // namespace
}  // namespace ulp::detail::ULP_VECTORS

#endif
#endif
