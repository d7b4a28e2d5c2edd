// What becomes of values that are scaled in float32 and then rounded, value by value.
#ifndef ULP_TESTS_MODEL_REPLAY_SCALED_TRUTH_HPP
#define ULP_TESTS_MODEL_REPLAY_SCALED_TRUTH_HPP

#include <ulp/model/outcomes/outcome.hpp>
#include <ulp/model/replay/fp8_replay.hpp>

#include <cmath>
#include <span>

#include "support/raw.hpp"

namespace ulp::test {

// By the policy's own scale, which multiplies or divides.
inline outcome_counts count_scaled(std::span<const double> values, const treatment& how, double scale, bool divides) {
  outcome_counts counts;
  for (const double x : values) {
    const auto as_float = static_cast<float>(x);
    const float y = divides ? as_float / static_cast<float>(scale) : as_float * static_cast<float>(scale);
    // What float32 loses is lost to the format, too.
    const bool vanishes = y == 0 && x != 0;
    count_value(counts, vanishes ? std::copysign(0x1p-149, x) : static_cast<double>(y), how.format, how.rounding, 1);
  }
  return counts;
}

struct range_check {
  std::size_t counts = 0;
  std::size_t exact = 0;
  std::size_t wrong = 0;

  void see(const count_range& told, const count_range& truth) {
    ++counts;
    exact += told.exact() ? 1 : 0;
    wrong += told.low <= truth.low && truth.high <= told.high ? 0 : 1;
  }
  void see(const outcome_counts& told, const outcome_counts& truth) {
    see(told.underflow, truth.underflow);
    see(told.subnormal, truth.subnormal);
    see(told.overflow, truth.overflow);
  }
};

}  // namespace ulp::test

#endif
