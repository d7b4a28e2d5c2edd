// One policy along the steps of a sweep.
#ifndef ULP_MODEL_SWEEP_SWEPT_SCENARIO_HPP
#define ULP_MODEL_SWEEP_SWEPT_SCENARIO_HPP

#include <cstddef>
#include <limits>
#include <vector>

#include <ulp/model/machines/scaler.hpp>
#include <ulp/model/sweep/sweep.hpp>

#include "hindsight/policy_costs.hpp"
#include "replay/reachable_states.hpp"
#include "swept_steps.hpp"

namespace ulp {

class swept_scenario {
 public:
  swept_scenario(scaler policy, bool tells_regret)
      : policy_(std::move(policy)), scale_(policy_.scale()), tells_regret_(tells_regret) {
    so_far_.least_scale = std::numeric_limits<double>::infinity();
    so_far_.greatest_scale = 0;
  }

  // The next steps, `first` being the number of those before. Returns the indices of those that are recorded as lost and
  // that the policy loses, ascending.
  std::vector<std::size_t> follow(const std::vector<swept_step>& steps, std::size_t first, const swept_delivery& of);

  // Of a run of so many steps; the regret without what it is compared with.
  [[nodiscard]] sweep_result result(std::size_t steps) const;

 private:
  void advance(const swept_step& now, std::size_t i, std::size_t index, const swept_delivery& of);
  void count(const swept_step& now, std::size_t i, const swept_delivery& of);

  scaler policy_;
  double scale_;
  bool tells_regret_;
  reachable_states states_;
  policy_way way_;
  sweep_result so_far_;
  double log2_sum_ = 0;
  bool is_lost_ = false;       // the last step
  bool raising_lost_ = false;  // the step that raised, which was not skipped
  // Of the last scale that was looked at.
  double last_seen_ = not_known;
  bool is_power_ = false;
  int exponent_ = 0;
};

}  // namespace ulp

#endif
