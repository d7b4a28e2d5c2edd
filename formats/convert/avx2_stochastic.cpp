// Random bits, and rounding by them.
#include "avx2_generator.hpp"

#if defined(__x86_64__)
#include <optional>

namespace ulp::detail {
namespace {

// Larger numbers are taken for this one, whose code is the limit, and which is exact.
std::uint32_t limit_of(const encode_plan<std::uint32_t>& plan) {
  constexpr std::uint32_t largest_finite = 0x7F7FFFFF;
  const std::uint32_t limit = plan.limit[0];
  const std::uint32_t field = (limit >> plan.fraction_bits) + static_cast<std::uint32_t>(plan.lowest_field) - 1;
  const std::uint32_t fraction = limit & ((std::uint32_t{1} << plan.fraction_bits) - 1);
  return field > 254 ? largest_finite : field << 23 | fraction << plan.dropped;
}

// As rounded() of convert_loops.hpp, but that shifts by more than the width leave zero.
struct stochastic_vectors {
  __m256i magnitude, implicit, infinity, limit, lowest, offset, offset_and_sign, one, width, half;
  // Shifts.
  __m256i dropped, widening, dropped_to_random, random_bits, unused_random_bits;
  __m256i used_random_bits;  // a mask, at the top
};

ULP_AVX2_INLINE stochastic_vectors vectors_of(const encode_plan<std::uint32_t>& plan) {
  const std::uint32_t lowest = static_cast<std::uint32_t>(plan.lowest_field) << 23;
  const std::uint32_t offset = 0 - (lowest >> plan.dropped);
  return {.magnitude = _mm256_set1_epi32(0x7FFFFFFF),
          .implicit = _mm256_set1_epi32(0x800000),
          .infinity = _mm256_set1_epi32(0x7F800000),
          .limit = all_of(limit_of(plan)),
          .lowest = all_of(lowest),
          .offset = all_of(offset),
          .offset_and_sign = all_of(offset + (std::uint32_t{1} << plan.sign_position)),
          .one = _mm256_set1_epi32(1),
          .width = _mm256_set1_epi32(32),
          .half = _mm256_set1_epi32(0x7FFFFFFF),
          .dropped = _mm256_set1_epi32(plan.dropped),
          .widening = _mm256_set1_epi32(plan.widening),
          .dropped_to_random = _mm256_set1_epi32(plan.carries ? plan.dropped : plan.dropped_to_random),
          .random_bits = _mm256_set1_epi32(plan.random_bits),
          .unused_random_bits = _mm256_set1_epi32(32 - plan.random_bits),
          .used_random_bits = all_of(~std::uint32_t{0} << (32 - plan.random_bits))};
}

// What is added to a number's lowest code: floor(v 2^N) + R, without the last N bits. Carries: the discarded bits are at the
// top of a lane of their own, whose carry is added. That is for any N, of definition a.
template <stochastic_definition Definition, bool Carries>
ULP_AVX2_INLINE __m256i kept_of(const stochastic_vectors& v, __m256i significand, __m256i shift, __m256i random) {
  if constexpr (Carries) {
    const __m256i high = _mm256_sllv_epi32(significand, _mm256_sub_epi32(v.width, shift));
    const __m256i low = _mm256_srlv_epi32(significand, _mm256_sub_epi32(shift, v.width));
    const __m256i discarded = _mm256_and_si256(_mm256_or_si256(high, low), v.used_random_bits);
    const __m256i sum = _mm256_add_epi32(discarded, _mm256_sllv_epi32(random, v.unused_random_bits));
    const __m256i no_carry = _mm256_cmpeq_epi32(_mm256_max_epu32(sum, discarded), sum);
    return _mm256_add_epi32(_mm256_add_epi32(_mm256_srlv_epi32(significand, shift), v.one), no_carry);
  }
  const __m256i wide = _mm256_sllv_epi32(significand, v.widening);
  __m256i cut;
  if constexpr (Definition == stochastic_definition::a) {
    cut = _mm256_srlv_epi32(wide, shift);
  } else if constexpr (Definition == stochastic_definition::b) {
    const __m256i twice = _mm256_srlv_epi32(wide, _mm256_sub_epi32(shift, v.one));
    cut = _mm256_srli_epi32(_mm256_add_epi32(twice, v.one), 1);
  } else {
    const __m256i odd = _mm256_and_si256(_mm256_srlv_epi32(wide, shift), v.one);
    const __m256i below_half = _mm256_srlv_epi32(v.half, _mm256_sub_epi32(v.width, shift));
    cut = _mm256_srlv_epi32(_mm256_add_epi32(_mm256_add_epi32(wide, below_half), odd), shift);
  }
  return _mm256_srlv_epi32(_mm256_add_epi32(cut, random), v.random_bits);
}

template <stochastic_definition Definition, bool Carries>
struct any_lane {
  stochastic_vectors v;
  __m256i largest{};

