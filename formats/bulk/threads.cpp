#include "threads.hpp"

#include <algorithm>
#include <atomic>
#include <system_error>
#include <thread>
#include <vector>

#ifdef ULP_WITH_TBB
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#endif

namespace ulp::detail {

void for_parts(std::size_t size, std::size_t step, unsigned threads,
               const std::function<void(std::size_t begin, std::size_t end)>& work) {
  const std::size_t part = (least_of_a_thread + step - 1) / step * step;
  const std::size_t parts = (size + part - 1) / part;
  // Asking for the number of processors may take as long as converting thousands of elements.
  const std::size_t most = threads != 0 || parts <= 1 ? threads : std::max(1u, std::thread::hardware_concurrency());
  const std::size_t used = std::min(most, parts);
  if (used <= 1) {
    if (size != 0) work(0, size);
    return;
  }
  const auto do_part = [&](std::size_t i) { work(i * part, std::min(size, (i + 1) * part)); };
#ifdef ULP_WITH_TBB
  tbb::task_arena arena{static_cast<int>(used)};
  arena.execute([&] { tbb::parallel_for(std::size_t{0}, parts, do_part); });
#else
  std::atomic<std::size_t> next{0};
  const auto take_parts = [&] {
    for (std::size_t i; (i = next++) < parts;) do_part(i);
  };
  std::vector<std::thread> others;
  try {
    for (std::size_t t = 1; t < used; ++t) others.emplace_back(take_parts);
  } catch (const std::system_error&) {
    // Fewer threads do it too.
  }
  take_parts();
  for (std::thread& other : others) other.join();
#endif
}

}  // namespace ulp::detail
