// How one treatment of one tensor does over the steps of a run.
#ifndef ULP_ASK_RUNS_JUDGED_TREATMENT_HPP
#define ULP_ASK_RUNS_JUDGED_TREATMENT_HPP

#include <cstdint>

#include <ulp/model/cells/ranges.hpp>
#include <ulp/model/plan/lost_energy.hpp>

namespace ulp {

// The share of a tensor's energy that a plan lets rounding and underflow take in any step, unless it is told another.
inline constexpr double usual_lost_share = 1e-3;

// Why something is not decided.
struct plan_doubts {
  bool no_ladder = false;      // no error ladder was recorded
  bool no_blocks = false;      // nor tables of its blocks
  bool needs_values = false;   // no table tells of it, only the values do
  bool is_double = false;      // values are float64, whose errors tables have rounded
  bool no_maximum = false;     // the largest magnitude is not known
  bool near_overflow = false;  // it is so large that a scale may make it infinite
};

enum class plan_verdict : std::uint8_t {
  holds,  // in every step
  fails,  // in some
  open,   // the input does not decide it
  unfit   // it is not for this tensor: 8 bits and fewer of a vector
};

// One treatment of one tensor, over its steps.
struct judged_treatment {
  std::uint64_t bits = 0;
  std::uint64_t steps = 0;  // that were judged
  // Of the share that is lost: the greatest of the lower and of the upper bounds, and their steps.
  value_range worst{0, 0};
  double estimate = 0;  // in the latter step
  std::int64_t step_of_low = 0;
  std::int64_t step_of_high = 0;
  std::uint64_t saturating = 0;      // steps
  std::uint64_t may_saturate = 0;    // steps, those included
  std::int64_t saturates_first = 0;  // or may
  std::uint64_t nonfinite = 0;       // steps in which finite values become infinite or NaN
  std::int64_t nonfinite_first = 0;
  plan_doubts doubts;
  bool unfit = false;

  void add(std::int64_t step, const lost_energy& here);
  // What the choice takes it for: infinite unless it is known to saturate nowhere.
  [[nodiscard]] double share() const noexcept;
  [[nodiscard]] plan_verdict verdict(double most) const noexcept;
};

}  // namespace ulp

#endif
