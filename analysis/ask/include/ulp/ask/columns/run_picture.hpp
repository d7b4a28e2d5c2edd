// A run as it is drawn: the tables of each tensor merged over columns of steps, and of each step what was logged
// and its extremes. Memory grows by 88 bytes a step; the tables do not grow with the run.
#ifndef ULP_ASK_COLUMNS_RUN_PICTURE_HPP
#define ULP_ASK_COLUMNS_RUN_PICTURE_HPP

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <ulp/ask/columns/run_columns.hpp>
#include <ulp/model/cells/step.hpp>
#include <ulp/model/outcomes/outcome.hpp>
#include <ulp/model/replay/scenario.hpp>
#include <ulp/model/replay/survey.hpp>

namespace ulp {

// Which tensors a picture shows, by their indices; those beyond its end are not shown.
using tensor_mask = std::vector<bool>;

// The values of some steps by tensor, factor (1 where it is not known) and type; sums as far as all of them have some.
struct tensor_tables {
  struct entry {
    std::uint32_t tensor = 0;
    double factor = 1;
    dtype type = dtype::unknown;
    cell_table table;
    bool is_scaled = true;  // else every scale is 1
  };
  std::vector<entry> entries;  // ascending

  void merge(const tensor_tables& other);
  void add(const tensor_row& row, bool is_scaled = true);
  // Of a step or a block of a run that has these tensors.
  void add(const std::vector<tensor_row>& rows, const std::vector<tensor_info>& tensors);

  [[nodiscard]] binade_counts binades(const tensor_mask& shown) const;
  [[nodiscard]] outcome_counts outcomes(const tensor_mask& shown, const treatment& how, double scale) const;
};

// What is kept of a step.
struct pictured_step {
  step_key key;
  step_scalars scalars;
  // As in step_survey.
  double max_abs = not_known;
  double largest_whole = 0;
  double least_part = 0;
  bool has_sums : 1 = false;
  bool known : 1 = false;
  bool several_formats : 1 = false;
  bool loss_is_lost : 1 = false;
  std::uint8_t rounded_to = 0;  // 1 + the index into the picture's formats; 0 where unknown
};

class run_picture {
 public:
  explicit run_picture(selection counted = {}) : surveyor_(std::move(counted), {}) {}

  // Room for so many steps.
  void expect(std::size_t steps) { steps_.reserve(steps); }
  // Steps of ascending keys; single microbatches are left out.
  void add(const step& now, const std::vector<tensor_info>& all);
  // The two halves of it, for runs that are kept merged: scalars and extremes of a step, whose tensors may be totals; and the
  // tables of a block of steps.
  void add_step(const step& now, const std::vector<tensor_info>& all);
  void add_block(std::int64_t first, std::int64_t last, const std::vector<tensor_row>& tables,
                 const std::vector<tensor_info>& all);

  [[nodiscard]] const columns_of<tensor_tables>& columns() const noexcept { return columns_; }
  // One for each step, in order.
  [[nodiscard]] const std::vector<pictured_step>& steps() const noexcept { return steps_; }
  // As much of a survey of it as tells from which scales on it overflows; of the rest nothing is known.
  [[nodiscard]] step_survey survey_of(const pictured_step& s) const;
  // Whether a tensor is among those that were selected when it was made.
  [[nodiscard]] bool counts(const tensor_info& t) const { return surveyor_.counted().takes(t); }
  // Whether the factor of a counted tensor was not known, and its values are as recorded.
  [[nodiscard]] bool as_recorded() const noexcept { return surveyor_.as_recorded(); }
  // The column that holds the step, or the next one before it.
  [[nodiscard]] std::size_t column_of(std::int64_t step) const noexcept;

 private:
  step_surveyor surveyor_;
  columns_of<tensor_tables> columns_;
  std::vector<pictured_step> steps_;
  std::vector<format> formats_;  // that values had been rounded to
};

// One step of a replay, as much of it as is drawn.
struct replay_step {
  std::int64_t step = 0;
  double scale_used = 0;
  double scale_next = 0;
  value_range may_have_used;  // scales, as bounds_of_step has them
  double critical_scale = not_known;
  double norm = not_known;
  double clip_measure = not_known;
  double clip_coefficient = not_known;
  count_range underflow;
  count_range overflow;
  std::uint64_t nonzero = 0;  // of the counted tensors
  bool critical_certain = true;
  bool has_counts = false;
  bool found_inf = false;
  bool certain = true;
  bool skipped = false;
  bool clipped = false;
};
[[nodiscard]] replay_step drawn_of(const trajectory_row& row);

}  // namespace ulp

#endif
