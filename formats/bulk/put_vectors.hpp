// Codes of arrays, a vector at a time. Included after avx2.hpp or avx512.hpp.
#ifndef ULP_FORMATS_BULK_PUT_VECTORS_HPP
#define ULP_FORMATS_BULK_PUT_VECTORS_HPP

#include "kernels.hpp"

#if defined(ULP_VECTORS)
#include <algorithm>

namespace ulp::detail::ULP_VECTORS {

// As many elements as make a vector of codes.
template <class Code>
inline constexpr std::size_t codes_of_vector = sizeof(vector) / sizeof(Code);

// Codes of numbers i .. i + codes_of_vector - 1: lane(x, i) is those of a vector, times 2^lane.finer() if of 8 bits.
template <class Code, class Lane>
ULP_VECTOR_INLINE vector vector_of_codes(const float* numbers, std::size_t i, Lane& lane) {
  constexpr std::size_t vectors = codes_of_vector<Code> / lane_count;
  vector codes[vectors];
#pragma GCC unroll 4
  for (std::size_t j = 0; j < vectors; ++j) codes[j] = lane(load(numbers + lane_count * j), i + lane_count * j);
  return packed(codes, lane.finer(), static_cast<Code*>(nullptr));
}

// The same for `size` of them, fewer than in a vector; zeros are put behind. Returns how many.
template <class Code, class Lane>
ULP_VECTOR_INLINE std::size_t put_some(const float* numbers, Code* codes, std::size_t i, std::size_t size, Lane& lane) {
  if (size == 0) return 0;
  float some[codes_of_vector<Code>]{};
  Code some_codes[codes_of_vector<Code>];
  std::copy_n(numbers + i, size, some);
  store(some_codes, vector_of_codes<Code>(some, i, lane));
  std::copy_n(some_codes, size, codes + i);
  return codes_of_vector<Code> - size;
}

// Past the caches, an array is read at some places in turns, and each turn asks for what the next one at its place reads:
// one place after the other leaves the memory idle.
inline constexpr std::size_t turns = 8;
ULP_VECTOR_INLINE void ask_for(const float* number, bool past_caches) {
  const auto* at = reinterpret_cast<const char*>(number);
  past_caches ? _mm_prefetch(at, _MM_HINT_NTA) : _mm_prefetch(at, _MM_HINT_T0);
}

// Codes of all numbers; `streams`: past the caches. Returns how many zeros were put behind numbers.
template <class Code, class Lane>
ULP_VECTOR_INLINE std::size_t put_all(const float* numbers, Code* codes, std::size_t size, bool streams, Lane& lane) {
  constexpr std::size_t step = codes_of_vector<Code>;
  const std::size_t unaligned =
      (sizeof(vector) - reinterpret_cast<std::uintptr_t>(codes) % sizeof(vector)) % sizeof(vector) / sizeof(Code);
  const std::size_t before = streams ? std::min(unaligned, size) : 0;
  const std::size_t behind = (size - before) % step;
  const std::size_t end = size - behind;
  std::size_t i = before;
  if (streams) {
    const bool past_caches = reads_past_caches();
    constexpr std::size_t turn = 128;
    const std::size_t part = (end - i) / (turns * turn) * turn;
    for (const std::size_t first_end = i + part; i != first_end; i += turn)
      for (std::size_t place = i; place < i + turns * part; place += part)
#pragma GCC unroll 1
        for (std::size_t at = place; at != place + turn; at += step) {
          for (std::size_t j = 0; j < step; j += 16) ask_for(numbers + at + turn + j, past_caches);
          stream(codes + at, vector_of_codes<Code>(numbers + at, at, lane));
        }
    i += (turns - 1) * part;
  }
  for (; i != end; i += step) store(codes + i, vector_of_codes<Code>(numbers + i, i, lane));
  std::size_t zeros = 0;
#pragma GCC unroll 1
  for (const bool first : {true, false})
    zeros += put_some(numbers, codes, first ? 0 : end, first ? before : behind, lane);
  return zeros;
}

}  // namespace ulp::detail::ULP_VECTORS

#endif
#endif
