#include "kernels.hpp"

#include <vector>

namespace ulp::detail {

std::span<const kernels* const> kernels_here() {
  static const std::vector<const kernels*> here = [] {
    std::vector<const kernels*> all;
    for (const kernels* k : {
           &baseline_kernels,
#if defined(__x86_64__)
               &v3_kernels, &v4_kernels
#endif
         })
      if (k->runs_here()) all.push_back(k);
    return all;
  }();
  return here;
}

bool reads_past_caches() noexcept {
#if defined(__x86_64__)
  static const bool is_amd = __builtin_cpu_is("amd") != 0;
  return is_amd;
#else
  return false;
#endif
}

std::atomic<const kernels*>& loops_in_use() {
  static std::atomic<const kernels*> loops{kernels_here().back()};
  return loops;
}

}  // namespace ulp::detail
