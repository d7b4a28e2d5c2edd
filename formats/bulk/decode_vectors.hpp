// Codes to floats, which are past the caches where it is asked for. Included after avx2.hpp or avx512.hpp.
#ifndef ULP_FORMATS_BULK_DECODE_VECTORS_HPP
#define ULP_FORMATS_BULK_DECODE_VECTORS_HPP

#include <algorithm>

#include "kernels.hpp"

#if defined(ULP_VECTORS)

namespace ulp::detail::ULP_VECTORS {
namespace {

enum class layout : std::uint8_t {
  half,         // float16, for which there is an instruction
  same_fields,  // codes are upper parts of floats
  ieee,         // infinity and NaN in the highest binade
  other         // one code that is infinity or NaN, or none, and maybe -0 is NaN
};

struct decode_vectors {
  vector magnitude, largest, infinity_code, min_normal, normal_offset, subnormal_offset, infinity, quiet, special, nan,
      sign, negative_zero;
  shift_count dropped, to_sign;
};

template <layout Layout>
ULP_VECTOR_INLINE vector number_of_code(const decode_vectors& v, vector code) {
  const vector magnitude = both(code, v.magnitude);
  const vector in_place = shifted_left(magnitude, v.dropped);
  vector value = in_place;
  if constexpr (Layout != layout::same_fields) {
    const vector normal = add(in_place, v.normal_offset);
    // Exact, whatever the control register says; all bits of zero are taken back.
    const vector integer = as_bits(converted(magnitude));
    const vector subnormal = only_unless(equal(magnitude, all_of(0)), add(integer, v.subnormal_offset));
    value = chosen(normal, subnormal, above(v.min_normal, magnitude));
  }
  const mask is_special = above(magnitude, v.largest);
  if constexpr (Layout == layout::other) {
    value = chosen(value, v.special, is_special);
    value = chosen(value, v.nan, equal(code, v.negative_zero));
  } else {
    value = either_where(is_special, value, v.infinity);
    value = either_where(above(magnitude, v.infinity_code), value, v.quiet);
  }
  return either(value, both(shifted_left(code, v.to_sign), v.sign));
}

template <layout Layout, class Code>
ULP_VECTOR_INLINE vector numbers_of(const decode_vectors& v, const Code* codes) {
  if constexpr (Layout == layout::half && sizeof(Code) == 2)
    return as_bits(of_float16s(codes));
  else
    return number_of_code<Layout>(v, lanes_of(codes));
}

template <layout Layout, class Code>
ULP_VECTOR void decode_lanes(const decode_plan<std::uint32_t>& plan, const Code* codes, float* numbers,
                             std::size_t size, bool streams) {
  constexpr std::size_t ahead = 1024 / sizeof(Code);
  constexpr std::size_t line = 64 / sizeof(Code);
  const decode_vectors v{.magnitude = all_of(plan.magnitude_mask),
                         .largest = all_of(plan.largest),
                         .infinity_code = all_of(plan.largest + 1),
                         .min_normal = all_of(plan.min_normal_code),
                         .normal_offset = all_of(plan.normal_offset),
                         .subnormal_offset = all_of(plan.subnormal_offset),
                         .infinity = all_of(0x7F800000),
                         .quiet = all_of(0x400000),
                         .special = all_of(plan.plain_nan != 0 ? plan.plain_nan : 0x7F800000),
                         .nan = all_of(0x7FC00000),
                         .sign = all_of(0x80000000),
                         .negative_zero = all_of(plan.negative_zero != 0 ? plan.magnitude_mask + 1 : ~0u),
                         .dropped = shift_by(plan.dropped),
                         .to_sign = shift_by(31 - plan.sign_position)};
  const auto some = [&](std::size_t i, std::size_t n) ULP_VECTOR_LAMBDA {
    Code in[lane_count]{};
    float out[lane_count];
    std::copy_n(codes + i, n, in);
    store(out, numbers_of<Layout>(v, in));
    std::copy_n(out, n, numbers + i);
  };
  std::size_t i = 0;
  if (streams) {
    constexpr std::size_t bytes = sizeof(vector);
    i = std::min(size, (bytes - reinterpret_cast<std::uintptr_t>(numbers) % bytes) % bytes / sizeof(float));
    some(0, i);
    for (; i + line <= size; i += line) {
      _mm_prefetch(reinterpret_cast<const char*>(codes + i + ahead), _MM_HINT_T0);
#pragma GCC unroll 8
      for (std::size_t j = 0; j < line; j += lane_count) stream(numbers + i + j, numbers_of<Layout>(v, codes + i + j));
    }
  }
  for (; i + lane_count <= size; i += lane_count) store(numbers + i, numbers_of<Layout>(v, codes + i));
  some(i, size - i);
}

template <class Code>
void decode(const decode_plan<std::uint32_t>& plan, const Code* codes, float* numbers, std::size_t size, bool streams) {
  if (plan.plain_nan != 0 || plan.negative_zero != 0)
    return decode_lanes<layout::other>(plan, codes, numbers, size, streams);
  if (plan.normal_offset == 0) return decode_lanes<layout::same_fields>(plan, codes, numbers, size, streams);
  const bool half = plan.sign_position == 15 && plan.dropped == 13 && plan.normal_offset == (127 - 15) << 23;
  if (half && sizeof(Code) == 2) return decode_lanes<layout::half>(plan, codes, numbers, size, streams);
  return decode_lanes<layout::ieee>(plan, codes, numbers, size, streams);
}

constexpr quick_decode_loops all_loops{decode<std::uint8_t>, decode<std::uint16_t>, decode<std::uint32_t>};

}  // namespace
}  // namespace ulp::detail::ULP_VECTORS

#endif
#endif
