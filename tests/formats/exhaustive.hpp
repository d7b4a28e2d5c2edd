// All 2^32 floats through a conversion and what it has to give, on all processors.
#ifndef ULP_TESTS_FORMATS_EXHAUSTIVE_HPP
#define ULP_TESTS_FORMATS_EXHAUSTIVE_HPP

#include <algorithm>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "formats/sweep.hpp"

namespace ulp::test {

// Calls check(sweep, first, last) for blocks of 2^16 bit patterns, several at a time; returns the first failure found,
// or nothing when every pattern was compared and agreed.
template <class Check>
std::string over_all_floats(Check check) {
  constexpr std::uint64_t all = std::uint64_t{1} << 32;
  const unsigned threads = std::max(2u, std::thread::hardware_concurrency());
  std::vector<sweep> sweeps(threads);
  std::vector<std::thread> workers;
  for (unsigned t = 0; t < threads; ++t)
    workers.emplace_back([t, threads, check, &mine = sweeps[t]] {
      for (std::uint64_t first = std::uint64_t{t} << 16; first < all; first += std::uint64_t{threads} << 16)
        check(mine, static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(first + 0xFFFF));
    });
  for (std::thread& worker : workers) worker.join();
  std::uint64_t compared = 0;
  for (const sweep& s : sweeps) {
    if (s.failures() != "") return s.failures();
    compared += s.compared();
  }
  return compared == all ? "" : std::to_string(compared) + " compared";
}

}  // namespace ulp::test

#endif
