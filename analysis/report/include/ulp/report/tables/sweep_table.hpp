// The rows of a sweep, as `ulp sweep` and the viewer write them.
#ifndef ULP_REPORT_TABLES_SWEEP_TABLE_HPP
#define ULP_REPORT_TABLES_SWEEP_TABLE_HPP

#include <cstdint>
#include <functional>
#include <vector>

#include <ulp/ask/runs/sweep_answer.hpp>
#include <ulp/report/tables/table.hpp>

namespace ulp {

// In the order given; `steps` are those of the run.
[[nodiscard]] table sweep_table(const std::vector<swept_policy>& policies, std::uint64_t steps);

// Columns step, format, rounding, scale: for each format and rounding a row for each step, with the scale of the best
// trajectory in hindsight that starts and moves as it likes. It comes in parts of the same columns, at least one.
// Precondition: answer.all is not null.
void hindsight_table(const sweep_answer& answer, const std::function<void(const table&)>& part);

}  // namespace ulp

#endif
