#include "avx2.hpp"

#if defined(__x86_64__)
#include "stochastic_vectors.hpp"

namespace ulp::detail {

void avx2_random(const random_stream& random, std::uint64_t block, int bits, std::uint32_t* out, std::size_t groups) {
  avx2::random_groups_of(random, block, bits, out, groups);
}
extern const all_stochastic_loops avx2_stochastic_loops = avx2::all_loops;

}  // namespace ulp::detail
#endif
