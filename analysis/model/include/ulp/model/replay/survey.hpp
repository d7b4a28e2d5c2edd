// What the gradients of a run are over all its steps, before any format, scale or policy is chosen: of each tensor the
// cells of all steps as one table, of each step its extremes. Answers follow from it without reading the run again.
#ifndef ULP_MODEL_REPLAY_SURVEY_HPP
#define ULP_MODEL_REPLAY_SURVEY_HPP

#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ulp/formats/treatment.hpp>
#include <ulp/model/cells/cell_table.hpp>
#include <ulp/model/cells/step.hpp>
#include <ulp/model/outcomes/lost_mass.hpp>
#include <ulp/model/outcomes/noise.hpp>
#include <ulp/model/outcomes/outcome.hpp>
#include <ulp/model/replay/recorded_run.hpp>
#include <ulp/model/replay/recording_doubts.hpp>
#include <ulp/model/replay/scenario.hpp>
#include <ulp/model/replay/tensor_choice.hpp>

namespace ulp {

// How a tensor changed: what it was over successive steps of its own, whose gradients were finite, 64 parts of the run at
// most. Each part stands for as many steps, the last perhaps for fewer.
class tensor_history {
 public:
  struct part {
    std::int64_t first_step = 0;
    std::int64_t last_step = 0;
    std::uint64_t steps = 0;
    std::uint64_t numel = 0;
    std::uint64_t zeros = 0;
    double max_abs = 0;  // unscaled
    [[nodiscard]] double zero_share() const {
      return numel == 0 ? 0 : static_cast<double>(zeros) / static_cast<double>(numel);
    }
  };

  void add(std::int64_t step, const cell_table& table, double unit);
  [[nodiscard]] const std::vector<part>& parts() const noexcept { return parts_; }

 private:
  std::vector<part> parts_;
  std::uint64_t width_ = 1;
};

// One tensor over the run. Tables are kept by factor (1 where it is not known), so that scales meet the values exactly, and by
// type, which DAZ asks for.
struct tensor_survey {
  std::map<std::pair<double, dtype>, cell_table> tables;
  std::uint64_t steps = 0;
  std::uint64_t numel = 0;
  std::uint64_t zeros = 0;
  std::uint64_t nonfinite = 0;
  double least_zero_share = 1;    // over its steps
  std::uint64_t censored = 0;     // zeros of values that had been rounded to a narrow format before they were recorded
  double censored_magnitude = 0;  // what these may have been at most, in sum, unscaled
  double max_abs = 0;             // largest finite unscaled gradient of the run
  bool counted = false;
  bool checked = false;
  bool is_scaled = true;  // else no loss scale multiplies it: every scale is 1
  bool is_sum =
      false;  // of parts that were rounded one by one, in some step: a part may overflow where the sum does not
  // Steps in which it holds NaN or infinities; of these, those where it is the first such tensor: of recorded activations in
  // the order of forward, else of gradients in that of backward.
  std::uint64_t lost_steps = 0;
  std::uint64_t lost_first = 0;
  std::int64_t first_lost_step = 0;
  tensor_history history;

  [[nodiscard]] outcome_counts outcomes(const treatment& how, double scale) const;
  [[nodiscard]] lost_mass lost(const treatment& how, double scale) const;
  [[nodiscard]] rounding_noise noise(const treatment& how, double scale) const;
  // Sum of the magnitudes of all finite values, as magnitudes_bounds gives it.
  [[nodiscard]] value_range magnitudes() const;
};

// Whether values had been rounded to a narrow format before they were recorded, so that some zeros were none.
[[nodiscard]] bool is_censored(dtype recorded, const tensor_info& of);
// What the zeros of such a table may have been at most, in sum, unscaled.
[[nodiscard]] double censored_magnitude_of(std::uint64_t zeros, const tensor_info& of, double unit);

// One step.
struct step_survey {
  step_key key;
  double max_abs = not_known;  // of the checked tensors, unscaled: NaN once one holds NaN, infinite with infinities
  // The same of those that are not known to be sums of parts; and what some part of a sum reaches at least.
  double largest_whole = 0;
  double least_part = 0;
  double norm = not_known;  // as in trajectory_row
  bool norm_is_exact = true;
  // As logged.
  double loss = not_known;
  double logged_norm = not_known;
  double learning_rate = not_known;
  // Of the recorded gradients, checked or not: tensors, and those with NaN or infinities.
  std::uint32_t tensors = 0;
  std::uint32_t with_nan = 0;
  std::uint32_t with_infinities = 0;
  std::uint32_t lost = 0;  // with either
  // What the run itself found holds at this scale, in this format; NaN, nullopt where unknown.
  double loss_scale = not_known;
  // max_abs_bounds; NaN where no log gives them.
  double bound_low = not_known;
  double bound_high = not_known;
  bool bound_is_certain = true;
  std::optional<bool> found_inf;
  std::optional<bool> applied;  // of a training log
  std::optional<format> rounded_to;
  bool has_sums = false;
  bool known = false;    // whether max_abs is: not in logs of overflow flags
  bool is_zero = false;  // all that they hold
  bool several_formats = false;
  bool loss_is_lost = false;

