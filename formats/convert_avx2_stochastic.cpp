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
  b.words[0] = _mm256_xor_si256(_mm256_xor_si256(_mm256_srli_epi64(y, 32), b.words[1]), key0);
  b.words[2] = _mm256_xor_si256(_mm256_xor_si256(_mm256_srli_epi64(x, 32), b.words[3]), key1);
  b.words[1] = y;
  b.words[3] = x;
}

// As rounded() of convert_loops.hpp. Shifts by more than the width leave zero.
template <stochastic_definition Definition>
struct stochastic_lane {
  const std::uint32_t* random;
  __m256i magnitude, implicit, infinity, lowest, limit, offset, dropped_to_random, one, width, half, sign;
  __m128i fraction_bits, dropped, widening, random_bits;
  __m256i largest{};

  ULP_AVX2_INLINE __m256i cut(__m256i significand, __m256i shift) const {
    if constexpr (Definition == stochastic_definition::a) return _mm256_srlv_epi32(significand, shift);
    if constexpr (Definition == stochastic_definition::b) {
      const __m256i twice = _mm256_srlv_epi32(significand, _mm256_sub_epi32(shift, one));
      return _mm256_srli_epi32(_mm256_add_epi32(twice, one), 1);
    }
    const __m256i odd = _mm256_and_si256(_mm256_srlv_epi32(significand, shift), one);
    const __m256i below_half = _mm256_srlv_epi32(half, _mm256_sub_epi32(width, shift));
    return _mm256_srlv_epi32(_mm256_add_epi32(_mm256_add_epi32(significand, below_half), odd), shift);
  }

  ULP_AVX2_INLINE __m256i operator()(__m256i x, std::size_t i) {
    const __m256i m = _mm256_and_si256(x, magnitude);
    largest = _mm256_max_epu32(largest, m);
    const __m256i field = _mm256_and_si256(_mm256_max_epu32(m, implicit), infinity);
    const __m256i significand = _mm256_add_epi32(_mm256_sub_epi32(m, field), implicit);
    const __m256i binade = _mm256_max_epu32(field, lowest);
    const __m256i shift =
        _mm256_add_epi32(_mm256_srl_epi32(_mm256_sub_epi32(binade, field), fraction_bits), dropped_to_random);
    const __m256i to_random = cut(_mm256_sll_epi32(significand, widening), shift);
    const __m256i kept = _mm256_srl_epi32(_mm256_add_epi32(to_random, load(random + i)), random_bits);
    const __m256i base = _mm256_add_epi32(_mm256_srl_epi32(binade, dropped), offset);
    const __m256i code = _mm256_min_epu32(_mm256_add_epi32(kept, base), limit);
    return _mm256_or_si256(code, by_sign(_mm256_setzero_si256(), sign, x));
  }
};

template <stochastic_definition Definition, class Code>
ULP_AVX2 bool encode(const encode_plan<std::uint32_t>& plan, const float* numbers, const std::uint32_t* random,
                     Code* codes, std::size_t size) {
  const std::uint32_t lowest = static_cast<std::uint32_t>(plan.lowest_field) << 23;
  const auto count = [](int n) { return _mm_cvtsi32_si128(n); };
  stochastic_lane<Definition> lane{.random = random,
                                   .magnitude = all_of(0x7FFFFFFF),
                                   .implicit = all_of(0x800000),
                                   .infinity = all_of(0x7F800000),
                                   .lowest = all_of(lowest),
                                   .limit = all_of(plan.limit[0]),
                                   .offset = all_of(0 - (lowest >> plan.dropped)),
                                   .dropped_to_random = all_of(static_cast<std::uint32_t>(plan.dropped_to_random)),
                                   .one = all_of(1),
                                   .width = all_of(32),
                                   .half = all_of(0x7FFFFFFF),
                                   .sign = all_of(std::uint32_t{1} << plan.sign_position),
                                   .fraction_bits = count(23),
                                   .dropped = count(plan.dropped),
                                   .widening = count(plan.widening),
                                   .random_bits = count(plan.random_bits)};
  put_all(numbers, codes, size, false, lane);
  return _mm256_movemask_epi8(_mm256_cmpgt_epi32(lane.largest, all_of(0x7F7FFFFF))) != 0;
}

}  // namespace

ULP_AVX2 void avx2_random(const random_stream& random, std::uint64_t block, int bits, std::uint32_t* out,
                          std::size_t groups, const float* coming) {
  constexpr int rounds = 10;
  const int width = bits <= 8 ? 8 : bits <= 16 ? 16 : 32;
  const __m128i dropped = _mm_cvtsi32_si128(width - bits);
  const __m256i mask = all_of(static_cast<std::uint32_t>((std::uint64_t{1} << width) - 1));
  __m256i keys[2][rounds];
  for (std::uint32_t r = 0; r < rounds; ++r) {
    keys[0][r] = all_of(static_cast<std::uint32_t>(random.seed) + r * 0x9E3779B9);
    keys[1][r] = all_of(static_cast<std::uint32_t>(random.seed >> 32) + r * 0xBB67AE85);
  }
  const __m256i even = _mm256_setr_epi64x(0, 1, 4, 5);
  const __m256i odd = _mm256_setr_epi64x(2, 3, 6, 7);
  for (; groups != 0; --groups, block += 16) {
    __m256i words[4][2];
    for (std::size_t half = 0; half < 2; ++half) {
      four_blocks a = start(block + 8 * half, even, random);
      four_blocks b = start(block + 8 * half, odd, random);
#pragma GCC unroll 10
      for (int r = 0; r < rounds; ++r) {
        round_of(a, keys[0][r], keys[1][r]);
        round_of(b, keys[0][r], keys[1][r]);
      }
      for (int w = 0; w < 4; ++w)
        words[w][half] = as_bits(_mm256_shuffle_ps(as_float(a.words[w]), as_float(b.words[w]), 0x88));
    }
    if (coming != nullptr)
      for (int i = 0; i < 4 * 128 / width; ++i, coming += 16)
        _mm_prefetch(reinterpret_cast<const char*>(coming), _MM_HINT_T0);
    for (const auto& word : words)
      for (int shift = 0; shift < 32; shift += width)
        for (const __m256i& eight : word) {
          const __m256i lane = _mm256_and_si256(_mm256_srl_epi32(eight, _mm_cvtsi32_si128(shift)), mask);
          _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), _mm256_srl_epi32(lane, dropped));
          out += 8;
        }
  }
}

namespace {
template <class Code>
constexpr stochastic_loops<Code> loops{encode<stochastic_definition::a, Code>, encode<stochastic_definition::b, Code>,
                                       encode<stochastic_definition::c, Code>};
}  // namespace

extern const all_stochastic_loops avx2_stochastic_loops{loops<std::uint8_t>, loops<std::uint16_t>,
                                                        loops<std::uint32_t>};

}  // namespace ulp::detail
#endif
