// What ulp outcomes counts, and the table of it.
#ifndef ULP_REPORT_TABLES_OUTCOME_TABLE_HPP
#define ULP_REPORT_TABLES_OUTCOME_TABLE_HPP

#include <vector>

#include <ulp/ask/runs/outcome_answer.hpp>
#include <ulp/report/tables/table.hpp>

namespace ulp {

// A row for each group and question.
[[nodiscard]] table outcome_table(const counted_outcomes& all, const std::vector<tensor_info>& tensors);

}  // namespace ulp

#endif
