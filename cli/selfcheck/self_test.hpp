// What ulp selfcheck verifies of this machine: each is one line of its answer.
#ifndef ULP_CLI_SELFCHECK_SELF_TEST_HPP
#define ULP_CLI_SELFCHECK_SELF_TEST_HPP

#include <cstdint>
#include <string>

#include "output.hpp"

namespace ulp::cli {

struct self_test {
  std::string name;
  std::string found;            // what was compared, or is there
  std::uint64_t compared = 0;   // results; 0 where nothing is counted
  std::string difference = {};  // the first; empty: passed

  [[nodiscard]] bool passed() const { return difference.empty(); }
};

// Conversions by every target of convert.hpp against encode and decode, one by one.
[[nodiscard]] self_test check_conversions();
// Arrays' add, sub, mul, div, sqrt and fma likewise, on test vectors.
[[nodiscard]] self_test check_arithmetic();
// Cell tables by every counting kernel against the reference.
[[nodiscard]] self_test check_counting();
// Philox's published answers, and random bits of arrays against those of single elements.
[[nodiscard]] self_test check_random_bits();
// The rounding and flushing that were found set, and that results do not depend on them.
[[nodiscard]] self_test check_processor_state();
// A recording written to a temporary folder and read back.
[[nodiscard]] self_test check_sqlite();
[[nodiscard]] self_test check_zlib();
// Numbers printed and read under a locale with a decimal comma.
[[nodiscard]] self_test check_locale();
// A short training with a scaler in the loop, and its replay.
[[nodiscard]] self_test check_closed_loop();

// All of them, a line each; returns the exit code.
[[nodiscard]] int check_machine(const output_options& output);

}  // namespace ulp::cli

#endif
