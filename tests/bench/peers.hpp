// The same conversions by other libraries, those that were there when this was built: Eigen, Imath, FP16, the compiler.
#ifndef ULP_BENCH_PEERS_HPP
#define ULP_BENCH_PEERS_HPP

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ulp::bench {

struct peer {
  const char* name;
  void (*encode)(const float* from, std::uint16_t* to, std::size_t size);
};

// Compiled for x86-64-v3 on such processors: none on one that lacks it.
[[nodiscard]] std::vector<peer> peers();

}  // namespace ulp::bench

#endif
