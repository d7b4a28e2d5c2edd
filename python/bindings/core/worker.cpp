#include "worker.hpp"

#include <unistd.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace ulp::python {

struct worker::queue {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::packaged_task<void()>> waiting;
  bool is_ended = false;
  pid_t process = 0;  // that has the thread

  void work() {
    std::unique_lock lock(mutex);
    while (true) {
      changed.wait(lock, [&] { return is_ended || !waiting.empty(); });
      if (waiting.empty()) return;
      auto job = std::move(waiting.front());
      waiting.pop_front();
      lock.unlock();
      job();
      job = {};  // what it holds goes here
      lock.lock();
    }
  }
};

worker::worker() : queue_(std::make_shared<queue>()) {}

worker::~worker() {
  if (queue_->process != getpid()) return;  // of a fork's parent, whose lock may be held for ever here
  const std::lock_guard lock(queue_->mutex);
  queue_->is_ended = true;
  queue_->changed.notify_one();
}

std::shared_future<void> worker::later(std::function<void()> job) {
  std::packaged_task<void()> task(std::move(job));
  std::shared_future<void> done = task.get_future().share();
  if (queue_->process != getpid()) {
    if (queue_->process != 0)
      new std::shared_ptr(queue_);  // a condition on which the parent waits cannot be taken down
    queue_ = std::make_shared<queue>();
    try {
      std::thread([its = queue_] { its->work(); }).detach();
      queue_->process = getpid();
    } catch (const std::system_error&) {
      task();
      return done;
    }
  }
  const std::lock_guard lock(queue_->mutex);
  queue_->waiting.push_back(std::move(task));
  queue_->changed.notify_one();
  return done;
}

std::shared_future<void> later(std::function<void()> job) {
  static auto* const one = new worker;  // never taken down: the process may end while it works
  return one->later(std::move(job));
}

}  // namespace ulp::python
