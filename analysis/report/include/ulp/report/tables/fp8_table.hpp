// What a replay with a scale for each tensor yields, as tables.
#ifndef ULP_REPORT_TABLES_FP8_TABLE_HPP
#define ULP_REPORT_TABLES_FP8_TABLE_HPP

#include <cstdint>
#include <span>
#include <vector>

#include <ulp/ask/runs/fp8_answer.hpp>
#include <ulp/report/tables/replay_summary.hpp>
#include <ulp/report/tables/table.hpp>

namespace ulp {

// How numbers of policies are written for machines.
enum class real_text : std::uint8_t { decimal, hexadecimal };

// What the input has beside amaxes.
enum class fp8_columns : std::uint8_t { amaxes, live_scales, counts };
[[nodiscard]] fp8_columns fp8_columns_of(const fp8_row& row);

// Rows for machines.
[[nodiscard]] table fp8_rows_table(std::span<const fp8_row> rows, const std::vector<tensor_info>& tensors,
                                   real_text reals, fp8_columns with);

// A row for each tensor, the worst first.
[[nodiscard]] table fp8_tensors_table(const fp8_answer& answer);

// A row for each recipe or policy of a sweep, in its order.
[[nodiscard]] table fp8_sweep_table(const fp8_sweep_answer& answer);

// The run as a whole.
[[nodiscard]] std::vector<summary_line> lines_of(const fp8_answer& answer, const fp8_question& asked);

}  // namespace ulp

#endif
