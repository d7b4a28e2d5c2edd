// Processors with AVX-512: Intel servers from 2017, AMD from 2022.
#if defined(__x86_64__)
#define ULP_LEVEL v4
#define ULP_TARGET [[gnu::target("arch=x86-64-v4")]]
#include "convert_level.hpp"

extern const ulp::detail::kernels ulp::detail::v4_kernels =
    v4::level("x86-64-v4", [] { return __builtin_cpu_supports("x86-64-v4") != 0; });
#endif
