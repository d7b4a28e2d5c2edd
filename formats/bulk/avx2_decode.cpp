#include "avx2.hpp"

#if defined(__x86_64__)
#include "decode_vectors.hpp"

namespace ulp::detail {

extern const quick_decode_loops avx2_decode_loops = avx2::all_loops;

}  // namespace ulp::detail
#endif
