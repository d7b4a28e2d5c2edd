// The table of `ulp precision weights`.
#ifndef ULP_REPORT_TABLES_WEIGHTS_TABLE_HPP
#define ULP_REPORT_TABLES_WEIGHTS_TABLE_HPP

#include <ulp/ask/precision/weights_answer.hpp>
#include <ulp/report/tables/table.hpp>

namespace ulp {

// A row for each group and case; nothing is counted again.
[[nodiscard]] table weights_table(const counted_weights& all, const weights_layout& layout);

// For people: the rows of `t`, which weights_table made, and behind them the sum of all items, "(all)".
[[nodiscard]] table with_sum(table t, const counted_weights& all, weights_layout layout);

}  // namespace ulp

#endif