  ULP_AVX2_INLINE explicit any_lane(const encode_plan<std::uint32_t>& plan) : v(vectors_of(plan)) {}
  ULP_AVX2_INLINE __m256i code_of(__m256i x, __m256i bits) {
    const __m256i magnitude = _mm256_and_si256(x, v.magnitude);
    largest = _mm256_max_epu32(largest, magnitude);
    const __m256i limited = _mm256_min_epu32(magnitude, v.limit);
    const __m256i field = _mm256_and_si256(_mm256_max_epu32(limited, v.implicit), v.infinity);
    const __m256i significand = _mm256_add_epi32(_mm256_sub_epi32(limited, field), v.implicit);
    const __m256i binade = _mm256_max_epu32(field, v.lowest);
    const __m256i below = _mm256_srli_epi32(_mm256_sub_epi32(binade, field), 23);
    const __m256i kept =
        kept_of<Definition, Carries>(v, significand, _mm256_add_epi32(below, v.dropped_to_random), bits);
    const __m256i base = _mm256_srlv_epi32(binade, v.dropped);
    return _mm256_add_epi32(_mm256_add_epi32(kept, base), by_sign(v.offset, v.offset_and_sign, x));
  }
};

// Definition a in fewer steps. Fractions are brought to N bits: of normal results by a shift of float's own bits, of smaller
// ones by a multiplication and a conversion to integers, toward zero. On float's own grid all are normal.
struct quick_vectors {
  __m256i magnitude, limit, before_lowest, lowest, sign;
  __m256 multiplier;
  __m256i random_bits, shift;
};
std::optional<std::uint32_t> multiplier_of(const encode_plan<std::uint32_t>& plan) {
  const int field = 254 + plan.random_bits + plan.fraction_bits - plan.lowest_field;
  if (field < 1 || field > 254) return {};
  return static_cast<std::uint32_t>(field) << 23;
}
bool is_of_float(const encode_plan<std::uint32_t>& plan) {
  return plan.lowest_field == 1 && plan.sign_position == 31 - plan.dropped;
}
// Whether lanes are wide enough.
bool is_quick(const encode_plan<std::uint32_t>& plan) {
  if (!is_of_float(plan) && (plan.lowest_field < 1 || !multiplier_of(plan))) return false;
  const std::uint64_t largest = limit_of(plan) - (static_cast<std::uint64_t>(plan.lowest_field - 1) << 23);
  const int more = plan.random_bits - plan.dropped;
  return plan.random_bits < 32 && more < 32 &&
         (more > 0 ? largest << more : largest >> -more) + (std::uint64_t{1} << plan.random_bits) <= 0xFFFFFFFF;
}

template <bool OfFloat, bool Left>
struct quick_lane {
  quick_vectors v;
  __m256i largest{};

