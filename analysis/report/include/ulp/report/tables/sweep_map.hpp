// A sweep as a map: two of its parameters are the axes, and in each cell stands one number of a policy.
#ifndef ULP_REPORT_TABLES_SWEEP_MAP_HPP
#define ULP_REPORT_TABLES_SWEEP_MAP_HPP

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <ulp/ask/runs/sweep_answer.hpp>

namespace ulp {

enum class sweep_metric : std::uint8_t { regret, free_regret, skipped, underflow, lost_magnitude };

struct swept_axis {
  std::string name;                 // of the parameter; empty where there is none
  std::vector<std::string> values;  // as typed, ascending
};

struct sweep_map {
  swept_axis x;
  swept_axis y;
  // Of column i and row j at j * x.values.size() + i: which of the policies; where several meet the first of them.
  std::vector<std::optional<std::size_t>> cells;
};

// Of the first two parameters that take several values, the one with more values across. No cells where none does.
[[nodiscard]] sweep_map map_of(const std::vector<swept_policy>& policies);

// As bounds where the input leaves it open, NaN where it is not known: regrets and lost magnitude in steps, underflow as a
// share of the nonzero values.
[[nodiscard]] value_range metric_of(const sweep_result& result, sweep_metric metric);
// The estimate within them, which the ranks of a sweep go by; of underflow the upper end, as there.
[[nodiscard]] double estimate_of(const sweep_result& result, sweep_metric metric);
// The same in a few digits, as the table of the sweep has it: "~3 [0, 5]", "0.012 %"; empty where it is not known.
[[nodiscard]] std::string metric_text(const sweep_result& result, sweep_metric metric);

}  // namespace ulp

#endif
