#include "avx2_lanes.hpp"

#if defined(__x86_64__)
#include "arithmetic_vectors.hpp"

namespace ulp::detail {

extern const arithmetic_loops avx2_arithmetic = avx2::all_loops(avx2_code_arithmetic);

}  // namespace ulp::detail
#endif
