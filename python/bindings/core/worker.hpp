// Work that is done beside Python, in a thread that never takes the interpreter's lock: what two threads of Python cost each other is
// more than what a step's tables take.
#ifndef ULP_PYTHON_WORKER_HPP
#define ULP_PYTHON_WORKER_HPP

#include <functional>
#include <future>
#include <memory>

namespace ulp::python {

// A thread that does one job after the other. It begins with the first, and ends when all are done and this is gone.
class worker {
 public:
  worker();
  ~worker();
  worker(const worker&) = delete;
  worker& operator=(const worker&) = delete;
  // What the job throws, get() throws. Where there is no thread to be had the job is done at once. Called with Python's lock.
  [[nodiscard]] std::shared_future<void> later(std::function<void()> job);

 private:
  struct queue;
  std::shared_ptr<queue> queue_;
};

// By one that jobs which wait for nothing share.
[[nodiscard]] std::shared_future<void> later(std::function<void()> job);

// In a fork, which has none of the threads: workers begin others with their next job, and jobs of before never end.
void forget_threads();

}  // namespace ulp::python

#endif
