// The states that a scaler may be in when some steps are not decided: both ways are followed from there on, and ways that
// meet again are one.
#ifndef ULP_MODEL_REPLAY_REACHABLE_STATES_HPP
#define ULP_MODEL_REPLAY_REACHABLE_STATES_HPP

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include <ulp/model/machines/scaler.hpp>
#include <ulp/model/replay/trajectory.hpp>

#include "step_overflow.hpp"

namespace ulp {

class reachable_states {
 public:
  // What a step does at a scale, and what a policy is told of it there, depending on whether it overflows.
  struct step_at {
    std::function<overflow_answer(double scale)> overflow;
    std::function<scaler_input(double scale, bool found)> input;
  };

  // The next step. `now` is the estimate as it enters the step, `decided` whether the step is at its scale. Returns what
  // is known of the step whatever happened before.
  [[nodiscard]] bounds_of_step advance(const scaler& now, bool decided, const step_at& step);
  // After the estimate has taken that step: `verdict` is what it did, `found` whether it overflowed.
  void follow(const scaler& now, const scaler_verdict& verdict, bool found);

  // Whether the estimate is all there is, so that a decided step needs no advance().
  [[nodiscard]] bool is_one() const noexcept { return totals_.known && ways_.empty(); }
  // Whether some way ended in an error, so that its totals are not those of the run.
  [[nodiscard]] bool any_raised() const noexcept { return !ended_.empty(); }
  [[nodiscard]] const bounds_of_run& totals() const noexcept { return totals_; }

 private:
  struct way {
    scaler at;
    count_range skipped;
    count_range poisoned;
  };
  using key = std::vector<std::uint64_t>;

  void give_up();
  static void join(std::map<key, way>& ways, way from);

  std::map<key, way> ways_;  // empty: the estimate's alone
  bounds_of_run totals_;     // of the estimate, while it is alone
  std::vector<way> ended_;   // by an error
  std::uint64_t work_ = 0;
};

}  // namespace ulp

#endif
