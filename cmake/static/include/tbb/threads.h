#pragma once

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <system_error>
#include <thread>

// What the libraries use of oneTBB, by threads of the standard library: for programs that are to need no shared library.
namespace tbb::by_threads {

inline int processors() {
  static const int count = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  return count;
}

// That a task_arena gives the thread that is in it.
inline thread_local int concurrency = processors();

// What was thrown first in any of the threads.
class failure {
 public:
  explicit operator bool() const { return any_; }
  void keep() {
    if (!any_.exchange(true)) thrown_ = std::current_exception();
  }
  void rethrow() const {
    if (thrown_) std::rethrow_exception(thrown_);
  }

 private:
  std::atomic<bool> any_ = false;
  std::exception_ptr thrown_;
};

// Threads that help whoever has work. Who asks for them works too, and waits only for those that came: calls may be nested.
class helpers {
 public:
  // Calls work, which does not throw, here and in up to `threads` - 1 helpers, and returns when all calls have.
  static void run(int threads, const std::function<void()>& work) {
    if (threads <= 1 || forked) return work();
    static helpers& all = *new helpers;  // at exit, some may be at work
    all.share(threads, work);
  }

 private:
  struct task {
    const std::function<void()>& work;
    int wanted;
    int running = 0;
  };

  helpers() {
    pthread_atfork(nullptr, nullptr, [] { forked = true; });
    try {
      for (int i = 1; i < processors(); ++i) std::thread([this] { help(); }).detach();
    } catch (const std::system_error&) {
      // Fewer do it too.
    }
  }

  void share(int threads, const std::function<void()>& work) {
    task own{work, threads - 1};
    {
      const std::lock_guard lock(mutex_);
      tasks_.push_back(&own);
    }
    for (int i = 1; i < threads; ++i) wake_.notify_one();
    work();
    std::unique_lock lock(mutex_);
    std::erase(tasks_, &own);
    done_.wait(lock, [&] { return own.running == 0; });
  }

  void help() {
    std::unique_lock lock(mutex_);
    for (;;) {
      wake_.wait(lock, [this] { return !tasks_.empty(); });
      task& its = *tasks_.front();
      if (--its.wanted == 0) tasks_.pop_front();
      ++its.running;
      lock.unlock();
      its.work();
      lock.lock();
      if (--its.running == 0) done_.notify_all();
    }
  }

  inline static std::atomic<bool> forked = false;  // a child of fork() has none of the threads
  std::mutex mutex_;
  std::condition_variable wake_, done_;
  std::deque<task*> tasks_;
};

}  // namespace tbb::by_threads
