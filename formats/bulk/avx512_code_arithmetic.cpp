#include "avx512_lanes.hpp"

#if defined(__x86_64__)
#include "code_arithmetic_vectors.hpp"

namespace ulp::detail {

extern const code_loops avx512_code_arithmetic = avx512::all_loops;

}  // namespace ulp::detail
#endif
