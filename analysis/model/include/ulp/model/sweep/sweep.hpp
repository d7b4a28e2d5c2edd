// Many scenarios over one run at once: what `ulp replay` gives for each, in totals.
//
// Scenarios whose overflow follows from the largest magnitudes of a step, which are nearly all, follow blocks of steps in
// parallel: of each step in a block only these magnitudes, the norm and the underflow counts at all powers of two are
// kept, and of the run, where regrets are told, what each scale costs (hindsight.hpp). The others (a scale per layer, a
// policy that counts by an edge, stochastic rounding, directions that treat the signs apart, DAZ, clamping before the
// overflow check) replay step by step.
// Where the policy's scales are powers of two, its distance to the best trajectory in hindsight is told too
// (hindsight.hpp); the others replay without it.
// Results do not depend on threads, and are those of `replayer`: skips and scales exactly; underflow counts too where
// the scale is a power of two, else as the range that the powers beside it give, and likewise where cells do not decide
// (tables are merged over tensors of one factor, so a range may be wider than the replay's).
#ifndef ULP_MODEL_SWEEP_SWEEP_HPP
#define ULP_MODEL_SWEEP_SWEEP_HPP

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ulp/model/cells/step.hpp>
#include <ulp/model/hindsight/hindsight.hpp>
#include <ulp/model/replay/replay.hpp>
#include <ulp/model/replay/scenario.hpp>

namespace ulp {

struct sweep_result {
  std::uint64_t steps = 0;
  std::uint64_t skipped = 0;
  std::uint64_t poisoned = 0;   // steps whose infinities or NaN were applied
  std::uint64_t uncertain = 0;  // steps whose overflow is not certain: all totals but the bounds are estimates
  bounds_of_run bounds;
  double mean_log2_scale = not_known;  // over the steps; infinite where one of their scales is 0 or infinite
  double least_scale = not_known;
  double greatest_scale = not_known;
  double last_scale = not_known;
  count_range underflow;      // over the counted tensors
  std::uint64_t nonzero = 0;  // of how many
  bool has_counts = false;
  std::string error;         // the scaler raised at the last step
  bool lacks_input = false;  // scaler_verdict::lacks_input
  std::optional<policy_regret> regret;
  std::string why_no_regret;  // where there is none

  // Of the nonzero values; of a range the upper end: what is not decided is not counted as a gain.
  [[nodiscard]] double underflow_share() const noexcept {
    return nonzero == 0 ? 0 : static_cast<double>(underflow.high) / static_cast<double>(nonzero);
  }

  // Skipped steps, those that a raised error left undone, and those that applied infinities or NaN.
  [[nodiscard]] std::uint64_t lost_steps(std::uint64_t all_steps) const noexcept {
    return skipped + poisoned + (error.empty() ? 0 : all_steps - steps);
  }

  // The share of the run's gradient values that is lost, which ranks policies: all of a lost step, and what underflows in the
  // others.
  [[nodiscard]] double lost_share(std::uint64_t all_steps) const noexcept {
    if (all_steps == 0) return 0;
    const double lost = static_cast<double>(lost_steps(all_steps)) / static_cast<double>(all_steps);
    return lost + (1 - lost) * underflow_share();
  }
};

class sweep {
 public:
  // At least one scenario; all count and check the same tensors and steps: those of the first.
  // `magnitude_weight` is w in hindsight.hpp; without it no regrets are told, which takes less time.
  explicit sweep(std::vector<scenario> scenarios, std::optional<double> magnitude_weight = {});
  ~sweep();

  // The next step, as for replayer::advance.
  void add(const step& now, const std::vector<tensor_info>& tensors);
  [[nodiscard]] std::size_t steps() const noexcept;
  [[nodiscard]] const tensor_choice& choice() const noexcept;

  // Of the steps so far, in the order of the scenarios. `done` is told of each scenario that is finished, one at a time;
  // what it throws ends the work and passes through.
  [[nodiscard]] std::vector<sweep_result> results(const std::function<void()>& done = {});

  // After results(): steps whose gradients hold infinities or NaN as recorded, and which every scenario lost.
  [[nodiscard]] std::vector<std::int64_t> steps_lost_to_all() const;

  // The best trajectory that starts and moves as it likes, in the scenario's format and rounding; nullopt where regrets
  // in these are not told.
  [[nodiscard]] std::optional<best_trajectory> free_best(std::size_t scenario) const;
  [[nodiscard]] std::int64_t step_number(std::size_t step) const;

 private:
  struct implementation;
  std::unique_ptr<implementation> implementation_;
};

// Which of several outcomes no other one beats: (lost steps, underflow share) are both not above and one is below.
[[nodiscard]] std::vector<bool> pareto_front(const std::vector<sweep_result>& results, std::uint64_t all_steps);

}  // namespace ulp

#endif
