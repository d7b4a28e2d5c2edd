#pragma once

#include <tbb/threads.h>

namespace tbb::info {
inline int default_concurrency() { return by_threads::processors(); }
}  // namespace tbb::info
