#pragma once

#include <tbb/threads.h>

#include <cstddef>

namespace tbb {

template <typename Body>
void parallel_for(std::size_t first, std::size_t last, const Body& body) {
  if (first >= last) return;
  std::atomic<std::size_t> next = first;
  by_threads::failure failed;
  const auto most = static_cast<std::size_t>(by_threads::concurrency);
  by_threads::helpers::run(static_cast<int>(std::min(most, last - first)), [&] {
    try {
      for (std::size_t i; !failed && (i = next++) < last;) body(i);
    } catch (...) {
      failed.keep();
    }
  });
  failed.rethrow();
}

}  // namespace tbb
