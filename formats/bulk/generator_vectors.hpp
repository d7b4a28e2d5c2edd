// random_bits.hpp's generator, 16 blocks of it at a time. Included after avx2.hpp or avx512.hpp.
#ifndef ULP_FORMATS_BULK_GENERATOR_VECTORS_HPP
#define ULP_FORMATS_BULK_GENERATOR_VECTORS_HPP

#include "kernels.hpp"

#if defined(ULP_VECTORS)

namespace ulp::detail::ULP_VECTORS {

// The words of 16 blocks side by side, in one vector each or two.
inline constexpr std::size_t sides = 16 / lane_count;
using group_words = vector[4][sides];

// The blocks of a stream. Of a block's four words, three are the same in all blocks of a group, and so are four of the
// products and sums of its first rounds: these are computed once.
class group_generator {
 public:
  ULP_VECTOR_INLINE group_generator(const random_stream& random, std::uint64_t block) : random_(random) {
    for (std::uint32_t r = 0; r < rounds; ++r) {
      keys0_[r] = all_of(key0(r));
      keys2_[r] = all_of(key2(r));
    }
    begin_at(static_cast<std::uint32_t>(block >> 32));
  }

  // `block`: the first of the 16, a multiple of 16.
  ULP_VECTOR_INLINE void operator()(std::uint64_t block, group_words& words) {
    if (static_cast<std::uint32_t>(block >> 32) != high_) begin_at(static_cast<std::uint32_t>(block >> 32));
    const vector places[2] = {of_first(), of_second()};
    // More words at once than there are registers would be slower.
#pragma GCC unroll 1
    for (std::size_t side = 0; side < sides; ++side) {
      const vector first = all_of64(block + lane_count * side);
      some_blocks b[2];
#pragma GCC unroll 2
      for (std::size_t i = 0; i < 2; ++i) b[i] = after_three_rounds(add64(first, places[i]));
#pragma GCC unroll 10
      for (int r = 3; r < rounds; ++r)
#pragma GCC unroll 2
        for (some_blocks& some : b) round_of(some, keys0_[r], keys2_[r]);
#pragma GCC unroll 4
      for (int w = 0; w < 4; ++w) words[w][side] = lower_halves(b[0].words[w], b[1].words[w]);
    }
  }

 private:
  static constexpr int rounds = 10;
  static constexpr std::uint32_t multiplier0 = 0xD2511F53;
  static constexpr std::uint32_t multiplier2 = 0xCD9E8D57;

  // A block in each 64-bit lane, a word in its lower half; what is in the upper half does not matter.
  struct some_blocks {
    vector words[4];
  };

  [[nodiscard]] std::uint32_t key0(std::uint32_t r) const {
    return static_cast<std::uint32_t>(random_.seed) + r * 0x9E3779B9;
  }
  [[nodiscard]] std::uint32_t key2(std::uint32_t r) const {
    return static_cast<std::uint32_t>(random_.seed >> 32) + r * 0xBB67AE85;
  }

  ULP_VECTOR_INLINE void begin_at(std::uint32_t high) {
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

  ULP_VECTOR_INLINE static vector times0(vector word) { return product(all_of64(multiplier0), word); }
  ULP_VECTOR_INLINE static vector times2(vector word) { return product(all_of64(multiplier2), word); }

  ULP_VECTOR_INLINE some_blocks after_three_rounds(vector blocks) const {
    const vector x0 = times0(blocks);
    const vector y1 = times2(flipped(upper(x0), first_of_word2_));
    const vector x2 = times0(flipped(upper(y1), second_of_word0_));
    const vector y2 = times2(flipped(x0, second_of_word2_));
    return {{flipped(upper(y2), flipped(y1, keys0_[2])), y2, flipped(upper(x2), third_of_word2_), x2}};
  }
  ULP_VECTOR_INLINE static void round_of(some_blocks& b, vector key0, vector key2) {
    const vector x = times0(b.words[0]);
    const vector y = times2(b.words[2]);
    b.words[0] = flipped_late(upper(y), b.words[1], key0);
    b.words[2] = flipped_late(upper(x), b.words[3], key2);
    b.words[1] = y;
    b.words[3] = x;
  }

  random_stream random_;
  std::uint32_t high_ = 0;
  vector first_of_word2_, second_of_word0_, second_of_word2_, third_of_word2_;
  vector keys0_[rounds];
  vector keys2_[rounds];
};

// How the random bits of 16 elements are taken out of a word: lane `n` of `Width` bits.
struct lane_bits {
  vector mask;
  vector dropped[4];
};
template <int Width>
ULP_VECTOR_INLINE lane_bits lanes_of(int bits) {
  lane_bits lanes;
  lanes.mask = all_of(~std::uint32_t{0} >> (32 - bits));
  for (int n = 0; n < 32 / Width; ++n) lanes.dropped[n] = all_of((n + 1) * Width - bits);
  return lanes;
}
template <int Width>
ULP_VECTOR_INLINE vector bits_of_lane(const lane_bits& lanes, vector word, std::size_t n) {
  constexpr std::size_t lanes_of_word = 32 / Width;
  const vector bits = shifted_right(word, lanes.dropped[n % lanes_of_word]);
  // Nothing is above the last.
  return n % lanes_of_word == lanes_of_word - 1 ? bits : both(bits, lanes.mask);
}

}  // namespace ulp::detail::ULP_VECTORS

#endif
#endif