  [[nodiscard]] std::optional<max_abs_bounds> bounds() const noexcept {
    if (std::isnan(bound_low)) return std::nullopt;
    return max_abs_bounds{bound_low, bound_high, bound_is_certain};
  }
};

// The first of successive steps whose gradients are not finite, or the first of these with NaN alone: which tensors are not,
// by their indices, in the order in which backward reaches them.
struct first_lost {
  std::size_t step = 0;  // index into the survey's steps
  std::vector<std::uint32_t> with_nan;
  std::vector<std::uint32_t> with_infinities;
};

// Weights that were recorded as infinite or NaN: in the first step that has such, and in how many after it.
struct lost_weights {
  std::int64_t step = 0;
  bool is_first = true;  // of the steps with weights
  std::uint64_t more_steps = 0;
  std::vector<std::uint32_t> tensors;  // by their indices
  std::uint64_t elements = 0;
  std::uint64_t numel = 0;  // of these tensors
};

// Of one tensor's recorded updates, over the steps whose learning rate was not 0.
struct zeros_of_updates {
  std::uint64_t zeros = 0;
  std::uint64_t numel = 0;  // finite
};

// Tensors that are looked at together, by their indices.
struct tensor_set {
  std::string name;
  std::vector<std::size_t> tensors;
};

// What there is to say of each step by itself, whatever came before it; cheaper than a survey, which keeps the tensors' tables.
class step_surveyor {
 public:
  step_surveyor(selection counted, name_predicate checked)
      : counted_(counted), choice_(std::move(counted), std::move(checked)) {}

  struct surveyed {
    step_survey step;
    // Tensors, by their indices, as the step has them.
    std::vector<std::uint32_t> with_nan;
    std::vector<std::uint32_t> with_infinities;
    std::vector<std::uint32_t> lost_activations;  // with either
  };
  // Steps of ascending keys; nullopt for those that are not selected, and for single microbatches.
  [[nodiscard]] std::optional<surveyed> see(const step& now, const std::vector<tensor_info>& all);

  [[nodiscard]] const selection& counted() const noexcept { return counted_; }
  [[nodiscard]] const tensor_choice& choice() const noexcept { return choice_; }
  [[nodiscard]] const recording_doubts& doubts() const noexcept { return doubts_; }
  // Whether a factor was not known, and values are as recorded.
  [[nodiscard]] bool as_recorded() const noexcept { return as_recorded_; }

 private:
  selection counted_;
  tensor_choice choice_;
  recorded_run run_;
  recording_doubts doubts_;
  bool as_recorded_ = false;
};

// Of kinds that no loss scale multiplies only those are counted that the selection asks for.
class survey {
 public:
  survey(selection counted, name_predicate checked) : surveyor_(std::move(counted), std::move(checked)) {}

  // Room for so many steps, so that a long run grows without a copy of what it holds.
  void expect(std::size_t steps) { steps_.reserve(steps); }
  // Steps of ascending keys; those that are not selected, and single microbatches, are left out.
  void add(const step& now, const std::vector<tensor_info>& all);

  [[nodiscard]] const std::vector<tensor_survey>& tensors() const noexcept { return tensors_; }
  [[nodiscard]] const std::vector<step_survey>& steps() const noexcept { return steps_; }
  // Of the first 64 such places, and of the last.
  [[nodiscard]] const std::vector<first_lost>& lost_places() const noexcept { return lost_places_; }
  // nullopt where all that are selected are finite, or none was recorded.
  [[nodiscard]] const std::optional<ulp::lost_weights>& lost_weights() const noexcept { return lost_weights_; }
  // By the indices of tensors: what weights are recorded as, and which updates are zero.
  [[nodiscard]] const std::map<std::uint32_t, dtype>& weight_types() const noexcept { return weight_types_; }
  [[nodiscard]] const std::map<std::uint32_t, zeros_of_updates>& zero_updates() const noexcept { return zero_updates_; }
  [[nodiscard]] const recording_doubts& doubts() const noexcept { return surveyor_.doubts(); }
  [[nodiscard]] const tensor_choice& choice() const noexcept { return surveyor_.choice(); }
  [[nodiscard]] bool as_recorded() const noexcept { return surveyor_.as_recorded(); }

  // Over the counted tensors.
  [[nodiscard]] outcome_counts outcomes(const treatment& how, double scale) const;
  [[nodiscard]] outcome_counts outcomes(const tensor_set& of, const treatment& how, double scale) const;
  [[nodiscard]] lost_mass lost(const tensor_set& of, const treatment& how, double scale) const;
  [[nodiscard]] rounding_noise noise(const tensor_set& of, const treatment& how, double scale) const;
  [[nodiscard]] value_range magnitudes(const tensor_set& of) const;
  [[nodiscard]] std::uint64_t censored() const;
  [[nodiscard]] double censored_magnitude(const tensor_set& of) const;

 private:
  void see_weights(const step& now, const std::vector<tensor_info>& all);
  void see_lost(const step_surveyor::surveyed& seen);
  // How many tensors backward reaches before it.
  [[nodiscard]] auto rank() const {
    return [this](std::uint32_t tensor) { return backward_ranks_[tensor]; };
  }

  step_surveyor surveyor_;
  std::vector<tensor_survey> tensors_;
  std::vector<step_survey> steps_;
  std::vector<first_lost> lost_places_;
  std::optional<ulp::lost_weights> lost_weights_;
  bool has_weights_ = false;
  std::vector<std::uint32_t> backward_ranks_;  // of tensors
  std::map<std::uint32_t, dtype> weight_types_;
  std::map<std::uint32_t, zeros_of_updates> zero_updates_;
};

inline constexpr const char* name_of_rest = "the rest";

// The counted tensors that have values: each for itself, by kind, and by group, where groups may be empty and those in
// none, if any, come last under name_of_rest.
[[nodiscard]] std::vector<tensor_set> sets_by_tensor(const survey& run, const std::vector<tensor_info>& tensors);
[[nodiscard]] std::vector<tensor_set> sets_by_kind(const survey& run, const std::vector<tensor_info>& tensors);
[[nodiscard]] std::vector<tensor_set> sets_by_group(const survey& run, const std::vector<tensor_info>& tensors,
                                                    const std::vector<tensor_group>& groups);

}  // namespace ulp

#endif
