// A run that is being recorded, in lines and as a table: `ulp watch`.
#ifndef ULP_REPORT_TABLES_WATCH_TABLE_HPP
#define ULP_REPORT_TABLES_WATCH_TABLE_HPP

#include <vector>

#include <ulp/ask/runs/watched_run.hpp>
#include <ulp/report/tables/replay_summary.hpp>
#include <ulp/report/tables/table.hpp>

namespace ulp {

// For people and machines. `rate`: steps a second; NaN where not known.
[[nodiscard]] std::vector<summary_line> lines_of(const watched_run& run, const std::vector<standing>& tensors,
                                                 double rate);

[[nodiscard]] table standings_table(const std::vector<standing>& worst);

}  // namespace ulp

#endif
