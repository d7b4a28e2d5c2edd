#define ULP_LEVEL baseline
#define ULP_TARGET
#include "level.hpp"

#if defined(__x86_64__)
extern const ulp::detail::kernels ulp::detail::baseline_kernels = baseline::level("x86-64", [] { return true; });
#else
extern const ulp::detail::kernels ulp::detail::baseline_kernels = baseline::level("generic", [] { return true; });
#endif
