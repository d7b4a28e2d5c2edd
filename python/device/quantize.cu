// Kernels that round floats to the numbers of a format; python/ulpscope/_device/rounding.py launches them. Compiled to
// python/ulpscope/_device/quantize.ptx.
#include "rounding.hpp"

namespace {
using namespace ulp;
using namespace ulp::device;

__device__ std::uint64_t thread() { return std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; }
__device__ std::uint64_t threads() { return std::uint64_t{gridDim.x} * blockDim.x; }
}  // namespace

// Of 256 threads at most; so many blocks are to fit on a processor at once.
#define ULP_KERNEL(name, blocks, body)                                                                           \
  extern "C" __global__ void __launch_bounds__(256, blocks)                                                      \
      name(const rounding_plan plan, const std::uint32_t* numbers, std::uint32_t* results, std::uint64_t size) { \
    body(thread(), threads(), plan, numbers, results, size);                                                     \
  }
#define ULP_KERNELS(way)                                               \
  ULP_KERNEL(way##_by_sums, 6, (round_numbers<direction::way, false>)) \
  ULP_KERNEL(way##_in_bits, 6, (round_numbers<direction::way, true>))
ULP_KERNELS(nearest_even)
ULP_KERNELS(nearest_away)
ULP_KERNELS(toward_zero)
ULP_KERNELS(toward_positive)
ULP_KERNELS(toward_negative)
ULP_KERNELS(to_odd)
#define ULP_STOCHASTIC_KERNELS(width)                                              \
  ULP_KERNEL(stochastic##width##_by_sums, 3, (round_stochastically<width, false>)) \
  ULP_KERNEL(stochastic##width##_in_bits, 3, (round_stochastically<width, true>))
ULP_STOCHASTIC_KERNELS(8)
ULP_STOCHASTIC_KERNELS(16)
ULP_STOCHASTIC_KERNELS(32)
