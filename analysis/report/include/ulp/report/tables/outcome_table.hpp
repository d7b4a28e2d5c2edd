// What ulp outcomes counts, and the table of it.
#ifndef ULP_REPORT_TABLES_OUTCOME_TABLE_HPP
#define ULP_REPORT_TABLES_OUTCOME_TABLE_HPP

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <ulp/io/source/source.hpp>
#include <ulp/model/outcomes/row_outcomes.hpp>
#include <ulp/model/replay/scenario.hpp>
#include <ulp/report/tables/table.hpp>

namespace ulp {

struct outcome_case {
  std::string format_name;
  ulp::format format;
  ulp::rounding rounding;
  std::string rounding_name;
  double scale;

  [[nodiscard]] bool is_drawn() const { return rounding.direction == direction::stochastic; }
};

// What rows are kept apart by; an absent part is summed over.
struct outcome_key {
  std::optional<std::size_t> named;  // of --group
  std::optional<std::uint32_t> tensor;
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

// A row for each group and question.
[[nodiscard]] table outcome_table(const counted_outcomes& all, const std::vector<tensor_info>& tensors);

}  // namespace ulp

#endif
