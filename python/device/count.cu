// The kernels of count.hpp. The grid's first dimension are blocks with work of their own, the second one windows.
#include "count.hpp"

using namespace ulp::device;

// BLOCKS of THREADS are to run on one multiprocessor at once, where it has the memory.
#define ULP_KERNEL(NAME, THREADS, BLOCKS, BODY)                                                 \
  extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)                                 \
      NAME(const std::uint32_t* first, const piece* pieces, const tensor* tensors, batch* of) { \
    gpu_block block;                                                                            \
    BODY(block, work{first, pieces, tensors, of});                                              \
  }

ULP_KERNEL(count_float32, 512, 3, count_float32<false>)
ULP_KERNEL(sum_float32, 768, 2, count_float32<true>)
ULP_KERNEL(count_float64, 512, 2, count_float64<false>)
ULP_KERNEL(sum_float64, 512, 2, count_float64<true>)
ULP_KERNEL(count_codes16, 1024, 1, count_codes16)
ULP_KERNEL(count_codes8, 512, 2, count_codes8)

extern "C" __global__ void carry(const batch* of, std::uint64_t host, std::uint64_t header_words) {
  gpu_block block;
  ulp::device::carry(block, *of, host, header_words);
}
