#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

namespace tbb {

template <typename T>
class enumerable_thread_specific {
 public:
  explicit enumerable_thread_specific(std::function<T()> make) : make_(std::move(make)) {}

  T& local() {
    const std::lock_guard lock(mutex_);
    const auto found = of_.find(std::this_thread::get_id());
    return found != of_.end() ? found->second : of_.emplace(std::this_thread::get_id(), make_()).first->second;
  }

 private:
  std::function<T()> make_;
  std::mutex mutex_;
  std::map<std::thread::id, T> of_;
};

}  // namespace tbb
