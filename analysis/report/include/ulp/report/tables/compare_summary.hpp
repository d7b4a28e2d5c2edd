// What `ulp compare` found, in sentences and values.
#ifndef ULP_REPORT_TABLES_COMPARE_SUMMARY_HPP
#define ULP_REPORT_TABLES_COMPARE_SUMMARY_HPP

#include <vector>

#include <ulp/ask/runs/compare_answer.hpp>
#include <ulp/report/tables/replay_summary.hpp>
#include <ulp/report/tables/table.hpp>

namespace ulp {

// Where the runs part, what that may come from, up to where that was judged, and what was not compared.
[[nodiscard]] std::vector<summary_line> lines_of(const compare_answer& answer);

// A row for each tensor that both have, in the order of A's network.
[[nodiscard]] table compare_table(const compare_answer& answer);

}  // namespace ulp

#endif
