// The rows of ulp replay: a step each, and a counted tensor of a step each.
#ifndef ULP_CLI_REPLAY_TABLE_HPP
#define ULP_CLI_REPLAY_TABLE_HPP

#include <span>
#include <ulp/io/source.hpp>
#include <ulp/model/replay.hpp>
#include <ulp/report/table.hpp>
#include <vector>

namespace ulp::cli {

// `sum` is of all steps, whichever `rows` are.
[[nodiscard]] table trajectory_table(std::span<const trajectory_row> rows, const scenario& s,
                                     const trajectory_summary& sum);

// Of one step.
[[nodiscard]] table per_tensor_table(const std::vector<tensor_outcome>& outcomes,
                                     const std::vector<tensor_info>& tensors);

}  // namespace ulp::cli

#endif
