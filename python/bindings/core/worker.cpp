#include "worker.hpp"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace ulp::python {
namespace {

int forks = 0;  // that this process comes from

}  // namespace

struct worker::queue {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::packaged_task<void()>> waiting;
  bool is_ended = false;
  int of_forks = -1;  // those of the process that has the thread; -1 without one

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
  if (queue_->of_forks != forks) return;  // of a fork's parent, whose lock may be held for ever here
  const std::lock_guard lock(queue_->mutex);
  queue_->is_ended = true;
  queue_->changed.notify_one();
}

std::shared_future<void> worker::later(std::function<void()> job) {
  // What is done keeps nothing of what it did, as who waits for it may be part of that.
  std::packaged_task<void()> task([job = std::move(job)]() mutable { std::exchange(job, {})(); });
  std::shared_future<void> done = task.get_future().share();
  if (queue_->of_forks != forks) {
    if (queue_->of_forks >= 0)
      new std::shared_ptr(queue_);  // a condition on which the parent waits cannot be taken down
    queue_ = std::make_shared<queue>();
    try {
      std::thread([its = queue_] { its->work(); }).detach();
      queue_->of_forks = forks;
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

void forget_threads() { ++forks; }

}  // namespace ulp::python
