#include "avx2.hpp"

#if defined(__x86_64__)
#include "round_vectors.hpp"

namespace ulp::detail {

extern const all_quick_loops avx2_loops = avx2::all_loops;
extern const round_loops avx2_round_loops = avx2::all_round_loops;

}  // namespace ulp::detail
#endif
