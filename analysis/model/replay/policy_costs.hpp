// What policies cost along a run, and the best trajectories that they are compared with.
#ifndef ULP_MODEL_POLICY_COSTS_HPP
#define ULP_MODEL_POLICY_COSTS_HPP

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <ulp/model/hindsight.hpp>

namespace ulp {

// The way of one policy, step by step.
class policy_way {
 public:
  // `lost`: the step costs what a skip does.
  void add(const run_costs& costs, std::size_t step, std::int64_t number, double scale, bool lost);
  // Steps after an error.
  void leave_undone(std::size_t steps);

  // Why the way has no regret; empty where it has.
  [[nodiscard]] const std::string& why_none() const noexcept { return why_none_; }
  // Without what it is compared with.
  [[nodiscard]] const policy_regret& cost() const noexcept { return cost_; }

 private:
  policy_regret cost_;
  std::string why_none_;
  int exponent_ = 0;
  double last_ = 0;  // the scale that `exponent_` is of
};

// Gives each its best trajectories; the same classes are searched once.
void compare_with_best(const run_costs& costs, const std::vector<policy_regret*>& policies);

}  // namespace ulp

#endif
