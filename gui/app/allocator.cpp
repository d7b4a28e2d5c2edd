#include "app/allocator.hpp"

#include <cstdlib>  // __GLIBC__

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace ulp::gui {

void return_free_memory() noexcept {
#ifdef __GLIBC__
  mallopt(M_ARENA_MAX, 2);
  mallopt(M_MMAP_THRESHOLD, 256 * 1024);
#endif
}

}  // namespace ulp::gui
