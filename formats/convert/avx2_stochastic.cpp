// Random bits, and rounding by them.
#include "avx2.hpp"

#if defined(__x86_64__)

namespace ulp::detail {
namespace {

// Four blocks of the generator, one in the lower half of each 64-bit lane; what is in the upper half does not matter.
struct four_blocks {
  __m256i words[4];
};

constexpr int rounds = 10;
struct round_keys {
  __m256i of_word0[rounds];
  __m256i of_word2[rounds];
};

ULP_AVX2_INLINE round_keys keys_of(std::uint64_t seed) {
  round_keys keys;
  for (std::uint32_t r = 0; r < rounds; ++r) {
    keys.of_word0[r] = all_of(static_cast<std::uint32_t>(seed) + r * 0x9E3779B9);
    keys.of_word2[r] = all_of(static_cast<std::uint32_t>(seed >> 32) + r * 0xBB67AE85);
  }
  return keys;
}

ULP_AVX2_INLINE void round_of(four_blocks& b, __m256i key0, __m256i key2) {
  const __m256i x = _mm256_mul_epu32(_mm256_set1_epi64x(0xD2511F53), b.words[0]);
  const __m256i y = _mm256_mul_epu32(_mm256_set1_epi64x(0xCD9E8D57), b.words[2]);
  // The keys first: the products are what is waited for.
  b.words[0] = _mm256_xor_si256(_mm256_srli_epi64(y, 32), _mm256_xor_si256(b.words[1], key0));
  b.words[2] = _mm256_xor_si256(_mm256_srli_epi64(x, 32), _mm256_xor_si256(b.words[3], key2));
  b.words[1] = y;
  b.words[3] = x;
}

// The words of 16 blocks side by side, in two vectors each.
using group_words = __m256i[4][2];

ULP_AVX2_INLINE void generate(const random_stream& random, const round_keys& keys, std::uint64_t block,
                              group_words& words) {
  // A word of eight blocks is put together from those of 0 1 4 5 and of 2 3 6 7.
  const __m256i places[2] = {_mm256_setr_epi64x(0, 1, 4, 5), _mm256_setr_epi64x(2, 3, 6, 7)};
  // Of two times eight blocks: more words at once than there are registers would be slower.
#pragma GCC unroll 1
  for (std::size_t side = 0; side < 2; ++side) {
    four_blocks b[2];
#pragma GCC unroll 2
    for (std::size_t i = 0; i < 2; ++i) {
      const __m256i first = _mm256_set1_epi64x(static_cast<long long>(block + 8 * side));
      // The blocks differ in their lowest bits only.
      b[i] = {{_mm256_add_epi64(first, places[i]), all_of(static_cast<std::uint32_t>(block >> 32)),
               all_of(static_cast<std::uint32_t>(random.stream)),
               all_of(static_cast<std::uint32_t>(random.stream >> 32))}};
    }
#pragma GCC unroll 10
    for (int r = 0; r < rounds; ++r)
#pragma GCC unroll 2
      for (four_blocks& four : b) round_of(four, keys.of_word0[r], keys.of_word2[r]);
#pragma GCC unroll 4
    for (int w = 0; w < 4; ++w)
      words[w][side] = as_bits(_mm256_shuffle_ps(as_float(b[0].words[w]), as_float(b[1].words[w]), 0x88));
  }
}

// How the random bits of 16 elements are taken out of a word: lane `n` of `Width` bits.
struct lane_bits {
  __m256i mask;
  int bits;
};
template <int Width>
ULP_AVX2_INLINE __m256i bits_of_lane(const lane_bits& lanes, __m256i word, int n) {
  const __m128i dropped = _mm_cvtsi32_si128((n % (32 / Width) + 1) * Width - lanes.bits);
  return _mm256_and_si256(_mm256_srl_epi32(word, dropped), lanes.mask);
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

  ULP_AVX2_INLINE __m256i operator()(__m256i x, std::size_t i) { return code_of(x, load(random + i)); }

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

  ULP_AVX2_INLINE bool left_out() const {
    return _mm256_movemask_epi8(_mm256_cmpgt_epi32(largest, all_of(0x7F7FFFFF))) != 0;
  }
};

template <stochastic_definition Definition, bool Carries, class Code>
ULP_AVX2 bool encode_lanes(const encode_plan<std::uint32_t>& plan, const float* numbers, const std::uint32_t* random,
                           Code* codes, std::size_t size) {
  stochastic_lane<Definition, Carries> lane{random, vectors_of(plan)};
  put_all(numbers, codes, size, false, lane);
  return lane.left_out();
}

template <stochastic_definition Definition, class Code>
bool encode(const encode_plan<std::uint32_t>& plan, const float* numbers, const std::uint32_t* random, Code* codes,
            std::size_t size) {
  if constexpr (Definition == stochastic_definition::a)
    if (plan.carries) return encode_lanes<Definition, true>(plan, numbers, random, codes, size);
  return encode_lanes<Definition, false>(plan, numbers, random, codes, size);
}

template <class Code>
constexpr std::array<encode_loop<Code>, 3> loops{encode<stochastic_definition::a, Code>,
                                                 encode<stochastic_definition::b, Code>,
                                                 encode<stochastic_definition::c, Code>};

// Whole groups of elements, whose random bits stay in registers.
template <stochastic_definition Definition, bool Carries, int Width, class Code>
ULP_AVX2 bool encode_groups(const encode_plan<std::uint32_t>& plan, const random_stream& random, std::uint64_t block,
                            const float* numbers, Code* codes, std::size_t groups, bool streams) {
  constexpr int lanes_of_group = 128 / Width;
  constexpr std::size_t ahead = 512;
  stochastic_lane<Definition, Carries> lane{nullptr, vectors_of(plan)};
  const round_keys keys = keys_of(random.seed);
  const lane_bits bits{all_of(~std::uint32_t{0} >> (32 - plan.random_bits)), plan.random_bits};
  for (; groups != 0; --groups, block += 16) {
    group_words words;
    generate(random, keys, block, words);
    __m256i vectors[codes_of_vector<Code> / 8];
    std::size_t filled = 0;
#pragma GCC unroll 16
    for (int n = 0; n < lanes_of_group; ++n, numbers += 16) {
      _mm_prefetch(reinterpret_cast<const char*>(numbers + ahead), _MM_HINT_T0);
#pragma GCC unroll 2
      for (int side = 0; side < 2; ++side) {
        const __m256i r = bits_of_lane<Width>(bits, words[n * Width / 32][side], n);
        vectors[filled++] = lane.code_of(load(numbers + 8 * side), r);
        if (filled != codes_of_vector<Code> / 8) continue;
        const __m256i full = packed(vectors, static_cast<Code*>(nullptr));
        if (streams)
          _mm256_stream_si256(reinterpret_cast<__m256i*>(codes), full);
        else
          _mm256_storeu_si256(reinterpret_cast<__m256i*>(codes), full);
        codes += codes_of_vector<Code>;
        filled = 0;
      }
    }
  }
  return lane.left_out();
}

template <stochastic_definition Definition, class Code>
bool encode_all_groups(const encode_plan<std::uint32_t>& plan, const random_stream& random, std::uint64_t block,
                       const float* numbers, Code* codes, std::size_t groups, bool streams) {
  const bool past = streams && reinterpret_cast<std::uintptr_t>(codes) % 32 == 0;
  if constexpr (Definition == stochastic_definition::a)
    if (plan.carries) {
      // Fewer bits always fit.
      const auto loop = plan.random_bits <= 16 ? encode_groups<Definition, true, 16, Code>
                                               : encode_groups<Definition, true, 32, Code>;
      return loop(plan, random, block, numbers, codes, groups, past);
    }
  const auto loop = plan.random_bits <= 8    ? encode_groups<Definition, false, 8, Code>
                    : plan.random_bits <= 16 ? encode_groups<Definition, false, 16, Code>
                                             : encode_groups<Definition, false, 32, Code>;
  return loop(plan, random, block, numbers, codes, groups, past);
}

template <class Code>
constexpr stochastic_group_loops<Code> group_loops{encode_all_groups<stochastic_definition::a, Code>,
                                                   encode_all_groups<stochastic_definition::b, Code>,
                                                   encode_all_groups<stochastic_definition::c, Code>};

template <int Width>
ULP_AVX2 void put_groups(const random_stream& random, std::uint64_t block, int bits, std::uint32_t* out,
                         std::size_t groups) {
  const round_keys keys = keys_of(random.seed);
  const lane_bits lanes{all_of(~std::uint32_t{0} >> (32 - bits)), bits};
  for (; groups != 0; --groups, block += 16) {
    group_words words;
    generate(random, keys, block, words);
#pragma GCC unroll 16
    for (int n = 0; n < 128 / Width; ++n)
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
