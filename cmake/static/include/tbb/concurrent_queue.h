#pragma once

#include <deque>
#include <mutex>

namespace tbb {

template <typename T>
class concurrent_queue {
 public:
  void push(const T& value) {
    const std::lock_guard lock(mutex_);
    values_.push_back(value);
  }
  bool try_pop(T& value) {
    const std::lock_guard lock(mutex_);
    if (values_.empty()) return false;
    value = values_.front();
    values_.pop_front();
    return true;
  }

 private:
  std::mutex mutex_;
  std::deque<T> values_;
};

}  // namespace tbb
