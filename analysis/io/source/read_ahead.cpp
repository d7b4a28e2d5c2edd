#include "read_ahead.hpp"

#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

namespace ulp::io {
namespace {

class reading_ahead final : public forwarding_source {
 public:
  using forwarding_source::forwarding_source;
  ~reading_ahead() override {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    changed_.notify_all();
    if (reader_.joinable()) reader_.join();
  }
  reading_ahead(const reading_ahead&) = delete;
  reading_ahead& operator=(const reading_ahead&) = delete;

  [[nodiscard]] bool next(step& into) override {
    if (!reader_.joinable()) reader_ = std::thread([this] { read(); });
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return full_ || over_; });
    if (!full_) {
      if (failure_) std::rethrow_exception(failure_);
      return false;
    }
    std::swap(into, ready_);  // the reader gets the old step's memory
    full_ = false;
    lock.unlock();
    changed_.notify_all();
    return true;
  }

 private:
  void read() {
    step now;
    for (bool more = true; more;) {
      std::exception_ptr failure;
      try {
        more = inner().next(now);
      } catch (...) {
        failure = std::current_exception();
        more = false;
      }
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return !full_ || stop_; });
      if (stop_) return;
      if (more) std::swap(ready_, now);
      full_ = more;
      over_ = !more;
      failure_ = failure;
      lock.unlock();
      changed_.notify_all();
    }
  }

  std::thread reader_;
  std::mutex mutex_;
  std::condition_variable changed_;
  step ready_;  // guarded, with the rest, by mutex_
  bool full_ = false;
  bool over_ = false;
  bool stop_ = false;
  std::exception_ptr failure_;
};

}  // namespace

std::unique_ptr<source> read_ahead(std::unique_ptr<source> inner) {
  return std::make_unique<reading_ahead>(std::move(inner));
}

}  // namespace ulp::io