  ULP_AVX2_INLINE explicit quick_lane(const encode_plan<std::uint32_t>& plan) {
    const auto lowest = static_cast<std::uint32_t>(plan.lowest_field) << 23;
    v.magnitude = all_of(0x7FFFFFFF);
    v.limit = all_of(limit_of(plan));
    v.before_lowest = all_of(lowest - (1 << 23));
    v.lowest = all_of(lowest);
    v.sign = all_of(std::uint32_t{1} << plan.sign_position);
    v.multiplier = as_float(all_of(OfFloat ? 0 : *multiplier_of(plan)));
    v.random_bits = _mm256_set1_epi32(plan.random_bits);
    v.shift = _mm256_set1_epi32(Left ? plan.random_bits - plan.dropped : plan.dropped - plan.random_bits);
  }
  ULP_AVX2_INLINE __m256i code_of(__m256i x, __m256i bits) {
    const __m256i magnitude = _mm256_and_si256(x, v.magnitude);
    largest = _mm256_max_epu32(largest, magnitude);
    const __m256i limited = _mm256_min_epu32(magnitude, v.limit);
    __m256i fraction = OfFloat ? limited : _mm256_sub_epi32(limited, v.before_lowest);
    fraction = Left ? _mm256_sllv_epi32(fraction, v.shift) : _mm256_srlv_epi32(fraction, v.shift);
    if constexpr (!OfFloat) {
      const __m256i below = _mm256_cvttps_epi32(_mm256_mul_ps(as_float(limited), v.multiplier));
      fraction = _mm256_blendv_epi8(fraction, below, _mm256_cmpgt_epi32(v.lowest, limited));
    }
    const __m256i code = _mm256_srlv_epi32(_mm256_add_epi32(fraction, bits), v.random_bits);
    return _mm256_add_epi32(code, by_sign(_mm256_setzero_si256(), v.sign, x));
  }
};

// A lane whose random bits are in memory.
template <class Lane>
struct lane_of_bits {
  const std::uint32_t* random;
  Lane lane;

