// Processors with AVX2, F16C and BMI: Intel's from 2013, AMD's from 2015.
#if defined(__x86_64__)
#define ULP_LEVEL v3
#define ULP_TARGET [[gnu::target("arch=x86-64-v3")]]
#include "convert_level.hpp"

extern const ulp::detail::kernels ulp::detail::v3_kernels =
    v3::level("x86-64-v3", [] { return __builtin_cpu_supports("x86-64-v3") != 0; });
#endif
