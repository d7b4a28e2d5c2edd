// What the gradients of a run are over all its steps, before any format, scale or policy is chosen: of each tensor the
// cells of all steps as one table, of each step its extremes. Answers follow from it without reading the run again.
#ifndef ULP_MODEL_SURVEY_HPP
#define ULP_MODEL_SURVEY_HPP

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ulp/formats/format.hpp>
#include <ulp/formats/rounding.hpp>
#include <ulp/model/cell_table.hpp>
#include <ulp/model/lost_mass.hpp>
#include <ulp/model/outcome.hpp>
#include <ulp/model/recorded_run.hpp>
#include <ulp/model/scenario.hpp>
#include <ulp/model/step.hpp>
#include <ulp/model/tensor_choice.hpp>

namespace ulp {

// One tensor over the run. Tables are kept by factor (1 where it is not known), so that scales meet the values exactly, and by
// type, which DAZ asks for.
struct tensor_survey {
  std::map<std::pair<double, dtype>, cell_table> tables;
  std::uint64_t steps = 0;
  std::uint64_t numel = 0;
  std::uint64_t zeros = 0;
  std::uint64_t nonfinite = 0;
  double least_zero_share = 1;  // over its steps
  std::uint64_t censored = 0;   // zeros of values that had been rounded to a narrow format before they were recorded
  double max_abs = 0;           // largest finite unscaled gradient of the run
  bool counted = false;
  bool checked = false;
  bool is_scaled = true;  // else no loss scale multiplies it: every scale is 1

  [[nodiscard]] outcome_counts outcomes(const format& to, const rounding& mode, double scale) const;
  [[nodiscard]] lost_mass lost(const format& to, const rounding& mode, double scale) const;
  // Sum of the magnitudes of all finite values, as magnitudes_bounds gives it.
  [[nodiscard]] value_range magnitudes() const;
};

// One step.
struct step_survey {
  step_key key;
  double max_abs = not_known;  // of the checked tensors, unscaled: NaN once one holds NaN, infinite with infinities
  // The same of those that are not known to be sums of parts; and what some part of a sum reaches at least.
  double largest_whole = 0;
  double least_part = 0;
  bool has_sums = false;
  bool known = false;       // whether max_abs is: not in logs of overflow flags
  double norm = not_known;  // as in trajectory_row
  double loss = not_known;  // as logged
  // What the run itself found holds at this scale, in this format; NaN, nullopt where unknown.
  double loss_scale = not_known;
  std::optional<format> rounded_to;
  std::optional<bool> found_inf;
  bool several_formats = false;
  bool loss_is_lost = false;
  // Of a training log.
  std::optional<bool> applied;
  std::optional<max_abs_bounds> bounds;
};

// Tensors that are looked at together, by their indices.
struct tensor_set {
  std::string name;
  std::vector<std::size_t> tensors;
};

// Of kinds that no loss scale multiplies only those are counted that the selection asks for.
class survey {
 public:
  survey(selection counted, name_predicate checked)
      : counted_(counted), choice_(std::move(counted), std::move(checked)) {}

  // Steps of ascending keys; those that are not selected, and single microbatches, are left out.
  void add(const step& now, const std::vector<tensor_info>& all);

  [[nodiscard]] const std::vector<tensor_survey>& tensors() const noexcept { return tensors_; }
  [[nodiscard]] const std::vector<step_survey>& steps() const noexcept { return steps_; }
  [[nodiscard]] const tensor_choice& choice() const noexcept { return choice_; }
  // Whether a factor was not known, and values are as recorded.
  [[nodiscard]] bool as_recorded() const noexcept { return as_recorded_; }

  // Over the counted tensors.
  [[nodiscard]] outcome_counts outcomes(const format& to, const rounding& mode, double scale) const;
  [[nodiscard]] outcome_counts outcomes(const tensor_set& of, const format& to, const rounding& mode,
                                        double scale) const;
  [[nodiscard]] lost_mass lost(const format& to, const rounding& mode, double scale) const;
  [[nodiscard]] value_range magnitudes() const;
  [[nodiscard]] std::uint64_t censored() const;

 private:
  selection counted_;
  tensor_choice choice_;
  std::vector<tensor_survey> tensors_;
  std::vector<step_survey> steps_;
  recorded_run run_;
  bool as_recorded_ = false;
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
