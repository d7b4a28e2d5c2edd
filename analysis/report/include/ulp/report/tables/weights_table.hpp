// The table of `ulp precision weights`.
#ifndef ULP_REPORT_TABLES_WEIGHTS_TABLE_HPP
#define ULP_REPORT_TABLES_WEIGHTS_TABLE_HPP

#include <optional>
#include <string>
#include <vector>

#include <ulp/ask/answers/weights_answer.hpp>
#include <ulp/model/replay/scenario.hpp>
#include <ulp/report/tables/table.hpp>

namespace ulp {

struct weights_layout {
  std::vector<std::string> by;  // some of weight_groups
  std::vector<tensor_group> named;
  std::optional<double> curvature;

  [[nodiscard]] bool is_by(const std::string& what) const;
};

// A row for each group and case; nothing is counted again.
[[nodiscard]] table weights_table(const counted_weights& all, const weights_layout& layout);

// For people: the rows of `t`, which weights_table made, and behind them the sum of all items, "(all)".
[[nodiscard]] table with_sum(table t, const counted_weights& all, weights_layout layout);

// Of all items: the share of updates of which it is decided whether they are lost; 1 without updates.
[[nodiscard]] double decided_share(const counted_weights& all);

}  // namespace ulp

#endif
