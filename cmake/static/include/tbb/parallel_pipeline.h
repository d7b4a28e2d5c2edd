#pragma once

#include <tbb/threads.h>

#include <cstddef>
#include <utility>

namespace tbb {

enum class filter_mode { parallel, serial_in_order };

class flow_control {
 public:
  void stop() { stopped_ = true; }
  [[nodiscard]] bool is_stopped() const { return stopped_; }

 private:
  bool stopped_ = false;
};

namespace by_threads {

template <typename In, typename Out, typename Body>
struct filter {
  Body body;
};

template <typename First, typename Second>
struct chain {
  First first;
  Second second;
};

template <typename T, typename Read, typename Work>
auto operator&(filter<void, T, Read> read, filter<T, T, Work> work) {
  return chain<decltype(read), decltype(work)>{std::move(read), std::move(work)};
}

template <typename First, typename Second, typename T, typename Write>
auto operator&(chain<First, Second> begin, filter<T, void, Write> write) {
  return chain<decltype(begin), decltype(write)>{std::move(begin), std::move(write)};
}

}  // namespace by_threads

template <typename In, typename Out, typename Body>
auto make_filter(filter_mode, const Body& body) {
  return by_threads::filter<In, Out, Body>{body};
}

// Pipelines of one kind: read in order, work in parallel, write in order.
template <typename Pipeline>
void parallel_pipeline(std::size_t in_flight, const Pipeline& pipeline) {
  std::mutex reading;
  std::mutex writing;
  std::condition_variable next_turn;
  flow_control control;
  std::size_t read = 0;
  std::size_t written = 0;
  by_threads::failure failed;
  const auto carry_one = [&] {
    std::unique_lock turn_to_read(reading);
    if (control.is_stopped() || failed) return false;
    auto item = pipeline.first.first.body(control);
    if (control.is_stopped()) return false;
    const std::size_t turn = read++;
    turn_to_read.unlock();
    item = pipeline.first.second.body(item);
    std::unique_lock turn_to_write(writing);
    next_turn.wait(turn_to_write, [&] { return written == turn || failed; });
    if (failed) return false;
    pipeline.second.body(item);
    ++written;
    next_turn.notify_all();
    return true;
  };
  const int threads = static_cast<int>(std::min(in_flight, static_cast<std::size_t>(by_threads::concurrency)));
  by_threads::helpers::run(threads, [&] {
    try {
      while (carry_one()) {
      }
    } catch (...) {
      const std::lock_guard lock(writing);  // nobody is between asking and waiting
      failed.keep();
      next_turn.notify_all();
    }
  });
  failed.rethrow();
}

}  // namespace tbb
