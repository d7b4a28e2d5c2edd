#include "integer_vectors.hpp"

#include <algorithm>
#include <bit>
#include <vector>

#include <ulp/formats/random_bits.hpp>

namespace ulp {

void for_each_integer(integer_type type, const format& to, int level, std::uint64_t seed, const vector_sink& sink) {
  const std::uint64_t mask = mask_of_bits(type.bits);
  std::vector<operand_codes> all;
  // And the opposite of those that have a sign.
  const auto emit = [&](std::uint64_t n) {
    all.push_back({n & mask, 0, 0});
    if (type.has_sign) all.push_back({(0 - n) & mask, 0, 0});
  };
  std::uint64_t drawn = 0;
  const auto random = [&] {
    const std::uint64_t high = random_bits(seed, 1, drawn, 32);
    const std::uint64_t low = random_bits(seed, 2, drawn, 32);
    ++drawn;
    return high << 32 | low;
  };

  for (std::uint64_t n = 0; n < (level > 1 ? 4096 : 40); ++n) emit(n);
  for (int k = 0; k < type.bits; ++k)
    for (const std::uint64_t around : {0, 1, 2, 3}) {
      emit((std::uint64_t{1} << k) + around);
      emit((std::uint64_t{1} << k) - around);
    }
  // The bits that are kept, the first that is not, and what follows it, of every length.
  const int kept = std::min(to.precision(), type.bits - 2);
  for (int length = kept + 1; length <= type.bits; ++length) {
    const int lost = length - kept;
    const std::uint64_t ones = mask_of_bits(kept);
    for (std::uint64_t i = 0; i < (level > 1 ? 48 : 4); ++i) {
      const std::uint64_t first = i == 0   ? ones
                                  : i == 1 ? ones - 1
                                           : (random() & ones) | std::uint64_t{1} << (kept - 1);
      const std::uint64_t half = std::uint64_t{1} << (lost - 1);
      for (const std::uint64_t rest : {std::uint64_t{0}, std::uint64_t{1}, half - 1, half, half + 1, 2 * half - 1})
        emit(first << lost | (rest & mask_of_bits(lost)));
    }
  }
  for (std::uint64_t i = 0; i < (level > 1 ? 30'000 : 300); ++i) emit(random() >> (random() % 64));

  constexpr std::size_t block_size = 4096;
  for (std::size_t at = 0; at < all.size(); at += block_size)
    sink(std::span{all}.subspan(at, std::min(block_size, all.size() - at)));
}

}  // namespace ulp