  ULP_AVX2_INLINE __m256i operator()(__m256i x, std::size_t i) { return lane.code_of(x, load(random + i)); }
  [[nodiscard]] ULP_AVX2_INLINE __m128i finer() const { return _mm_setzero_si128(); }
};

template <class Lane>
ULP_AVX2_INLINE bool left_out(const Lane& lane) {
  return _mm256_movemask_epi8(_mm256_cmpgt_epi32(lane.largest, all_of(0x7F7FFFFF))) != 0;
}

template <class Lane, class Code>
ULP_AVX2 [[gnu::noinline]] bool encode_some(const encode_plan<std::uint32_t>& plan, const float* numbers,
                                            const std::uint32_t* random, Code* codes, std::size_t size) {
  lane_of_bits<Lane> lane{random, Lane{plan}};
  put_all(numbers, codes, size, false, lane);
  return left_out(lane.lane);
}

// Codes of a group of elements, whose random bits stay in registers.
template <int Width, class Lane, class Code>
ULP_AVX2_INLINE void encode_group(Lane& lane, group_generator& generator, const lane_bits& bits, std::uint64_t block,
                                  const float* numbers, Code* codes, bool streams) {
  constexpr std::size_t in_vector = codes_of_vector<Code> / 8;
  group_words words;
  generator(block, words);
  __m256i vectors[in_vector];
#pragma GCC unroll 16
  for (std::size_t n = 0; n < 128 / Width; ++n, numbers += 16) {
    if (streams) ask_for(numbers + 16 * 128 / Width);
#pragma GCC unroll 2
    for (std::size_t side = 0; side < 2; ++side) {
      const __m256i random = bits_of_lane<Width>(bits, words[n * Width / 32][side], n);
      const std::size_t at = 2 * n + side;
      vectors[at % in_vector] = lane.code_of(load(numbers + 8 * side), random);
      if (at % in_vector != in_vector - 1) continue;
      const __m256i full = packed(vectors, _mm_setzero_si128(), static_cast<Code*>(nullptr));
      auto* const to = reinterpret_cast<__m256i*>(codes + 8 * (at + 1 - in_vector));
      streams ? _mm256_stream_si256(to, full) : _mm256_storeu_si256(to, full);
    }
  }
}

template <class Lane, int Width, class Code>
ULP_AVX2 [[gnu::noinline]] bool encode_groups(const encode_plan<std::uint32_t>& plan, const random_stream& random,
                                              std::uint64_t block, const float* numbers, Code* codes,
                                              std::size_t groups, bool streams) {
  constexpr std::size_t size = 16 * 128 / Width;
  Lane lane{plan};
  group_generator generator{random, block};
  const lane_bits bits = lanes_of<Width>(plan.random_bits);
  std::size_t g = 0;
  if (streams) {
    const std::size_t part = groups / turns;
    for (; g != part; ++g)
#pragma GCC unroll 1
      for (std::size_t at = g; at < turns * part; at += part)
        encode_group<Width>(lane, generator, bits, block + 16 * at, numbers + size * at, codes + size * at, true);
    g *= turns;
  }
  for (; g != groups; ++g)
    encode_group<Width>(lane, generator, bits, block + 16 * g, numbers + size * g, codes + size * g, false);
  return left_out(lane);
}

// Calls run(lane's type) for what the plan needs, with the control register as conversions toward zero need it.
template <stochastic_definition Definition, class Run>
bool with_lane(const encode_plan<std::uint32_t>& plan, Run run) {
  if constexpr (Definition == stochastic_definition::a) {
    if (is_quick(plan)) {
      const control_register rounds{direction::toward_zero};
      const bool left = plan.random_bits > plan.dropped;
      if (is_of_float(plan))
        return left ? run.template operator()<quick_lane<true, true>>()
                    : run.template operator()<quick_lane<true, false>>();
      return left ? run.template operator()<quick_lane<false, true>>()
                  : run.template operator()<quick_lane<false, false>>();
    }
    if (plan.carries) return run.template operator()<any_lane<Definition, true>>();
  }
  return run.template operator()<any_lane<Definition, false>>();
}

template <stochastic_definition Definition, class Code>
bool encode(const encode_plan<std::uint32_t>& plan, const float* numbers, const std::uint32_t* random, Code* codes,
            std::size_t size) {
  return with_lane<Definition>(plan,
                               [&]<class Lane>() { return encode_some<Lane>(plan, numbers, random, codes, size); });
}

template <class Code>
constexpr std::array<encode_loop<Code>, 3> loops{encode<stochastic_definition::a, Code>,
                                                 encode<stochastic_definition::b, Code>,
                                                 encode<stochastic_definition::c, Code>};

template <stochastic_definition Definition, class Code>
bool encode_all_groups(const encode_plan<std::uint32_t>& plan, const random_stream& random, std::uint64_t block,
                       const float* numbers, Code* codes, std::size_t groups, bool streams) {
  const bool past = streams && reinterpret_cast<std::uintptr_t>(codes) % 32 == 0;
  return with_lane<Definition>(plan, [&]<class Lane>() {
    const auto loop = plan.random_bits <= 8    ? encode_groups<Lane, 8, Code>
                      : plan.random_bits <= 16 ? encode_groups<Lane, 16, Code>
                                               : encode_groups<Lane, 32, Code>;
    return loop(plan, random, block, numbers, codes, groups, past);
  });
}

template <class Code>
constexpr stochastic_group_loops<Code> group_loops{encode_all_groups<stochastic_definition::a, Code>,
                                                   encode_all_groups<stochastic_definition::b, Code>,
                                                   encode_all_groups<stochastic_definition::c, Code>};

template <int Width>
ULP_AVX2 void put_groups(const random_stream& random, std::uint64_t block, int bits, std::uint32_t* out,
                         std::size_t groups) {
  group_generator generator{random, block};
  const lane_bits lanes = lanes_of<Width>(bits);
  for (; groups != 0; --groups, block += 16) {
    group_words words;
    generator(block, words);
#pragma GCC unroll 16
    for (std::size_t n = 0; n < 128 / Width; ++n)
#pragma GCC unroll 2
      for (int side = 0; side < 2; ++side, out += 8)
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(out),
                            bits_of_lane<Width>(lanes, words[n * Width / 32][side], n));
  }
}

}  // namespace

void avx2_random(const random_stream& random, std::uint64_t block, int bits, std::uint32_t* out, std::size_t groups) {
  const auto put = bits <= 8 ? put_groups<8> : bits <= 16 ? put_groups<16> : put_groups<32>;
  put(random, block, bits, out, groups);
}

extern const all_stochastic_loops avx2_stochastic_loops{{loops<std::uint8_t>, group_loops<std::uint8_t>},
                                                        {loops<std::uint16_t>, group_loops<std::uint16_t>},
                                                        {loops<std::uint32_t>, group_loops<std::uint32_t>}};

}  // namespace ulp::detail
#endif
