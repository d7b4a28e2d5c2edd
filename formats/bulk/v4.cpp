// Processors with AVX-512: Intel servers from 2017, AMD from 2022.
#if defined(__x86_64__)
#define ULP_LEVEL v4
#define ULP_TARGET [[gnu::target("arch=x86-64-v4")]]
#include "arithmetic_loops.hpp"
#include "level.hpp"

namespace ulp::detail {
namespace {

bool runs_here() { return __builtin_cpu_supports("x86-64-v4") != 0; }

constexpr kernels with_vectors() {
  kernels level = v4::level("x86-64-v4", runs_here);
  level.random = avx512_random;
  level.quick = &avx512_loops;
  level.round = &avx512_round_loops;
  level.decode = &avx512_decode_loops;
  level.arithmetic = &avx512_arithmetic;
  level.stochastic = &avx512_stochastic_loops;
  return level;
}

}  // namespace

extern const kernels v4_kernels = with_vectors();

}  // namespace ulp::detail
#endif
