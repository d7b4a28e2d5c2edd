// Inputs whose checksums hide what lies behind them: a mutator takes them apart, changes a part, and puts them together
// again with the checksums of what it made. libFuzzer calls it instead of its own, which changes the parts.
#ifndef ULP_TESTS_FUZZ_MUTATOR_HPP
#define ULP_TESTS_FUZZ_MUTATOR_HPP

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>

// libFuzzer's own.
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed);

namespace ulp::fuzz {

class dice {
 public:
  explicit dice(unsigned seed) : engine_(seed) {}
  // 0 to below - 1.
  std::size_t roll(std::size_t below) { return std::uniform_int_distribution<std::size_t>(0, below - 1)(engine_); }
  bool once_in(std::size_t times) { return roll(times) == 0; }

 private:
  std::minstd_rand engine_;
};

// As libFuzzer would change it.
[[nodiscard]] std::string mutated(std::string text);

// Into libFuzzer's buffer: `text`, or what is there changed without any sense where that is too long.
[[nodiscard]] std::size_t give(const std::string& text, std::uint8_t* data, std::size_t size, std::size_t max_size);

}  // namespace ulp::fuzz

#endif
