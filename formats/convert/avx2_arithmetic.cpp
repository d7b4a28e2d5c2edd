// Arithmetic of floats and doubles rounded to odd: the processor rounds down or toward zero, so the last bit is right but
// for what was lost, and an exact second operation tells whether something was. Its result may be too small for a number:
// rounded down, what is negative is then not zero.
#include <utility>

#include "arithmetic_loops.hpp"
#include "avx2_lanes.hpp"

#if defined(__x86_64__)

namespace ulp::detail {
namespace {

// How operands are kept.
enum class kept : std::uint8_t { numbers, float16s, halves, codes16 };

struct field_vectors {
  __m256i magnitude, offset;
  __m256 smallest;
  __m128i dropped;
};

ULP_AVX2_INLINE field_vectors vectors_of(const field_layout& f) {
  return {.magnitude = all_of(f.magnitude),
          .offset = all_of(f.offset),
          .smallest = as_float(all_of(f.smallest)),
          .dropped = _mm_cvtsi32_si128(static_cast<int>(f.dropped))};
}

template <class Lanes, kept Kept>
struct operands_of {
  std::array<field_vectors, 3> fields;
  __m256i largest[3];

  ULP_AVX2_INLINE static operands_of from(const arithmetic_call& call) {
    operands_of all;
    for (std::size_t j = 0; j < 3; ++j) {
      if constexpr (Kept == kept::codes16) all.fields[j] = vectors_of(call.fields[j]);
      all.largest[j] = _mm256_setzero_si256();
    }
    return all;
  }
  // Infinity and NaN of these codes are numbers as floats.
  ULP_AVX2_INLINE bool beyond(const arithmetic_call& call, std::size_t count) const {
    __m256i beyond = _mm256_setzero_si256();
    for (std::size_t j = 0; j < count; ++j)
      beyond = _mm256_or_si256(beyond, _mm256_cmpgt_epi32(largest[j], all_of(call.fields[j].infinity_code - 1)));
    return _mm256_movemask_epi8(beyond) != 0;
  }
  ULP_AVX2_INLINE auto get(const void* codes, std::size_t i, std::size_t j) {
    const auto* at = static_cast<const std::uint16_t*>(codes) + i;
    if constexpr (Kept == kept::numbers) {
      return Lanes::load(static_cast<const typename Lanes::number*>(codes) + i);
    } else if constexpr (Kept == kept::float16s) {
      return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at)));
    } else if constexpr (Kept == kept::halves) {
      const __m256i wide = _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at)));
      return as_float(_mm256_slli_epi32(wide, 16));
    } else {
      const field_vectors& f = fields[j];
      const __m256i wide = _mm256_cvtepi16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at)));
      const __m256i shifted = _mm256_sll_epi32(wide, f.dropped);
      const __m256i magnitude = _mm256_and_si256(shifted, f.magnitude);
      largest[j] = _mm256_max_epi32(largest[j], magnitude);
      // Subnormal codes are read as numbers of the binade below the lowest: twice that, less the smallest normal number.
      const __m256 read = as_float(_mm256_add_epi32(magnitude, f.offset));
      const __m256 below = _mm256_min_ps(_mm256_sub_ps(read, f.smallest), _mm256_setzero_ps());
      const __m256 value = _mm256_add_ps(read, below);
      const __m256 sign = as_float(all_of(0x80000000));
      return _mm256_or_ps(_mm256_andnot_ps(sign, value), _mm256_and_ps(as_float(shifted), sign));
    }
  }
};

// The processor rounds toward zero, so sums that cancel are +0. The difference of a sum and its larger operand is exact
// however the sum was rounded (Boldo, Graillat, Muller 2017), so something was lost if that is not the other operand.
template <class Lanes, bool MinusZero>
ULP_AVX2_INLINE auto sum(typename Lanes::vector a, typename Lanes::vector b) {
  const auto s = Lanes::add(a, b);
  const auto lost = Lanes::either(Lanes::is_other(Lanes::sub(s, a), b), Lanes::is_other(Lanes::sub(s, b), a));
  auto odd = Lanes::either(s, Lanes::both(lost, Lanes::last_bit()));
  if constexpr (MinusZero) {
    const auto zero = Lanes::both(Lanes::is_equal(s, Lanes::zero()), Lanes::sign());
    odd = Lanes::either(odd, Lanes::both(zero, Lanes::either(a, b)));
  }
  return odd;
}

