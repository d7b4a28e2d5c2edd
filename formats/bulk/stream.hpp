// Copies past the caches, for arrays that are larger than they: what is written is then not read from memory before.
#ifndef ULP_FORMATS_BULK_STREAM_HPP
#define ULP_FORMATS_BULK_STREAM_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace ulp::detail {

// Written bytes from which on it pays; about what caches of the last level have for one core.
#if defined(__SSE2__)
inline constexpr std::size_t least_streamed = std::size_t{8} << 20;
#else
inline constexpr std::size_t least_streamed = ~std::size_t{0};
#endif

inline void stream(void* to, const void* from, std::size_t bytes) noexcept {
#if defined(__SSE2__)
  constexpr std::size_t step = sizeof(__m128i);
  auto* out = static_cast<std::uint8_t*>(to);
  const auto* in = static_cast<const std::uint8_t*>(from);
  const std::size_t head = std::min(bytes, (step - reinterpret_cast<std::uintptr_t>(to) % step) % step);
  std::memcpy(out, in, head);
  std::size_t i = head;
  for (; i + step <= bytes; i += step)
    _mm_stream_si128(reinterpret_cast<__m128i*>(out + i), _mm_loadu_si128(reinterpret_cast<const __m128i*>(in + i)));
  std::memcpy(out + i, in + i, bytes - i);
#else
  std::memcpy(to, from, bytes);
#endif
}

// After the last of them, before others read what was written.
inline void end_of_stream() noexcept {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

}  // namespace ulp::detail

#endif
