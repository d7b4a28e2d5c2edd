// How much of what is finite a test goes through: every so many in scripts/test, all in the exhaustive tests, which are the same
// programs with ULP_EVERY set (`ulp_test(... EXHAUSTIVE)`).
#ifndef ULP_TESTS_SUPPORT_STRIDES_HPP
#define ULP_TESTS_SUPPORT_STRIDES_HPP

#include <cstddef>
#include <cstdlib>

namespace ulp::test {

inline bool is_exhaustive() { return std::getenv("ULP_EVERY") != nullptr; }

// `stride`, or 1 where all are wanted.
inline std::size_t every(std::size_t stride) { return is_exhaustive() ? 1 : stride; }

}  // namespace ulp::test

#endif