template <class Lanes>
ULP_AVX2_INLINE auto odd_where(typename Lanes::vector magnitude, typename Lanes::vector rest) {
  return Lanes::either(magnitude, Lanes::both(Lanes::is_other(rest, Lanes::zero()), Lanes::last_bit()));
}

template <class Lanes>
ULP_AVX2_INLINE auto product(typename Lanes::vector a, typename Lanes::vector b) {
  const auto x = Lanes::without(a, Lanes::sign());
  const auto y = Lanes::without(b, Lanes::sign());
  const auto s = Lanes::mul(x, y);
  return Lanes::either(odd_where<Lanes>(s, Lanes::fnma(x, y, s)), Lanes::both(Lanes::flipped(a, b), Lanes::sign()));
}

template <class Lanes>
ULP_AVX2_INLINE auto quotient(typename Lanes::vector a, typename Lanes::vector b) {
  const auto x = Lanes::without(a, Lanes::sign());
  const auto y = Lanes::without(b, Lanes::sign());
  const auto s = Lanes::div(x, y);
  const auto odd = odd_where<Lanes>(s, Lanes::fms(s, y, x));
  // A finite number divided by infinity needs no rounding, but is no business of lanes: as a product with y is NaN or not.
  const auto unknown = Lanes::is_other(Lanes::mul(Lanes::zero(), y), Lanes::zero());
  return Lanes::either(Lanes::either(odd, unknown), Lanes::both(Lanes::flipped(a, b), Lanes::sign()));
}

template <class Lanes>
ULP_AVX2_INLINE auto root(typename Lanes::vector a) {
  const auto s = Lanes::sqrt(a);
  return odd_where<Lanes>(s, Lanes::fms(s, s, a));
}

// The processor rounds down, which shows every product that is not exact; a sum rounded down away from zero goes back by
// one bit. Sums that cancel are -0.
template <class Lanes, bool MinusZero>
ULP_AVX2_INLINE auto ranged_fma(typename Lanes::vector a, typename Lanes::vector b, typename Lanes::vector c) {
  const auto p = Lanes::mul(a, b);
  const auto s = Lanes::add(p, c);
  const auto other = Lanes::sub(s, c);
  const auto lost = Lanes::either(Lanes::is_other(Lanes::sub(s, p), c), Lanes::is_other(other, p));
  auto odd = Lanes::bits_before(s, Lanes::both(Lanes::is_negative(s), lost));
  odd = Lanes::either(odd, Lanes::both(lost, Lanes::last_bit()));
  if constexpr (!MinusZero) {
    const auto zero = Lanes::both(Lanes::is_equal(s, Lanes::zero()), Lanes::sign());
    odd = Lanes::without(odd, Lanes::without(zero, Lanes::both(p, c)));
  }
  // Infinity less infinity, too, is unknown.
  const auto unknown = Lanes::either(Lanes::is_other(Lanes::fnma(a, b, p), Lanes::zero()), Lanes::is_nan(other));
  return Lanes::either(odd, unknown);
}

template <class Lanes, kept Kept, lane_operation Op, bool MinusZero>
ULP_AVX2_INLINE auto result_of(operands_of<Lanes, Kept>& operands, const arithmetic_call& call,
                               typename Lanes::vector negated, std::size_t i) {
  const auto a = operands.get(call.operands[0], i, 0);
  if constexpr (Op == lane_operation::root) {
    return root<Lanes>(a);
  } else {
    const auto b = operands.get(call.operands[1], i, 1);
    if constexpr (Op == lane_operation::sum) {
      return sum<Lanes, MinusZero>(a, Lanes::flipped(b, negated));
    } else if constexpr (Op == lane_operation::exact_product) {
      return Lanes::mul(a, b);
    } else if constexpr (Op == lane_operation::product) {
      return product<Lanes>(a, b);
    } else if constexpr (Op == lane_operation::quotient) {
      return quotient<Lanes>(a, b);
    } else {
      const auto c = operands.get(call.operands[2], i, 2);
      if constexpr (Op == lane_operation::exact_fma)
        return sum<Lanes, MinusZero>(Lanes::mul(a, b), c);
      else
        return ranged_fma<Lanes, MinusZero>(a, b, c);
    }
  }
}

