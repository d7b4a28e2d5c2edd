#pragma once

#include <tbb/threads.h>

#include <utility>

namespace tbb {

class task_arena {
 public:
  explicit task_arena(int threads) : threads_(threads) {}

  template <typename Work>
  void execute(const Work& work) {
    struct scope {
      explicit scope(int threads) : before(std::exchange(by_threads::concurrency, threads)) {}
      ~scope() { by_threads::concurrency = before; }
      int before;
    } const inside(threads_);
    work();
  }

 private:
  int threads_;
};

namespace this_task_arena {
inline int max_concurrency() { return by_threads::concurrency; }
}  // namespace this_task_arena

}  // namespace tbb
