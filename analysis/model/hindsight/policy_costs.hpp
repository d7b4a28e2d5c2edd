// What policies cost along a run, and the best trajectories that they are compared with.
#ifndef ULP_MODEL_HINDSIGHT_POLICY_COSTS_HPP
#define ULP_MODEL_HINDSIGHT_POLICY_COSTS_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <ulp/model/hindsight/hindsight.hpp>
#include <ulp/model/replay/trajectory.hpp>

namespace ulp {

// The way of one policy, step by step.
class policy_way {
 public:
  // `lost`: the step costs what a skip does. `used` are the scales that may have been used, where this is not decided.
  void add(const run_costs& costs, std::size_t step, std::int64_t number, double scale, bool lost,
           const std::optional<value_range>& used);
  // Steps after an error; `raising_lost`: the step that raised is lost and neither skipped nor poisoned.
  void leave_undone(std::size_t steps, bool raising_lost);

  // Why the way has no regret; empty where it has.
  [[nodiscard]] const std::string& why_none() const noexcept { return why_none_; }
  // Without what it is compared with. `bounds` are those of the whole way; unknown where some way of many raised.
  [[nodiscard]] policy_regret cost(const bounds_of_run& bounds) const;

 private:
  policy_regret cost_;
  std::string why_none_;
  double most_of_magnitude_ = 0;
  std::size_t steps_ = 0;      // undone ones too
  std::size_t uncounted_ = 0;  // lost steps that bounds_of_run has not
  int exponent_ = 0;
  double last_ = 0;  // the scale that `exponent_` is of
};

// Gives each its best trajectories; the same classes are searched once.
void compare_with_best(const run_costs& costs, const std::vector<policy_regret*>& policies);

}  // namespace ulp

#endif
