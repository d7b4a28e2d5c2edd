// What follows from a loss-scale policy and a run's largest gradients without replaying it.
#ifndef ULP_MODEL_MACHINES_POLICY_ANALYSIS_HPP
#define ULP_MODEL_MACHINES_POLICY_ANALYSIS_HPP

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <ulp/formats/treatment.hpp>
#include <ulp/model/machines/scaler.hpp>

namespace ulp {

// A scale that a policy may be at, and the probability that a step overflows there.
struct scale_state {
  double scale = 1;
  double overflow_probability = 0;
};

// The scales unit * 2^least_log2 to unit * 2^greatest_log2 with the share of steps that overflow at each: those whose
// critical scale (trajectory_row::critical_scale) is less. NaN overflows everywhere.
[[nodiscard]] std::vector<scale_state> overflow_shares(std::span<const double> critical_scales, double unit,
                                                       int least_log2, int greatest_log2);

struct markov_prediction {
  double skip_rate = 0;            // skipped steps per step, in the long run
  double mean_log2_scale = 0;      // over the steps
  std::vector<double> time_share;  // of each state; they add up to 1
};

// The closed form for GradScaler and its like: up one state after growth_steps good steps in a row, down one at an
// overflow, the lowest and the highest keep. Exact where steps overflow independently of each other; real ones come in
// bursts, which makes it an estimate. Probabilities must not fall from one state to the next; growth_steps is at least
// 1 (growth_interval, one more for flax and Cerebras).
[[nodiscard]] markov_prediction predict_markov(std::span<const scale_state> states, std::int64_t growth_steps);

// The closed form for a policy and the steps of a run, which are drawn from at random: between the policy's floor and
// ceiling, else as far as the critical scales reach. Steps without a critical scale above 0 (NaN) are left out.
// nullopt where the policy has no doubling_period, or no step is left.
[[nodiscard]] std::optional<markov_prediction> predict_markov(const scaler& start,
                                                              std::span<const double> critical_scales);

// Where a step with that largest gradient begins to overflow, as exact products: the largest scale at which it does
// not, and the smallest at which it does, the next double (under stochastic rounding the smallest at which it must). 0
// and 0 where every scale overflows (NaN, infinity), infinite twice where none does.
struct critical_scale {
  double largest_safe = 0;
  double smallest_overflowing = 0;
};
[[nodiscard]] critical_scale critical_scale_of(double max_abs, const treatment& how);

// The largest scale at which a value of that magnitude stays in the format's range, whatever is delivered beyond it; 0 for
// values that are not finite.
[[nodiscard]] double range_scale_of(double max_abs, const treatment& how);

// Parameters that the framework takes but that hardly mean what was meant, one line each.
[[nodiscard]] std::vector<std::string> parameter_notes(const scaler& s);

}  // namespace ulp

#endif
