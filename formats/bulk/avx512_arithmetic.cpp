#include "avx512_lanes.hpp"

#if defined(__x86_64__)
#include "arithmetic_vectors.hpp"

namespace ulp::detail {

extern const arithmetic_loops avx512_arithmetic = avx512::all_loops(avx512_code_arithmetic);

}  // namespace ulp::detail
#endif
