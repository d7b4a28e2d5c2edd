// Random bits as a pure function of (seed, stream, index): the same for every thread count, chunking and order.
//
// Generator: Philox4x32 with 10 rounds (Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3",
// SC 2011). Layout, fixed for good: key = seed, low word first; counter = (block, stream), 64 bits each, low word first.
// n random bits take lanes of w = 8, 16 or 32 bits (the smallest not below n), L = 128/w lanes a block; lanes count up
// from the low end of the first output word. Element i takes
//     block (i div 16L) * 16 + i mod 16,   lane (i div 16) mod L,   the top n bits of the lane,
// so that 16 consecutive elements come from 16 consecutive blocks, which vector units compute side by side.
// constexpr, no exceptions, no allocation, no state.
#ifndef ULP_FORMATS_RANDOM_BITS_HPP
#define ULP_FORMATS_RANDOM_BITS_HPP

#include <array>
#include <cstdint>
#include <string_view>

namespace ulp {

// One Philox4x32-10 block.
[[nodiscard]] constexpr std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter,
                                                                std::array<std::uint32_t, 2> key) noexcept {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xD2511F53} * counter[0];
    const std::uint64_t b = std::uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<std::uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(b),
               static_cast<std::uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(a)};
    key[0] += 0x9E3779B9;  // golden ratio
    key[1] += 0xBB67AE85;  // sqrt(3) - 1
  }
  return counter;
}

// `bits` (1..32) random bits of element `index`: a value below 2^bits.
[[nodiscard]] constexpr std::uint32_t random_bits(std::uint64_t seed, std::uint64_t stream, std::uint64_t index,
                                                  int bits) noexcept {
  const unsigned width = bits <= 8 ? 8 : bits <= 16 ? 16 : 32;
  const unsigned lanes = 128 / width;
  const std::uint64_t block = index / (16 * lanes) * 16 + index % 16;
  const auto lane = static_cast<unsigned>(index / 16 % lanes);
  const auto words = philox4x32({static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32),
                                 static_cast<std::uint32_t>(stream), static_cast<std::uint32_t>(stream >> 32)},
                                {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)});
  const std::uint32_t word = words[lane * width / 32];
  const std::uint32_t value = width == 32 ? word : (word >> (lane * width % 32)) & ((std::uint32_t{1} << width) - 1);
  return value >> (width - static_cast<unsigned>(bits));
}

// Word `word` of the random bits of element `index` where it takes more than 32 (exact_probability in rounding.hpp): word 0
// is random_bits of 32, the others those of streams apart from `stream` by multiples of 2^64 / golden ratio.
[[nodiscard]] constexpr std::uint32_t random_word(std::uint64_t seed, std::uint64_t stream, std::uint64_t index,
                                                  std::uint64_t word) noexcept {
  return random_bits(seed, stream + word * 0x9E3779B97F4A7C15, index, 32);
}

// The stream of a tensor at a step: FNV-1a (64 bits, offset basis 0xCBF29CE484222325, prime 0x100000001B3) over the
// bytes of the name and then the 8 bytes of the step, low byte first, finished with SplitMix64's mixer
// (Steele, Lea, Flood, OOPSLA 2014; Stafford's variant 13).
[[nodiscard]] constexpr std::uint64_t stream_of(std::string_view tensor, std::int64_t step) noexcept {
  std::uint64_t h = 0xCBF29CE484222325;
  const auto take = [&h](std::uint8_t byte) { h = (h ^ byte) * 0x100000001B3; };
  for (const char c : tensor) take(static_cast<std::uint8_t>(c));
  for (int i = 0; i < 8; ++i) take(static_cast<std::uint8_t>(static_cast<std::uint64_t>(step) >> (8 * i)));
  h = (h ^ (h >> 30)) * 0xBF58476D1CE4E5B9;
  h = (h ^ (h >> 27)) * 0x94D049BB133111EB;
  return h ^ (h >> 31);
}

}  // namespace ulp

#endif
