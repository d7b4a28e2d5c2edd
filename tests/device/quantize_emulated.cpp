// The kernels that round, run on the host: a library that tests in Python load in place of CUDA's driver.
#include "quantize_on_host.hpp"

// As cuLaunchKernel. Whether there is such a kernel.
extern "C" bool ulp_emulate_rounding(const char* kernel, std::uint64_t threads, void* const* arguments) {
  return ulp::device::run_kernel(kernel, threads, arguments);
}
