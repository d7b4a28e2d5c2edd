// Kernels that convert, count and check codes by the codec: what quantize.cu does not do. Compiled to
// python/ulpscope/_device/convert.ptx.
#include "by_codec.hpp"

namespace {
using namespace ulp;
using namespace ulp::device;

__device__ std::uint64_t thread() { return std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; }
__device__ std::uint64_t threads() { return std::uint64_t{gridDim.x} * blockDim.x; }
}  // namespace

extern "C" __global__ void __launch_bounds__(256)
    convert(const codec_plan plan, const void* elements, void* results, std::uint64_t size) {
  convert_by_codec(thread(), threads(), plan, elements, results, size);
}

// Adds to the counts.
extern "C" __global__ void __launch_bounds__(256)
    outcomes(const codec_plan plan, const void* elements, unsigned long long* counts, std::uint64_t size) {
  const outcome_counts mine = count_by_codec(thread(), threads(), plan, elements, size);
  const std::uint64_t each[] = {mine.zeros, mine.newly_zero, mine.subnormal, mine.inexact, mine.overflowed, mine.nan};
#pragma unroll
  for (int i = 0; i < 6; ++i) {
    unsigned long long sum = each[i];
    for (int other = 16; other > 0; other /= 2) sum += __shfl_xor_sync(~0u, sum, other);
    if (threadIdx.x % 32 == 0 && sum != 0) atomicAdd(counts + i, sum);
  }
}

// Lowers `first` to the first element that is no code.
extern "C" __global__ void __launch_bounds__(256)
    find_beyond(const void* codes, int bytes, std::uint64_t mask, unsigned long long* first, std::uint64_t size) {
  const std::uint64_t mine = first_beyond(thread(), threads(), codes, bytes, mask, size);
  if (mine < size) atomicMin(first, mine);
}
