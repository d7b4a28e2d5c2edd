#include "avx2_lanes.hpp"

#if defined(__x86_64__)
#include "code_arithmetic_vectors.hpp"

namespace ulp::detail {

extern const code_loops avx2_code_arithmetic = avx2::all_loops;

}  // namespace ulp::detail
#endif
