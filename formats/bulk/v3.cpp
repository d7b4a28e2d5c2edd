// Processors with AVX2, F16C and BMI: Intel's from 2013, AMD's from 2015.
#if defined(__x86_64__)
#define ULP_LEVEL v3
#define ULP_TARGET [[gnu::target("arch=x86-64-v3")]]
#include "arithmetic_loops.hpp"
#include "level.hpp"

namespace ulp::detail {
namespace {

bool runs_here() { return __builtin_cpu_supports("x86-64-v3") != 0; }

constexpr kernels with_vectors() {
  kernels level = v3::level("x86-64-v3", runs_here);
  level.random = avx2_random;
  level.quick = &avx2_loops;
  level.round = &avx2_round_loops;
  level.decode = &avx2_decode_loops;
  level.arithmetic = &avx2_arithmetic;
  level.stochastic = &avx2_stochastic_loops;
  return level;
}

}  // namespace

extern const kernels v3_kernels = with_vectors();

}  // namespace ulp::detail
#endif
