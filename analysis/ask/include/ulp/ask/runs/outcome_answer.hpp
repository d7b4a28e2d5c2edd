// What `ulp outcomes` says of a run: how many values underflow, become subnormal or overflow.
#ifndef ULP_ASK_RUNS_OUTCOME_ANSWER_HPP
#define ULP_ASK_RUNS_OUTCOME_ANSWER_HPP

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <ulp/ask/progress/listener.hpp>
#include <ulp/ask/questions/rounding_text.hpp>
#include <ulp/ask/questions/run_text.hpp>
#include <ulp/model/cells/step.hpp>
#include <ulp/model/outcomes/expectation.hpp>
#include <ulp/model/outcomes/lost_mass.hpp>
#include <ulp/model/outcomes/noise.hpp>
#include <ulp/model/outcomes/outcome.hpp>
#include <ulp/model/replay/scenario.hpp>

namespace ulp {

// What rows are kept apart by; see outcome_question::by.
inline const std::vector<std::string> outcome_groups{"tensor", "kind", "step", "group"};

struct outcome_question {
  run_text run;
  std::vector<std::string> formats;
  std::vector<std::string> scales{"1"};
  std::vector<std::string> by{"tensor"};  // some of outcome_groups; what is not named is summed over
  bool as_recorded = false;               // the scale multiplies the values as recorded, whatever their factor
  rounding_text rounding;
};

struct outcome_case : typed_treatment {
  double scale = 1;
};

// What rows are kept apart by; an absent part is summed over.
struct outcome_key {
  std::optional<std::size_t> named;     // an index of counted_outcomes::named, of --group
  std::optional<std::uint32_t> tensor;  // an index of the answer's tensors
  std::optional<tensor_kind> kind;
  std::optional<std::int64_t> step;
  friend auto operator<=>(const outcome_key&, const outcome_key&) = default;
};

// The answer to one question; with stochastic rounding `expected` counts.
struct outcome_totals {
  outcome_counts counts;
  expected_outcomes expected;
  lost_mass lost;
  rounding_noise noise;
};

struct outcome_group {
  std::vector<outcome_totals> of;  // to each question
  value_range magnitudes;          // sums over all values, as the lost mass has them
  double squares = 0;
  std::uint64_t censored = 0;  // zeros that may have been lost before they were recorded
  std::set<std::int64_t> steps;
  tensor_kind kind = tensor_kind::unknown;
  bool mixed_kinds = false;
};

// How the scale met the values.
struct scale_units {
  bool recorded = false;  // some factor was not known, or --as-recorded
  bool true_gradient = false;
  bool unscaled = false;  // activations, weights, updates: whatever the scale, it is 1
};

struct counted_outcomes {
  std::vector<std::string> by;
  std::vector<outcome_case> questions;
  bool many_formats = false;
  bool many_scales = false;
  std::vector<tensor_group> named;
  std::map<outcome_key, outcome_group> groups;
  scale_units unit;

  [[nodiscard]] bool is_by(const char* what) const;
  // Each format may have its own.
  [[nodiscard]] bool one_rounding() const;
};

struct outcome_answer {
  counted_outcomes counted;
  std::vector<tensor_info> tensors;
};

// `look` is called before anything is read, with what is asked and no groups: what it throws ends the work. Throws input_error,
// std::invalid_argument.
[[nodiscard]] outcome_answer outcomes_over(const outcome_question& asked, listener& to,
                                           const std::function<void(const counted_outcomes&)>& look = {});

}  // namespace ulp

#endif
