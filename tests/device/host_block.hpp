// A block of threads, run on the host: each thread in turn does what all do between two barriers.
#ifndef ULP_TESTS_DEVICE_HOST_BLOCK_HPP
#define ULP_TESTS_DEVICE_HOST_BLOCK_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "device/block.hpp"

namespace ulp::device {

class host_block {
 public:
  // shared: its bytes. They hold anything at first.
  host_block(std::uint32_t index, std::uint32_t blocks, std::uint32_t window, std::uint32_t windows,
             std::uint32_t threads, std::size_t shared, bool backwards)
      : index_(index),
        blocks_(blocks),
        window_(window),
        windows_(windows),
        threads_(threads),
        words_(shared / 4),
        backwards_(backwards),
        memory_(shared / sizeof(quad) + 2, quad{{~0U, 7, 1, 0x12345}}) {
    end()[0] = guard;
  }
  host_block(const host_block&) = delete;
  host_block& operator=(const host_block&) = delete;

  [[nodiscard]] std::uint32_t index() const { return index_; }
  [[nodiscard]] std::uint32_t blocks() const { return blocks_; }
  [[nodiscard]] std::uint32_t window() const { return window_; }
  [[nodiscard]] std::uint32_t windows() const { return windows_; }
  [[nodiscard]] std::uint32_t threads() const { return threads_; }
  [[nodiscard]] std::uint32_t* shared() { return memory_[0].words; }
  template <typename Do>
  void each(Do what) const {
    for (std::uint32_t i = 0; i < threads_; ++i) what(backwards_ ? threads_ - 1 - i : i);
  }
  template <typename Count, typename Place, typename Do>
  void each_ranked(Count count, Place place, Do what) const {
    std::vector<std::uint32_t> before(threads_ + 1);
    each([&](std::uint32_t thread) { before[thread + 1] = count(thread); });
    for (std::uint32_t i = 0; i < threads_; ++i) before[i + 1] += before[i];
    const auto where = place(before[threads_]);
    each([&](std::uint32_t thread) { what(thread, before[thread], where); });
  }
  template <typename T>
  struct own {
    std::vector<T> values;
    explicit own(const host_block& block) : values(block.threads()) {}
    T& operator[](std::uint32_t thread) { return values[thread]; }
  };
  [[nodiscard]] static quad load(const quad* from) { return *from; }
  template <typename T>
  static T add(T& to, T n) {
    const T before = to;
    to = before + n;
    return before;
  }
  template <typename T>
  static void raise(T& to, T n) {
    to = std::max(to, n);
  }
  static void publish() {}
  template <typename T>
  [[nodiscard]] static T fresh(const T& of) {
    return of;
  }
  // Whether nothing was written behind the shared memory.
  [[nodiscard]] bool is_whole() { return end()[0] == guard; }

 private:
  static constexpr std::uint32_t guard = 0xABCD1234;
  std::uint32_t* end() { return memory_[0].words + words_; }

  std::uint32_t index_, blocks_, window_, windows_, threads_;
  std::size_t words_;
  bool backwards_;
  std::vector<quad> memory_;
};

// Runs a body with a grid of blocks, one after the other in any order. Returns whether they kept to their shared memory.
template <typename Body>
bool run_blocks(std::uint32_t blocks, std::uint32_t windows, std::uint32_t threads, std::size_t shared,
                std::uint64_t order, Body body) {
  std::vector<std::uint32_t> all(std::size_t{blocks} * windows);
  for (std::uint32_t i = 0; i < all.size(); ++i) all[i] = i;
  std::shuffle(all.begin(), all.end(), std::mt19937_64(order));
  bool whole = true;
  for (const std::uint32_t i : all) {
    host_block block(i % blocks, blocks, i / blocks, windows, threads, shared, order % 2 == 1);
    body(block);
    whole = whole && block.is_whole();
  }
  return whole;
}

}  // namespace ulp::device

#endif
