#include "peers.hpp"

// Imath without its tables, which it then needs no library for.
#define IMATH_HALF_NO_LOOKUP_TABLE
#if __has_include(<eigen3/Eigen/Core>)
#include <eigen3/Eigen/Core>
#define ULP_HAS_EIGEN
#endif
#if __has_include(<Imath/half.h>)
#include <Imath/half.h>
#define ULP_HAS_IMATH
#endif
#if __has_include(<fp16.h>)
#include <fp16.h>
#define ULP_HAS_FP16
#endif

namespace ulp::bench {
namespace {

#ifdef ULP_HAS_EIGEN
template <class To>
void by_eigen(const float* from, std::uint16_t* to, std::size_t size) {
  const auto n = static_cast<Eigen::Index>(size);
  Eigen::Map<Eigen::Array<To, Eigen::Dynamic, 1>>{reinterpret_cast<To*>(to), n} =
      Eigen::Map<const Eigen::ArrayXf>{from, n}.template cast<To>();
}
#endif
#ifdef ULP_HAS_IMATH
void by_imath(const float* from, std::uint16_t* to, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) to[i] = imath_float_to_half(from[i]);
}
#endif
#ifdef ULP_HAS_FP16
void by_fp16(const float* from, std::uint16_t* to, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) to[i] = fp16_ieee_from_fp32_value(from[i]);
}
#endif
#ifdef __FLT16_MANT_DIG__
void by_compiler(const float* from, std::uint16_t* to, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) {
    const auto half = static_cast<_Float16>(from[i]);
    __builtin_memcpy(to + i, &half, sizeof half);
  }
}
#endif

}  // namespace

std::vector<peer> peers() {
#ifdef __x86_64__
  if (__builtin_cpu_supports("x86-64-v3") == 0) return {};
#endif
  return {
#ifdef ULP_HAS_EIGEN
      {"Eigen, float16", by_eigen<Eigen::half>},
      {"Eigen, bfloat16", by_eigen<Eigen::bfloat16>},
#endif
#ifdef ULP_HAS_IMATH
      {"Imath, float16", by_imath},
#endif
#ifdef ULP_HAS_FP16
      {"FP16, float16", by_fp16},
#endif
#ifdef __FLT16_MANT_DIG__
      {"the compiler's _Float16", by_compiler},
#endif
  };
}

}  // namespace ulp::bench
