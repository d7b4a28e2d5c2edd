// What stands in for oneTBB where ULP_STATIC is on: cmake/static.
#include <sys/wait.h>
#include <tbb/concurrent_queue.h>
#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_pipeline.h>
#include <tbb/task_arena.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <vector>

#include "support/catch.hpp"

namespace {

constexpr std::size_t many = 1000;

std::size_t visited_once() {
  std::vector<std::atomic<int>> visits(many);
  tbb::parallel_for(0, many, [&](std::size_t i) { ++visits[i]; });
  return static_cast<std::size_t>(std::ranges::count_if(visits, [](int n) { return n == 1; }));
}

// The numbers that came through a pipeline, in which `work` takes them.
template <typename Work>
std::vector<int> piped(int numbers, const Work& work) {
  std::vector<int> places(5);
  tbb::concurrent_queue<int*> unused;
  for (int& place : places) unused.push(&place);
  int next = 0;
  std::vector<int> out;
  const auto read = [&](tbb::flow_control& control) -> int* {
    if (next == numbers) control.stop();
    int* place = nullptr;
    if (control.is_stopped() || !unused.try_pop(place)) return nullptr;
    *place = next++;
    return place;
  };
  const auto write = [&](int* place) {
    out.push_back(*place);
    unused.push(place);
  };
  using tbb::filter_mode;
  tbb::parallel_pipeline(places.size(), tbb::make_filter<void, int*>(filter_mode::serial_in_order, read) &
                                            tbb::make_filter<int*, int*>(filter_mode::parallel, work) &
                                            tbb::make_filter<int*, void>(filter_mode::serial_in_order, write));
  return out;
}

}  // namespace

TEST_CASE("parallel_for visits each index once, in loops within loops too") {
  CHECK(visited_once() == many);
  std::atomic<std::size_t> visits = 0;
  tbb::parallel_for(0, 50, [&](std::size_t) { visits += visited_once(); });
  CHECK(visits == 50 * many);
  tbb::parallel_for(3, 3, [&](std::size_t) { ++visits; });
  CHECK(visits == 50 * many);
}

TEST_CASE("what a body throws is thrown to who called, and the threads go on") {
  const auto refuse_one = [](std::size_t i) {
    if (i == 500) throw std::runtime_error("500");
  };
  CHECK_THROWS_WITH(tbb::parallel_for(0, many, refuse_one), "500");
  CHECK(visited_once() == many);
  const auto refuse_seven = [](int* i) { return *i == 7 ? throw std::runtime_error("7") : i; };
  CHECK_THROWS_WITH(piped(100, refuse_seven), "7");
  CHECK(piped(0, refuse_seven).empty());
}

TEST_CASE("a pipeline writes in the order that was read, however long the work takes") {
  const auto odd_ones_take_longer = [](int* i) {
    std::this_thread::sleep_for(std::chrono::microseconds(*i % 2 * 300));
    return i;
  };
  std::vector<int> expected(200);
  std::iota(expected.begin(), expected.end(), 0);
  CHECK(piped(200, odd_ones_take_longer) == expected);
}

TEST_CASE("an arena limits the threads of what is called in it") {
  tbb::enumerable_thread_specific<int> calls([] { return 0; });
  const int outside = tbb::this_task_arena::max_concurrency();
  tbb::task_arena(1).execute([&] {
    CHECK(tbb::this_task_arena::max_concurrency() == 1);
    tbb::parallel_for(0, many, [&](std::size_t) { ++calls.local(); });
  });
  CHECK(calls.local() == many);  // all in this thread
  CHECK(tbb::this_task_arena::max_concurrency() == outside);
}

TEST_CASE("a forked process, which has none of the threads, does the work alone") {
  REQUIRE(visited_once() == many);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) _exit(visited_once() == many ? 0 : 1);
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}
