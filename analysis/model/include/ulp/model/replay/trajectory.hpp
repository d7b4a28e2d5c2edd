// What a replay yields: one row a step, and what the rows amount to.
#ifndef ULP_MODEL_REPLAY_TRAJECTORY_HPP
#define ULP_MODEL_REPLAY_TRAJECTORY_HPP

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <ulp/model/cells/step.hpp>
#include <ulp/model/outcomes/expectation.hpp>
#include <ulp/model/outcomes/outcome.hpp>

namespace ulp {

// What is known of a step where it, or one before it, is not decided: over all that may have happened.
struct bounds_of_step {
  bool found_certain = true;  // it overflows in all of them, or in none
  value_range scale_used;     // what the loss was scaled with
  value_range scale_next;
};

// Likewise of all steps so far.
struct bounds_of_run {
  count_range skipped;
  count_range poisoned;
  bool known = true;  // false: more may have happened than was followed, and the counts mean nothing
};

struct trajectory_row {
  step_key key;
  bool found_inf = false;         // the estimate, where it is not certain
  bool found_inf_certain = true;  // false where the recorded run, a range or a random draw leaves it open
  bounds_of_step bounds;
  bounds_of_run so_far;    // this step included
  double scale_used = 0;   // the loss was scaled with; with a scale per layer the least of them
  double unscaled_by = 0;  // what the gradients that the optimizer saw were divided by; where a step is applied
  double scale_next = 0;
  bool skipped = false;
  bool poisoned =
      false;  // infinities or NaN are applied; not with policies that count by an edge: their hardware saturates
  // The largest scale at which the step does not overflow, as critical_scale_of gives it, exact where factors are powers
  // of two: 0 where every scale overflows, infinite where none does; NaN where it is not known, also with a scale per
  // layer. Of what was not finite an estimate: the number below the scale it was recorded at.
  double critical_scale = not_known;
  bool critical_certain = true;
  bool recorded_nan = false;    // a checked tensor holds NaN as recorded
  bool recorded_inf = false;    // likewise infinities
  bool at_every_scale = false;  // the step overflows whatever the scale, as far as is known
  bool has_counts = false;      // step logs have none
  outcome_counts counts;        // over the counted tensors, at scale_used
  double norm = not_known;      // L2 norm of the unscaled weight gradients (of all counted tensors where none is one)
  bool norm_exact = true;       // from exact sums, or as the source reported it
  std::vector<double> group_norms;      // likewise of each group's counted tensors; NaN where it has none
  double clip_measure = not_known;      // what clipping compares, or by the norm would compare, with its bound
  double clip_coefficient = not_known;  // what the gradients are multiplied by, when below one; norm clipping only
  std::optional<bool> clipped = false;  // nullopt: the norm or the largest gradient is not known
  std::optional<count_range> clamped;   // elements beyond the bound; value clipping of tensors only
  value_range clipped_norm{not_known, not_known};  // of the same tensors as `norm`, after clipping
  bool as_recorded = false;              // a factor was not known: the scale multiplied the values as recorded
  std::optional<bool> recorded_applied;  // what the recorded run did, where known
  std::string error;                     // the scaler raised; the trajectory ends here
  bool lacks_input = false;              // scaler_verdict::lacks_input
};

// What the scale of a step does to one counted tensor.
struct tensor_outcome {
  step_key key;
  std::uint32_t tensor = 0;  // index into the source's tensors
  double scale = 0;
  bool checked = false;
  outcome_counts counts;
  double max_abs = not_known;         // largest finite unscaled gradient
  double critical_scale = not_known;  // as of a row, for this tensor alone
};

struct trajectory_summary {
  std::uint64_t steps = 0;
  std::uint64_t skipped = 0;
  std::uint64_t poisoned = 0;  // steps whose infinities or NaN were applied
  std::uint64_t clipped = 0;
  std::uint64_t clipping_unknown = 0;  // steps of which it is not known
  std::uint64_t recorded_nan = 0;      // steps
  std::uint64_t recorded_inf = 0;      // steps with infinities and no NaN
  std::optional<std::int64_t> first_recorded_nonfinite;
  std::uint64_t beyond_scaling = 0;  // steps that overflow at every scale
  std::uint64_t uncertain = 0;       // steps whose found_inf is not certain
  bounds_of_run bounds;
  double first_scale = not_known;
  double last_scale = not_known;   // the scale after the last step
  double least_scale = not_known;  // used in any step
  double greatest_scale = not_known;
  double log2_sum = 0;  // of the scales used
  outcome_counts counts;
  bool has_counts = false;
  bool as_recorded = false;
  std::optional<std::int64_t> first_skip;
  // The first step that the replay skips and the recorded run applied, or the other way round: open loop from here on.
  std::optional<std::int64_t> first_divergence;
  bool divergence_certain = true;       // false where found_inf of that step is not
  bool recorded_outcome_known = false;  // else the recorded run is taken to have applied every step
  std::string error;

  void add(const trajectory_row& row);
  [[nodiscard]] double mean_log2_scale() const noexcept { return log2_sum / static_cast<double>(steps); }
};

}  // namespace ulp

#endif