constexpr std::size_t operands_taken(lane_operation op) {
  return op == lane_operation::root ? 1 : op >= lane_operation::exact_fma ? 3 : 2;
}

// A function of its own, as in avx2_encode.cpp, and nothing in it but what the control register is set for.
template <class Lanes, kept Kept, lane_operation Op, bool MinusZero>
ULP_AVX2 [[gnu::noinline]] bool compute_lanes(const arithmetic_call& call) {
  auto operands = operands_of<Lanes, Kept>::from(call);
  auto* const results = static_cast<typename Lanes::number*>(call.results);
  const auto negated = call.negate_second ? Lanes::sign() : Lanes::zero();
  // Products with zero are not zero but NaN if one was infinite or NaN.
  auto finite = Lanes::zero();
  std::size_t i = 0;
  for (; i + Lanes::size <= call.size; i += Lanes::size) {
    const auto x = result_of<Lanes, Kept, Op, MinusZero>(operands, call, negated, i);
    finite = Lanes::fma(x, Lanes::zero(), finite);
    Lanes::store(results + i, x);
  }
  bool unknown = Lanes::any(Lanes::is_nan(finite));
  if constexpr (Kept == kept::codes16) unknown = operands.beyond(call, operands_taken(Op)) || unknown;
  return unknown;
}

template <class Lanes, kept Kept, lane_operation Op>
bool compute(const arithmetic_call& call) {
  constexpr bool toward_zero =
      Op == lane_operation::sum || Op == lane_operation::exact_fma || Op == lane_operation::exact_product;
  constexpr bool sums = Op == lane_operation::sum || Op >= lane_operation::exact_fma;
  using element = std::conditional_t<Kept == kept::numbers, typename Lanes::number, std::uint16_t>;
  const auto run = [](const arithmetic_call& part) {
    const control_register rounds{toward_zero ? direction::toward_zero : direction::toward_negative};
    if (sums && part.minus_zero) return compute_lanes<Lanes, Kept, Op, sums>(part);
    return compute_lanes<Lanes, Kept, Op, false>(part);
  };
  const std::size_t whole = call.size / Lanes::size * Lanes::size;
  const bool unknown = run(call);
  if (whole == call.size) return unknown;
  // The rest fills a vector with copies of the last element.
  std::array<std::array<element, Lanes::size>, 3> some;
  std::array<typename Lanes::number, Lanes::size> results;
  arithmetic_call last = call;
  for (std::size_t j = 0; j < operands_taken(Op); ++j) {
    const auto* from = static_cast<const element*>(call.operands[j]);
    for (std::size_t k = 0; k < Lanes::size; ++k) some[j][k] = from[std::min(whole + k, call.size - 1)];
    last.operands[j] = some[j].data();
  }
  last.results = results.data();
  last.size = Lanes::size;
  const bool last_unknown = run(last);
  std::copy_n(results.begin(), call.size - whole, static_cast<typename Lanes::number*>(call.results) + whole);
  return unknown || last_unknown;
}

template <class Lanes, kept Kept, std::size_t... Op>
constexpr arithmetic_loops_of loops_of(std::index_sequence<Op...>) {
  return {compute<Lanes, Kept, static_cast<lane_operation>(Op)>...};
}
template <class Lanes, kept Kept>
constexpr arithmetic_loops_of loops = loops_of<Lanes, Kept>(std::make_index_sequence<lane_operation_count>{});

}  // namespace

extern const arithmetic_loops avx2_arithmetic{loops<float_lanes, kept::numbers>, loops<float_lanes, kept::float16s>,
                                              loops<float_lanes, kept::halves>, loops<float_lanes, kept::codes16>,
                                              loops<double_lanes, kept::numbers>};

}  // namespace ulp::detail
#endif
