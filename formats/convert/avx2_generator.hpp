// random_bits.hpp's generator, 16 blocks of it at a time, by AVX2.
#ifndef ULP_FORMATS_CONVERT_AVX2_GENERATOR_HPP
#define ULP_FORMATS_CONVERT_AVX2_GENERATOR_HPP

#include "avx2.hpp"

#if defined(__x86_64__)

namespace ulp::detail {

// The words of 16 blocks side by side, in two vectors each.
using group_words = __m256i[4][2];

// The blocks of a stream. Of a block's four words, three are the same in all blocks of a group, and so are four of the
// products and sums of its first rounds: these are computed once.
class group_generator {
 public:
  ULP_AVX2_INLINE group_generator(const random_stream& random, std::uint64_t block) : random_(random) {
    for (std::uint32_t r = 0; r < rounds; ++r) {
      keys0_[r] = all_of(key0(r));
      keys2_[r] = all_of(key2(r));
    }
    begin_at(static_cast<std::uint32_t>(block >> 32));
  }

  // `block`: the first of the 16, a multiple of 16.
  ULP_AVX2_INLINE void operator()(std::uint64_t block, group_words& words) {
    if (static_cast<std::uint32_t>(block >> 32) != high_) begin_at(static_cast<std::uint32_t>(block >> 32));
    // A word of eight blocks is put together from those of 0 1 4 5 and of 2 3 6 7.
    const __m256i places[2] = {_mm256_setr_epi64x(0, 1, 4, 5), _mm256_setr_epi64x(2, 3, 6, 7)};
    // Of two times eight blocks: more words at once than there are registers would be slower.
#pragma GCC unroll 1
    for (std::size_t side = 0; side < 2; ++side) {
      const __m256i first = _mm256_set1_epi64x(static_cast<long long>(block + 8 * side));
      four_blocks b[2];
#pragma GCC unroll 2
      for (std::size_t i = 0; i < 2; ++i) b[i] = after_three_rounds(_mm256_add_epi64(first, places[i]));
#pragma GCC unroll 10
      for (int r = 3; r < rounds; ++r)
#pragma GCC unroll 2
        for (four_blocks& four : b) round_of(four, keys0_[r], keys2_[r]);
#pragma GCC unroll 4
      for (int w = 0; w < 4; ++w)
        words[w][side] = as_bits(_mm256_shuffle_ps(as_float(b[0].words[w]), as_float(b[1].words[w]), 0x88));
    }
  }

 private:
  static constexpr int rounds = 10;
  static constexpr std::uint32_t multiplier0 = 0xD2511F53;
  static constexpr std::uint32_t multiplier2 = 0xCD9E8D57;

  // Four blocks, a word in the lower half of each 64-bit lane; what is in the upper half does not matter.
  struct four_blocks {
    __m256i words[4];
  };

  [[nodiscard]] std::uint32_t key0(std::uint32_t r) const {
    return static_cast<std::uint32_t>(random_.seed) + r * 0x9E3779B9;
  }
  [[nodiscard]] std::uint32_t key2(std::uint32_t r) const {
    return static_cast<std::uint32_t>(random_.seed >> 32) + r * 0xBB67AE85;
  }

  ULP_AVX2_INLINE void begin_at(std::uint32_t high) {
    high_ = high;
    // Words 0 and 1 after the first round, and 3 after the second.
    const auto stream0 = static_cast<std::uint32_t>(random_.stream);
    const auto stream1 = static_cast<std::uint32_t>(random_.stream >> 32);
    const std::uint64_t y = std::uint64_t{multiplier2} * stream0;
    const std::uint32_t word0 = static_cast<std::uint32_t>(y >> 32) ^ high ^ key0(0);
    const std::uint64_t x = std::uint64_t{multiplier0} * word0;
    first_of_word2_ = all_of(stream1 ^ key2(0));
    second_of_word0_ = all_of(static_cast<std::uint32_t>(y) ^ key0(1));
    second_of_word2_ = all_of(static_cast<std::uint32_t>(x >> 32) ^ key2(1));
    third_of_word2_ = all_of(static_cast<std::uint32_t>(x) ^ key2(2));
  }

  ULP_AVX2_INLINE static __m256i times0(__m256i word) {
    return _mm256_mul_epu32(_mm256_set1_epi64x(multiplier0), word);
  }
  ULP_AVX2_INLINE static __m256i times2(__m256i word) {
    return _mm256_mul_epu32(_mm256_set1_epi64x(multiplier2), word);
  }
  ULP_AVX2_INLINE static __m256i upper(__m256i product) { return _mm256_srli_epi64(product, 32); }

  ULP_AVX2_INLINE four_blocks after_three_rounds(__m256i blocks) const {
    const __m256i x0 = times0(blocks);
    const __m256i y1 = times2(_mm256_xor_si256(upper(x0), first_of_word2_));
    const __m256i x2 = times0(_mm256_xor_si256(upper(y1), second_of_word0_));
    const __m256i y2 = times2(_mm256_xor_si256(x0, second_of_word2_));
    return {{_mm256_xor_si256(upper(y2), _mm256_xor_si256(y1, keys0_[2])), y2,
             _mm256_xor_si256(upper(x2), third_of_word2_), x2}};
  }
  ULP_AVX2_INLINE static void round_of(four_blocks& b, __m256i key0, __m256i key2) {
    const __m256i x = times0(b.words[0]);
    const __m256i y = times2(b.words[2]);
    // The keys first: the products are what is waited for.
    __m256i m1 = _mm256_xor_si256(b.words[1], key0);
    __m256i m3 = _mm256_xor_si256(b.words[3], key2);
    asm("" : "+x"(m1), "+x"(m3));
    b.words[0] = _mm256_xor_si256(upper(y), m1);
    b.words[2] = _mm256_xor_si256(upper(x), m3);
    b.words[1] = y;
    b.words[3] = x;
  }

  random_stream random_;
  std::uint32_t high_ = 0;
  __m256i first_of_word2_, second_of_word0_, second_of_word2_, third_of_word2_;
  __m256i keys0_[rounds];
  __m256i keys2_[rounds];
};

// How the random bits of 16 elements are taken out of a word: lane `n` of `Width` bits.
struct lane_bits {
  __m256i mask;
  __m256i dropped[4];
};
template <int Width>
ULP_AVX2_INLINE lane_bits lanes_of(int bits) {
  lane_bits lanes;
  lanes.mask = all_of(~std::uint32_t{0} >> (32 - bits));
  for (int n = 0; n < 32 / Width; ++n) lanes.dropped[n] = _mm256_set1_epi32((n + 1) * Width - bits);
  return lanes;
}
template <int Width>
ULP_AVX2_INLINE __m256i bits_of_lane(const lane_bits& lanes, __m256i word, std::size_t n) {
  constexpr std::size_t lanes_of_word = 32 / Width;
  const __m256i bits = _mm256_srlv_epi32(word, lanes.dropped[n % lanes_of_word]);
  // Nothing is above the last.
  return n % lanes_of_word == lanes_of_word - 1 ? bits : _mm256_and_si256(bits, lanes.mask);
}

}  // namespace ulp::detail

#endif
#endif
