// A block of threads on a GPU, as the bodies of kernels see it. Tests have another one, which runs them on the host.
#ifndef ULP_DEVICE_BLOCK_HPP
#define ULP_DEVICE_BLOCK_HPP

#include "both.hpp"

namespace ulp::device {

struct alignas(16) quad {
  std::uint32_t words[4];
};

#ifdef __CUDACC__

struct gpu_block {
  __device__ static std::uint32_t index() { return blockIdx.x; }
  __device__ static std::uint32_t blocks() { return gridDim.x; }
  __device__ static std::uint32_t window() { return blockIdx.y; }  // which part of the counters it counts
  __device__ static std::uint32_t windows() { return gridDim.y; }
  __device__ static std::uint32_t threads() { return blockDim.x; }

  // Shared by its threads; its size is given where the kernel is launched.
  __device__ static std::uint32_t* shared() {
    extern __shared__ quad memory[];
    return memory[0].words;
  }
  // Calls what each thread does with the thread's index. All have done it when it returns.
  template <typename Do>
  __device__ static void each(Do what) {
    what(threadIdx.x);
    __syncthreads();
  }
  // Each thread says how many, by count(thread); one of them calls place(how many in all); then each calls
  // what(thread, how many those before it have, what place() gave).
  template <typename Count, typename Place, typename Do>
  __device__ static void each_ranked(Count count, Place place, Do what) {
    __shared__ std::uint32_t before_warp[33];
    __shared__ decltype(place(0U)) where;
    const std::uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32, mine = count(threadIdx.x);
    const auto added_up = [lane](std::uint32_t n) {
      for (std::uint32_t step = 1; step < 32; step *= 2) {
        const std::uint32_t its = __shfl_up_sync(~0U, n, step);
        if (lane >= step) n += its;
      }
      return n;
    };
    const std::uint32_t upto = added_up(mine);
    if (lane == 31) before_warp[warp + 1] = upto;
    __syncthreads();
    if (warp == 0) {
      const std::uint32_t all = added_up(lane < blockDim.x / 32 ? before_warp[lane + 1] : 0);
      before_warp[lane + 1] = all;
      if (lane == 31) {
        before_warp[0] = 0;
        where = place(all);
      }
    }
    __syncthreads();
    what(threadIdx.x, before_warp[warp] + upto - mine, where);
    __syncthreads();
  }
  // What each thread keeps from one `each` to the next, by its index.
  template <typename T>
  struct own {
    T value;
    __device__ explicit own(const gpu_block& /*block*/) {}
    __device__ T& operator[](std::uint32_t /*thread*/) { return value; }
  };
  __device__ static quad load(const quad* from) {
    const uint4 q = __ldcs(reinterpret_cast<const uint4*>(from));
    return {{q.x, q.y, q.z, q.w}};
  }

  // They return what was there before.
  __device__ static std::uint32_t add(std::uint32_t& to, std::uint32_t n) { return atomicAdd(&to, n); }
  __device__ static std::uint64_t add(std::uint64_t& to, std::uint64_t n) {
    return atomicAdd(reinterpret_cast<unsigned long long*>(&to), static_cast<unsigned long long>(n));
  }
  __device__ static void raise(std::uint64_t& to, std::uint64_t n) {
    atomicMax(reinterpret_cast<unsigned long long*>(&to), static_cast<unsigned long long>(n));
  }
  // As all threads do it at once.
  __device__ static void raise(std::uint32_t& to, std::uint32_t n) {
    for (int other = 16; other > 0; other /= 2) {
      const std::uint32_t its = __shfl_xor_sync(~0U, n, other);
      n = its > n ? its : n;
    }
    if (threadIdx.x % 32 == 0) atomicMax(&to, n);
  }
  // What this thread wrote before is seen before what it writes after.
  __device__ static void publish() { __threadfence(); }
  // Of the device's memory, as other blocks have left it.
  __device__ static std::uint32_t fresh(const std::uint32_t& of) { return __ldcg(&of); }
  __device__ static std::uint64_t fresh(const std::uint64_t& of) {
    return __ldcg(reinterpret_cast<const unsigned long long*>(&of));
  }
};

#endif

}  // namespace ulp::device

#endif
