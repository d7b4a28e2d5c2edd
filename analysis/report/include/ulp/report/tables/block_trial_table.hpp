// Formats of blocks beside one another, over the tensors and steps of a run.
#ifndef ULP_REPORT_TABLES_BLOCK_TRIAL_TABLE_HPP
#define ULP_REPORT_TABLES_BLOCK_TRIAL_TABLE_HPP

#include <ulp/ask/runs/block_trial.hpp>
#include <ulp/report/tables/table.hpp>

namespace ulp {

// A row for each format, the best first: see block_trial::is_better.
[[nodiscard]] table block_trial_table(const block_trial& tried);

}  // namespace ulp

#endif
