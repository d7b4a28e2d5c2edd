// The rows of a replay, as `ulp replay` and the viewer write them: a step each, and a counted tensor of a step each.
#ifndef ULP_REPORT_TABLES_TRAJECTORY_TABLE_HPP
#define ULP_REPORT_TABLES_TRAJECTORY_TABLE_HPP

#include <span>
#include <vector>

#include <ulp/model/cells/step.hpp>
#include <ulp/model/replay/replay.hpp>
#include <ulp/report/tables/table.hpp>

namespace ulp {

// `sum` is of all steps, whichever `rows` are.
[[nodiscard]] table trajectory_table(std::span<const trajectory_row> rows, const scenario& s,
                                     const trajectory_summary& sum);

// Of one step.
[[nodiscard]] table per_tensor_table(const std::vector<tensor_outcome>& outcomes,
                                     const std::vector<tensor_info>& tensors);

}  // namespace ulp

#endif
