// The kernels of python/device, run on the host: a library that tests load in place of CUDA's driver.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <thread>

#include "device/count.hpp"
#include "host_block.hpp"

using namespace ulp::device;

namespace {

template <typename T>
const T& argument(void* const* arguments, int i) {
  return *static_cast<const T*>(arguments[i]);
}

}  // namespace

// As cuEventSynchronize: until the flag is not 0.
extern "C" int ulp_emulated_wait(void* flag) {
  while (__atomic_load_n(static_cast<const int*>(flag), __ATOMIC_ACQUIRE) == 0)
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  return 0;
}

// As cuLaunchKernel. order: of the blocks. 0 where all went well, 1 for a name that is not known, 2 where a block wrote behind its
// shared memory.
extern "C" int ulp_emulate(const char* kernel, std::uint32_t blocks, std::uint32_t windows, std::uint32_t threads,
                           std::size_t shared, void* const* arguments, std::uint64_t order) {
  const std::string_view name(kernel);
  const auto run = [&](auto body) { return run_blocks(blocks, windows, threads, shared, order, body) ? 0 : 2; };
  if (name == "carry")
    return run([=](host_block& block) {
      carry(block, *argument<const batch*>(arguments, 0), argument<std::uint64_t>(arguments, 1),
            argument<std::uint64_t>(arguments, 2));
    });
  const auto count = [&](auto body) {
    const work todo{argument<const std::uint32_t*>(arguments, 0), argument<const piece*>(arguments, 1),
                    argument<const tensor*>(arguments, 2), argument<batch*>(arguments, 3)};
    return run([=](host_block& block) { body(block, todo); });
  };
  if (name == "count_float32") return count([](auto&... its) { count_float32<false>(its...); });
  if (name == "sum_float32") return count([](auto&... its) { count_float32<true>(its...); });
  if (name == "count_float64") return count([](auto&... its) { count_float64<false>(its...); });
  if (name == "sum_float64") return count([](auto&... its) { count_float64<true>(its...); });
  if (name == "count_codes16") return count([](auto&... its) { count_codes16(its...); });
  if (name == "count_codes8") return count([](auto&... its) { count_codes8(its...); });
  return 1;
}
