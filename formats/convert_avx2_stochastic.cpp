// Random bits, and rounding by them.
#include "convert_avx2.hpp"

#if defined(__x86_64__)

namespace ulp::detail {
namespace {

// Four blocks of the generator, one in the lower half of each 64-bit lane; what is in the upper half does not matter.
struct four_blocks {
  __m256i words[4];
};
// The words of eight blocks, 32 bits each, are put together from 0 1 4 5 and 2 3 6 7.
ULP_AVX2_INLINE four_blocks start(std::uint64_t block, __m256i places, const random_stream& random) {
  const __m256i all = _mm256_add_epi64(_mm256_set1_epi64x(static_cast<long long>(block)), places);
  return {{all, _mm256_srli_epi64(all, 32), _mm256_set1_epi64x(static_cast<long long>(random.stream)),
           _mm256_set1_epi64x(static_cast<long long>(random.stream >> 32))}};
}
ULP_AVX2_INLINE void round_of(four_blocks& b, __m256i key0, __m256i key1) {
  const __m256i x = _mm256_mul_epu32(_mm256_set1_epi64x(0xD2511F53), b.words[0]);
  const __m256i y = _mm256_mul_epu32(_mm256_set1_epi64x(0xCD9E8D57), b.words[2]);
  // The keys first: the products are what is waited for.
  b.words[0] = _mm256_xor_si256(_mm256_srli_epi64(y, 32), _mm256_xor_si256(b.words[1], key0));
  b.words[2] = _mm256_xor_si256(_mm256_srli_epi64(x, 32), _mm256_xor_si256(b.words[3], key1));
  b.words[1] = y;
  b.words[3] = x;
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
  const std::uint32_t limit = plan.limit[0];
  const std::uint32_t limit_field = (limit >> plan.fraction_bits) + static_cast<std::uint32_t>(plan.lowest_field) - 1;
  const std::uint32_t limit_fraction = limit & ((std::uint32_t{1} << plan.fraction_bits) - 1);
  const std::uint32_t largest_finite = 0x7F7FFFFF;
  return {.magnitude = _mm256_set1_epi32(0x7FFFFFFF),
          .implicit = _mm256_set1_epi32(0x800000),
          .infinity = _mm256_set1_epi32(0x7F800000),
          // Larger numbers are taken for the one whose code is the limit, and which is exact.
          .limit = all_of(limit_field > 254 ? largest_finite : limit_field << 23 | limit_fraction << plan.dropped),
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
struct stochastic_lane {
  const std::uint32_t* random;
  stochastic_vectors v;
  __m256i largest{};

  ULP_AVX2_INLINE __m256i operator()(__m256i x, std::size_t i) {
    const __m256i magnitude = _mm256_and_si256(x, v.magnitude);
    largest = _mm256_max_epu32(largest, magnitude);
    const __m256i limited = _mm256_min_epu32(magnitude, v.limit);
    const __m256i field = _mm256_and_si256(_mm256_max_epu32(limited, v.implicit), v.infinity);
    const __m256i significand = _mm256_add_epi32(_mm256_sub_epi32(limited, field), v.implicit);
    const __m256i binade = _mm256_max_epu32(field, v.lowest);
    const __m256i below = _mm256_srli_epi32(_mm256_sub_epi32(binade, field), 23);
    const __m256i kept =
        kept_of<Definition, Carries>(v, significand, _mm256_add_epi32(below, v.dropped_to_random), load(random + i));
    const __m256i base = _mm256_srlv_epi32(binade, v.dropped);
    return _mm256_add_epi32(_mm256_add_epi32(kept, base), by_sign(v.offset, v.offset_and_sign, x));
  }
};

template <stochastic_definition Definition, bool Carries, class Code>
ULP_AVX2 bool encode_lanes(const encode_plan<std::uint32_t>& plan, const float* numbers, const std::uint32_t* random,
                           Code* codes, std::size_t size) {
  stochastic_lane<Definition, Carries> lane{random, vectors_of(plan)};
  put_all(numbers, codes, size, false, lane);
  return _mm256_movemask_epi8(_mm256_cmpgt_epi32(lane.largest, all_of(0x7F7FFFFF))) != 0;
}

template <stochastic_definition Definition, class Code>
bool encode(const encode_plan<std::uint32_t>& plan, const float* numbers, const std::uint32_t* random, Code* codes,
            std::size_t size) {
  if constexpr (Definition == stochastic_definition::a)
    if (plan.carries) return encode_lanes<Definition, true>(plan, numbers, random, codes, size);
  return encode_lanes<Definition, false>(plan, numbers, random, codes, size);
}

template <class Code>
constexpr stochastic_loops<Code> loops{encode<stochastic_definition::a, Code>, encode<stochastic_definition::b, Code>,
                                       encode<stochastic_definition::c, Code>};

// The random bits of lanes of `Width` bits, of eight blocks on each side.
template <int Width>
ULP_AVX2_INLINE std::uint32_t* put_lanes(const __m256i (&words)[4][2], int bits, std::uint32_t* out) {
  const __m256i mask = all_of(~std::uint32_t{0} >> (32 - bits));
#pragma GCC unroll 4
  for (int w = 0; w < 4; ++w)
#pragma GCC unroll 4
    for (int shift = 0; shift < 32; shift += Width) {
      const __m128i dropped = _mm_cvtsi32_si128(shift + Width - bits);
#pragma GCC unroll 2
      for (int side = 0; side < 2; ++side, out += 8) {
        const __m256i lanes = _mm256_srl_epi32(words[w][side], dropped);
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), _mm256_and_si256(lanes, mask));
      }
    }
  return out;
}

// Groups of 16 blocks.
template <int Width>
ULP_AVX2_INLINE void put_groups(const random_stream& random, std::uint64_t block, int bits, std::uint32_t* out,
                                std::size_t groups, const float* coming) {
  constexpr int rounds = 10;
  __m256i keys[2][rounds];
  for (std::uint32_t r = 0; r < rounds; ++r) {
    keys[0][r] = all_of(static_cast<std::uint32_t>(random.seed) + r * 0x9E3779B9);
    keys[1][r] = all_of(static_cast<std::uint32_t>(random.seed >> 32) + r * 0xBB67AE85);
  }
  const __m256i even = _mm256_setr_epi64x(0, 1, 4, 5);
  const __m256i odd = _mm256_setr_epi64x(2, 3, 6, 7);
  for (; groups != 0; --groups, block += 16) {
    __m256i words[4][2];
#pragma GCC unroll 2
    for (std::size_t side = 0; side < 2; ++side) {
      four_blocks a = start(block + 8 * side, even, random);
      four_blocks b = start(block + 8 * side, odd, random);
#pragma GCC unroll 10
      for (int r = 0; r < rounds; ++r) {
        round_of(a, keys[0][r], keys[1][r]);
        round_of(b, keys[0][r], keys[1][r]);
      }
#pragma GCC unroll 4
      for (int w = 0; w < 4; ++w)
        words[w][side] = as_bits(_mm256_shuffle_ps(as_float(a.words[w]), as_float(b.words[w]), 0x88));
    }
    if (coming != nullptr)
      for (int i = 0; i < 128 / Width * 16; i += 16, coming += 16)
        _mm_prefetch(reinterpret_cast<const char*>(coming), _MM_HINT_T0);
    out = put_lanes<Width>(words, bits, out);
  }
}

}  // namespace

ULP_AVX2 void avx2_random(const random_stream& random, std::uint64_t block, int bits, std::uint32_t* out,
                          std::size_t groups, const float* coming) {
  if (bits <= 8)
    put_groups<8>(random, block, bits, out, groups, coming);
  else if (bits <= 16)
    put_groups<16>(random, block, bits, out, groups, coming);
  else
    put_groups<32>(random, block, bits, out, groups, coming);
}

extern const all_stochastic_loops avx2_stochastic_loops{loops<std::uint8_t>, loops<std::uint16_t>,
                                                        loops<std::uint32_t>};

}  // namespace ulp::detail
#endif
