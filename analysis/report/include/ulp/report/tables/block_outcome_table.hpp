// What ulp outcomes counts in formats whose blocks share a scale, as a table.
#ifndef ULP_REPORT_TABLES_BLOCK_OUTCOME_TABLE_HPP
#define ULP_REPORT_TABLES_BLOCK_OUTCOME_TABLE_HPP

#include <ulp/ask/runs/block_outcome_answer.hpp>
#include <ulp/report/tables/table.hpp>

namespace ulp {

// A row for each group and format.
[[nodiscard]] table block_outcome_table(const block_outcome_answer& all);

}  // namespace ulp

#endif
