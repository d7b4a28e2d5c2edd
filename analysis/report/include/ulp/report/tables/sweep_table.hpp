// The rows of a sweep, as `ulp sweep` and the viewer write them.
#ifndef ULP_REPORT_TABLES_SWEEP_TABLE_HPP
#define ULP_REPORT_TABLES_SWEEP_TABLE_HPP

#include <cstdint>
#include <vector>

#include <ulp/ask/sweep/policy_grid.hpp>
#include <ulp/report/tables/table.hpp>

namespace ulp {

// In the order given; `steps` are those of the run.
[[nodiscard]] table sweep_table(const std::vector<swept_policy>& policies, std::uint64_t steps);

}  // namespace ulp

#endif
